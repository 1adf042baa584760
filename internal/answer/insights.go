package answer

import (
	"github.com/heaptap/heaptap/internal/insight"
	"github.com/heaptap/heaptap/internal/query"
)

// Insights is what stands out in a recording.
type Insights struct {
	FormatVersion int       `json:"format_version"`
	Recording     Recording `json:"recording"`
	Insights      []Insight `json:"insights"` // what saves most first
	Frames        []Frame   `json:"frames"`
}

// Insight is something that stands out.
type Insight struct {
	Rule       string          `json:"rule"`
	Name       string          `json:"name"` // of the place: what the sentence begins with
	Function   string          `json:"function"`
	File       string          `json:"file"`
	Line       uint32          `json:"line"`
	Module     string          `json:"module"`
	Saves      float64         `json:"saves"`
	Unit       string          `json:"unit"` // bytes, or ns of a processor's time
	Share      float64         `json:"share"`
	Text       string          `json:"text"` // the whole sentence
	Basis      string          `json:"basis"`
	Measured   bool            `json:"measured"`
	Confidence float64         `json:"confidence"`
	Says       []InsightPart   `json:"says"`
	How        []InsightPart   `json:"how"`
	Show       InsightQuestion `json:"show"`
	Command    []string        `json:"command"` // of heaptap, without the recording
	CallStacks int             `json:"call_stacks"`
	Stack      FrameNumbers    `json:"stack"`
}

// InsightPart is a part of a sentence: text, or a value with its unit.
type InsightPart struct {
	Part  string  `json:"part,omitempty"`
	Value float64 `json:"value,omitempty"`
	Unit  string  `json:"unit,omitempty"` // "": it is text
}

// InsightQuestion is what shows the evidence.
type InsightQuestion struct {
	Page   string `json:"page"`
	Metric string `json:"metric"`
	From   string `json:"from"` // "": the whole run
	To     string `json:"to"`
	Focus  string `json:"focus"` // "": everything
}

// NewInsights makes the answer.
func NewInsights(s *query.Source, found []insight.Finding) *Insights {
	t := newFrameTable(s.Profile, insightStacks(found))
	return &Insights{Version, NewRecording(s.Profile), newInsights(found, t), t.rows()}
}

func insightStacks(found []insight.Finding) []uint32 {
	var list []uint32
	for i := range found {
		list = append(list, found[i].Stack)
	}
	return list
}

func newInsights(found []insight.Finding, t *frameTable) []Insight {
	list := []Insight{}
	for i := range found {
		f := &found[i]
		from, to := f.Show.Times()
		list = append(list, Insight{Rule: string(f.Rule), Name: f.Place.Name, Function: f.Place.Function,
			File: f.Place.File, Line: f.Place.Line, Module: f.Place.Module, Saves: f.Saves, Unit: f.Unit.String(),
			Share: f.Share, Text: f.Place.Name + insight.Sentence(f.Says, false),
			Basis: insight.Sentence(f.Basis, false), Measured: f.Measured, Confidence: f.Confidence,
			Says: newInsightParts(f.Says), How: newInsightParts(f.Basis),
			Command:    f.Show.Command(),
			Show:       InsightQuestion{f.Show.Page, f.Show.Metric, from, to, f.Show.Focus},
			CallStacks: f.Stacks, Stack: t.of(f.Stack)})
	}
	return list
}

func newInsightParts(parts []insight.Part) []InsightPart {
	list := []InsightPart{}
	for _, p := range parts {
		list = append(list, InsightPart{p.Text, p.Value, string(p.Unit)})
	}
	return list
}
