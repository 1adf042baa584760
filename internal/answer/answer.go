package answer

import (
	"encoding/json"

	"github.com/heaptap/heaptap/internal/columns"
	"github.com/heaptap/heaptap/internal/query"
)

// Version is the version of the JSON. It grows when a field changes its meaning or is removed, not when fields are
// added.
const Version = 2

// Head begins the answer to every query; docs/queries.md describes it.
type Head struct {
	FormatVersion int       `json:"format_version"`
	Recording     Recording `json:"recording"`
	Plan          string    `json:"plan"`
	Rough         bool      `json:"rough,omitempty"`    // the range is near the one that was asked for
	Estimate      *Estimate `json:"estimate,omitempty"` // values are estimates from a part of the events
	Missing       string    `json:"missing,omitempty"`
	Range         Range     `json:"range"`
	Metrics       []Metric  `json:"metrics"`
	Total         Values    `json:"total"`
	Runtime       *Count    `json:"runtime,omitempty"`
	Sampling      *Sampling `json:"sampling,omitempty"`
	Frames        []Frame   `json:"frames,omitempty"` // of all call stacks of the answer
}

// Estimate is from what values were estimated: from some of the blocks in which the recording keeps its events. The
// true value lies within NAME_margin of NAME in Confidence of all samples.
type Estimate struct {
	Share      float64 `json:"share"` // of the range's events that were read
	Blocks     int     `json:"blocks"`
	OfBlocks   int     `json:"of_blocks"`
	Confidence float64 `json:"confidence"`
}

func newEstimate(e *query.Estimate) *Estimate {
	if e == nil {
		return nil
	}
	return &Estimate{e.Share(), e.Blocks, e.Of, query.Confidence}
}

// Range is the range of the events that were counted.
type Range struct {
	FromEvent uint64 `json:"from_event"`
	ToEvent   uint64 `json:"to_event"`
	BeginNS   int64  `json:"begin_ns"`
	SpanNS    int64  `json:"span_ns"`
	AtEvent   uint64 `json:"at_event"`
}

// Metric is a metric of an answer.
type Metric struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	Sums bool   `json:"sums"`
}

// Values are metrics by name, made on demand. A metric that is an estimate comes with NAME_standard_error; one that is
// not known is null. One that is an estimate from a part of the events comes with NAME_margin. The zero Values has no
// metrics.
type Values struct {
	of   *query.Answer
	v    *query.Values // nil: they are a row of sums
	sums *query.Sums
	row  int
}

// all returns all values.
func (v Values) all() *query.Values {
	if v.v != nil {
		return v.v
	}
	x := v.sums.Values(v.row)
	return &x
}

const (
	errorSuffix  = "_standard_error"
	marginSuffix = "_margin"
)

// Names are the metrics, each followed by its standard error or its margin if the answer has estimates.
func (v Values) Names() (names []string) {
	if v.of == nil {
		return nil
	}
	for _, m := range v.of.Metrics {
		names = append(names, m.String())
		if v.of.Sampled {
			names = append(names, m.String()+errorSuffix)
		}
		if v.of.Estimate != nil {
			names = append(names, m.String()+marginSuffix)
		}
	}
	return names
}

// Cells appends the values, in the order of the names.
func (v Values) Cells(list []columns.Cell) []columns.Cell {
	if v.of == nil {
		return list
	}
	for _, m := range v.of.Metrics {
		if v.sums != nil && !v.of.Sampled && v.of.Estimate == nil {
			if column, ok := v.sums.Column(m); ok {
				list = append(list, columns.Uint(column[v.row]))
				continue
			}
		}
		all := v.all()
		switch n, whole := m.Integer(all); {
		case v.of.Sampled && !m.OfSamples():
			list = append(list, columns.Cell{})
		case whole:
			list = append(list, columns.Uint(n))
		default:
			list = append(list, columns.Real(m.Of(all, v.of.Span)))
		}
		if v.of.Sampled {
			list = append(list, orNull(m.StandardError(all, v.of.Span)))
		}
		if v.of.Estimate != nil {
			list = append(list, orNull(m.Margin(all, v.of.Span)))
		}
	}
	return list
}

// orNull is a number, or null.
func orNull(x float64, ok bool) columns.Cell {
	if !ok {
		return columns.Cell{}
	}
	return columns.Real(x)
}

// MarshalJSON returns an object.
func (v Values) MarshalJSON() ([]byte, error) {
	if v.of == nil {
		return []byte("{}"), nil
	}
	fields, all := make(map[string]any, len(v.of.Metrics)), v.all()
	for _, m := range v.of.Metrics {
		if e, ok := m.StandardError(all, v.of.Span); ok {
			fields[m.String()+errorSuffix] = e
		}
		if e, ok := m.Margin(all, v.of.Span); ok {
			fields[m.String()+marginSuffix] = e
		} else if v.of.Estimate != nil {
			fields[m.String()+marginSuffix] = nil
		}
		if v.of.Sampled && !m.OfSamples() {
			fields[m.String()] = nil
		} else if n, ok := m.Integer(all); ok {
			fields[m.String()] = n
		} else {
			fields[m.String()] = m.Of(all, v.of.Span)
		}
	}
	return json.Marshal(fields)
}

func newHead(s *query.Source, a *query.Answer) Head {
	j := Head{FormatVersion: Version, Plan: a.Plan.String(), Rough: a.Rough, Estimate: newEstimate(a.Estimate),
		Missing:   a.Missing,
		Range:     newRange(a),
		Recording: NewRecording(s.Profile), Metrics: []Metric{}, Total: newValues(a, &a.Total),
		Sampling: newSampling(s.Profile)}
	for _, m := range a.Metrics {
		j.Metrics = append(j.Metrics, Metric{m.String(), m.Unit().String(), m.Sums()})
	}
	if a.AboutLeaks() {
		j.Runtime = &Count{a.Runtime.Blocks, a.Runtime.Bytes}
	}
	return j
}

func newValues(a *query.Answer, v *query.Values) Values { return Values{of: a, v: v} }

func newRange(a *query.Answer) Range { return Range{a.From, a.To, a.Begin, a.Span, a.At} }

// Page is a part of a list: at most Limit rows after the first Skip ones. Limit 0: all.
type Page struct{ Skip, Limit int }

// Cut returns a page of a list, and how many rows follow it.
func Cut[T any](p Page, list []T) (rows []T, more int) {
	list = list[min(max(p.Skip, 0), len(list)):]
	if p.Limit <= 0 || len(list) <= p.Limit {
		return list, 0
	}
	return list[:p.Limit], len(list) - p.Limit
}
