package answer

import (
	"github.com/heaptap/heaptap/internal/check"
	"github.com/heaptap/heaptap/internal/query"
)

// CheckResult is one condition, and whether it holds.
type CheckResult struct {
	Name     string       `json:"name"`
	OK       bool         `json:"ok"`
	Text     string       `json:"text"`
	Metric   string       `json:"metric,omitempty"`
	Unit     string       `json:"unit,omitempty"`
	Value    uint64       `json:"value"`
	Limit    uint64       `json:"limit"`
	Error    float64      `json:"standard_error,omitempty"` // of an estimated value
	Baseline *uint64      `json:"baseline,omitempty"`
	Missing  []string     `json:"missing,omitempty"`
	Stacks   []CheckStack `json:"stacks"`
	More     int          `json:"more"`
}

// CheckStack is the part of a value that a call stack has.
type CheckStack struct {
	Value      uint64  `json:"value"`
	Baseline   *uint64 `json:"baseline,omitempty"`
	Slope      float64 `json:"bytes_per_second,omitempty"`
	Confidence float64 `json:"confidence,omitempty"`
	Stack      []Frame `json:"stack"`
}

// Check is the result of checking a recording; docs/queries.md describes it.
type Check struct {
	FormatVersion int           `json:"format_version"`
	File          string        `json:"file"`
	Recording     *Recording    `json:"recording,omitempty"`
	OK            bool          `json:"ok"`
	Error         string        `json:"error,omitempty"`
	Checks        []CheckResult `json:"checks"`
	Suppressed    []Suppressed  `json:"suppressed"`
}

// NewCheck makes the answer of a result whose recording is open. It has at most limit call stacks for each check.
func NewCheck(r *check.Result, limit int) *Check {
	j := &Check{FormatVersion: Version, File: r.File, OK: r.OK(), Checks: []CheckResult{},
		Suppressed: newSuppressed(r.Suppressed)}
	if r.Err != nil {
		j.Error = r.Err.Error()
		return j
	}
	recording := newRecording(r.Source.Profile)
	j.Recording = &recording
	for i := range r.Checks {
		j.Checks = append(j.Checks, newCheckResult(r.Source, &r.Checks[i], limit))
	}
	return j
}

func newCheckResult(s *query.Source, c *check.Check, limit int) CheckResult {
	list, more := c.First(limit)
	j := CheckResult{Name: c.Name(), OK: !c.Failed, Text: c.Text(true), Value: c.Value, Limit: c.Limit,
		Missing: c.Missing, Error: c.Error, Stacks: []CheckStack{}, More: more}
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
		x := CheckStack{Value: st.Value, Stack: []Frame{}}
		if based {
			x.Baseline = &st.Base
		}
		if st.Suspect != nil {
			x.Slope, x.Confidence = st.Suspect.Slope, st.Suspect.Confidence
		}
		for _, f := range s.Frames(st.ID) {
			x.Stack = append(x.Stack, newFrame(&f))
		}
		j.Stacks = append(j.Stacks, x)
	}
	return j
}
