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
	Missing       string    `json:"missing,omitempty"`
	Range         Range     `json:"range"`
	Metrics       []Metric  `json:"metrics"`
	Total         Values    `json:"total"`
	Runtime       *Count    `json:"runtime,omitempty"`
	Sampling      *Sampling `json:"sampling,omitempty"`
	Frames        []Frame   `json:"frames,omitempty"` // of all call stacks of the answer
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
// not known is null. The zero Values has no metrics.
type Values struct {
	of *query.Answer
	v  *query.Values
}

const errorSuffix = "_standard_error"

// Names are the metrics, each followed by its standard error if the answer has estimates.
func (v Values) Names() (names []string) {
	if v.of == nil {
		return nil
	}
	for _, m := range v.of.Metrics {
		names = append(names, m.String())
		if v.of.Sampled {
			names = append(names, m.String()+errorSuffix)
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
		switch n, whole := m.Integer(v.v); {
		case v.of.Sampled && !m.OfSamples():
			list = append(list, columns.Cell{})
		case whole:
			list = append(list, columns.Uint(n))
		default:
			list = append(list, columns.Real(m.Of(v.v, v.of.Span)))
		}
		if !v.of.Sampled {
			continue
		}
		if e, ok := m.StandardError(v.v, v.of.Span); ok {
			list = append(list, columns.Real(e))
		} else {
			list = append(list, columns.Cell{})
		}
	}
	return list
}

// MarshalJSON returns an object.
func (v Values) MarshalJSON() ([]byte, error) {
	if v.of == nil {
		return []byte("{}"), nil
	}
	fields := make(map[string]any, len(v.of.Metrics))
	for _, m := range v.of.Metrics {
		if e, ok := m.StandardError(v.v, v.of.Span); ok {
			fields[m.String()+errorSuffix] = e
		}
		if v.of.Sampled && !m.OfSamples() {
			fields[m.String()] = nil
		} else if n, ok := m.Integer(v.v); ok {
			fields[m.String()] = n
		} else {
			fields[m.String()] = m.Of(v.v, v.of.Span)
		}
	}
	return json.Marshal(fields)
}

func newHead(s *query.Source, a *query.Answer) Head {
	j := Head{FormatVersion: Version, Plan: a.Plan.String(), Missing: a.Missing,
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

func newValues(a *query.Answer, v *query.Values) Values { return Values{a, v} }

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
