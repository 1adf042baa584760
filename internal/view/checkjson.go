package view

import (
	"io"

	"github.com/heaptap/heaptap/internal/check"
	"github.com/heaptap/heaptap/internal/query"
)

type jsonCheck struct {
	Name     string           `json:"name"`
	OK       bool             `json:"ok"`
	Text     string           `json:"text"`
	Metric   string           `json:"metric,omitempty"`
	Unit     string           `json:"unit,omitempty"`
	Value    uint64           `json:"value"`
	Limit    uint64           `json:"limit"`
	Error    float64          `json:"standard_error,omitempty"` // of a value that is estimated
	Baseline *uint64          `json:"baseline,omitempty"`
	Missing  []string         `json:"missing,omitempty"`
	Stacks   []jsonCheckStack `json:"stacks"`
	More     int              `json:"more"`
}

type jsonCheckStack struct {
	Value      uint64      `json:"value"`
	Baseline   *uint64     `json:"baseline,omitempty"`
	Slope      float64     `json:"bytes_per_second,omitempty"`
	Confidence float64     `json:"confidence,omitempty"`
	Stack      []jsonFrame `json:"stack"`
}

// ChecksJSON writes what came of a recording as one JSON object on one line; docs/queries.md describes it.
func ChecksJSON(w io.Writer, r *check.Result, o QueryOptions) error {
	j := struct {
		FormatVersion int            `json:"format_version"`
		File          string         `json:"file"`
		Recording     *jsonRecording `json:"recording,omitempty"`
		OK            bool           `json:"ok"`
		Error         string         `json:"error,omitempty"`
		Checks        []jsonCheck    `json:"checks"`
		Suppressed    []jsonRule     `json:"suppressed"`
	}{FormatVersion: JSONVersion, File: r.File, OK: r.OK(), Checks: []jsonCheck{}, Suppressed: []jsonRule{}}
	if r.Err != nil {
		j.Error = r.Err.Error()
		return writeJSON(w, &j)
	}
	j.Recording = &jsonHead(r.Source.Profile).Recording
	for i := range r.Checks {
		j.Checks = append(j.Checks, jsonCheckOf(r.Source, &r.Checks[i], &o))
	}
	for _, rule := range r.Suppressed {
		j.Suppressed = append(j.Suppressed, jsonRule{rule.Pattern, jsonCounts{rule.Blocks, rule.Bytes}})
	}
	return writeJSON(w, &j)
}

func jsonCheckOf(s *query.Source, c *check.Check, o *QueryOptions) jsonCheck {
	list, left := c.First(o.Limit)
	j := jsonCheck{Name: c.Name(), OK: !c.Failed, Text: c.Text(true), Value: c.Value, Limit: c.Limit, Missing: c.Missing,
		Error: c.Error, Stacks: []jsonCheckStack{}, More: left}
	based := c.Kind == check.Base || c.Kind == check.StackBase
	if based {
		j.Baseline = &c.Base
	}
	if c.Kind == check.Growth || c.Kind == check.Mismatches {
		j.Unit = query.Count.String()
	} else if c.Kind != check.Complete {
		j.Metric, j.Unit = c.Metric.String(), c.Metric.Unit().String()
	}
	for i := range list {
		st := &list[i]
		x := jsonCheckStack{Value: st.Value, Stack: []jsonFrame{}}
		if based {
			x.Baseline = &st.Base
		}
		if st.Suspect != nil {
			x.Slope, x.Confidence = st.Suspect.Slope, st.Suspect.Confidence
		}
		for _, f := range s.Frames(st.ID) {
			x.Stack = append(x.Stack, jsonFrameOf(&f))
		}
		j.Stacks = append(j.Stacks, x)
	}
	return j
}
