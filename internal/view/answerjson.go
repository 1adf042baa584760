package view

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/heaptap/heaptap/internal/query"
)

// jsonAnswer is what the JSON of every query begins with; docs/queries.md describes it.
type jsonAnswer struct {
	FormatVersion int           `json:"format_version"`
	Recording     jsonRecording `json:"recording"`
	Plan          string        `json:"plan"`
	Missing       string        `json:"missing,omitempty"`
	Range         jsonRange     `json:"range"`
	Metrics       []jsonMetric  `json:"metrics"`
	Total         jsonValues    `json:"total"`
	Sampling      *jsonSampling `json:"sampling,omitempty"`
}

type jsonRange struct {
	FromEvent uint64 `json:"from_event"`
	ToEvent   uint64 `json:"to_event"`
	BeginNS   int64  `json:"begin_ns"`
	SpanNS    int64  `json:"span_ns"`
	AtEvent   uint64 `json:"at_event"`
}

type jsonMetric struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	Sums bool   `json:"sums"`
}

// jsonValues are metrics by name.
type jsonValues map[string]any

func newJSONAnswer(s *query.Source, a *query.Answer) jsonAnswer {
	j := jsonAnswer{FormatVersion: JSONVersion, Plan: a.Plan.String(), Missing: a.Missing,
		Range:     jsonRange{a.From, a.To, a.Begin, a.Span, a.At},
		Recording: jsonHead(s.Profile).Recording, Metrics: []jsonMetric{}, Total: valuesJSON(a, &a.Total),
		Sampling: jsonSamplingOf(s.Profile)}
	for _, m := range a.Metrics {
		j.Metrics = append(j.Metrics, jsonMetric{m.String(), m.Unit().String(), m.Sums()})
	}
	return j
}

func valuesJSON(a *query.Answer, v *query.Values) jsonValues {
	out := make(jsonValues)
	for _, m := range a.Metrics {
		if e, ok := m.StandardError(v, a.Span); ok {
			out[m.String()+"_standard_error"] = e
		}
		if a.Sampled && !m.OfSamples() {
			out[m.String()] = nil
		} else if n, ok := m.Integer(v); ok {
			out[m.String()] = n
		} else {
			out[m.String()] = m.Of(v, a.Span)
		}
	}
	return out
}

// jsonGroup names a group; which fields there are depends on the grouping.
type jsonGroup struct {
	By       string      `json:"by"`
	Unknown  bool        `json:"unknown,omitempty"`
	Function string      `json:"function,omitempty"`
	File     string      `json:"file,omitempty"`
	Line     uint32      `json:"line,omitempty"`
	Module   string      `json:"module,omitempty"`
	Offset   string      `json:"offset,omitempty"`
	Inlined  bool        `json:"inlined,omitempty"`
	Stack    []jsonFrame `json:"stack,omitempty"`
	Thread   *jsonID     `json:"thread,omitempty"`
	Size     *jsonSpan   `json:"size,omitempty"`
	Call     string      `json:"call,omitempty"`
	Region   string      `json:"region,omitempty"`
}

type jsonID struct {
	Index uint32 `json:"index"`
	TID   uint32 `json:"tid"`
	Name  string `json:"name"`
}

type jsonSpan struct {
	Min uint64 `json:"min"`
	Max uint64 `json:"max"`
}

func groupJSON(s *query.Source, g *query.Group) jsonGroup {
	j := jsonGroup{By: g.By.String(), Unknown: g.Unknown, Function: g.Function, File: g.File, Line: g.Line, Module: g.Module,
		Inlined: g.Inlined}
	switch g.By {
	case query.ByStack:
		for _, f := range s.Frames(g.Stack) {
			j.Stack = append(j.Stack, jsonFrameOf(&f))
		}
	case query.ByThread:
		id := threadJSON(s, g.Thread)
		j.Thread = &id
	case query.BySizeClass:
		lo, hi := query.SizeClass(g.Class)
		j.Size = &jsonSpan{lo, hi}
	case query.ByRegion, query.ByRegionName:
		j.Region = g.Region
	case query.ByAllocation:
		j.Call = g.Func.String()
	case query.ByAddress:
		j.Offset = hex(g.Offset)
	case query.ByFunction, query.ByLine:
		if g.Function == "" && !g.Unknown {
			j.Offset = hex(g.Offset)
		}
	}
	return j
}

func threadJSON(s *query.Source, i uint32) jsonID {
	id := jsonID{Index: i}
	if list := s.Reader.Threads(); int(i) < len(list) {
		id.TID, id.Name = list[i].TID, list[i].Name
	}
	return id
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// writeRows writes v, a JSON object whose list of rows is empty, with n rows in it. They are made and written one at a time: a row may
// have a call stack with all of its frames.
func writeRows(w io.Writer, v any, n int, row func(i int) any) error {
	const rows = `"rows":[`
	var text bytes.Buffer
	if err := writeJSON(&text, v); err != nil {
		return err
	}
	before, after, _ := strings.Cut(text.String(), rows) // within a text, quotes are escaped
	out := bufio.NewWriterSize(w, 1<<16)
	out.WriteString(before + rows)
	for i := range n {
		text.Reset()
		if err := writeJSON(&text, row(i)); err != nil {
			return err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		if _, err := out.Write(bytes.TrimSuffix(text.Bytes(), []byte("\n"))); err != nil {
			return err
		}
	}
	out.WriteString(after)
	return out.Flush()
}
