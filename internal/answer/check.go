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
	Runs     []uint64     `json:"runs,omitempty"` // values, if there are several runs
	BaseRuns []uint64     `json:"baseline_runs,omitempty"`
	Chance   *float64     `json:"chance,omitempty"` // that noise alone makes such values
	Missing  []string     `json:"missing,omitempty"`
	Stacks   []CheckStack `json:"stacks"`
	More     int          `json:"more"`
}

// CheckStack is the part of a value that a call stack has.
type CheckStack struct {
	Value      uint64       `json:"value"`
	Baseline   *uint64      `json:"baseline,omitempty"`
	Slope      float64      `json:"bytes_per_second,omitempty"`
	Confidence float64      `json:"confidence,omitempty"`
	Stack      FrameNumbers `json:"stack"`
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
	Frames        []Frame       `json:"frames,omitempty"`
}

// NewCheck makes the answer of a result whose recording is open. It has at most limit call stacks for each check.
func NewCheck(r *check.Result, limit int) *Check {
	j := &Check{FormatVersion: Version, File: r.File, OK: r.OK(), Checks: []CheckResult{},
		Suppressed: newSuppressed(r.Suppressed)}
	if r.Err != nil {
		j.Error = r.Err.Error()
		return j
	}
	recording := NewRecording(r.Source.Profile)
	j.Recording = &recording
	stacks := make(map[*query.Source][]uint32) // of the checks' own runs
	for i := range r.Checks {
		c := &r.Checks[i]
		list, _ := c.First(limit)
		for k := range list {
			stacks[c.Source] = append(stacks[c.Source], list[k].ID)
		}
	}
	tables := make(map[*query.Source]*frameTable)
	for i := range r.Checks {
		c := &r.Checks[i]
		t := tables[c.Source]
		if list := stacks[c.Source]; t == nil && len(list) > 0 {
			t = newFrameTable(c.Source.Profile, list)
			t.startAt(len(j.Frames))
			j.Frames = append(j.Frames, t.rows()...)
			tables[c.Source] = t
		}
		j.Checks = append(j.Checks, newCheckResult(t, c, limit))
	}
	return j
}

func newCheckResult(t *frameTable, c *check.Check, limit int) CheckResult {
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
	if len(c.Runs) > 1 {
		j.Runs = c.Runs
	}
	if len(c.BaseRuns) > 1 {
		j.BaseRuns = c.BaseRuns
	}
	if c.Kind == check.Base && !c.NotKnown {
		j.Chance = &c.Chance
	}
	for i := range list {
		st := &list[i]
		x := CheckStack{Value: st.Value, Stack: t.of(st.ID)}
		if based {
			x.Baseline = &st.Base
		}
		if st.Suspect != nil {
			x.Slope, x.Confidence = st.Suspect.Slope, st.Suspect.Confidence
		}
		j.Stacks = append(j.Stacks, x)
	}
	return j
}
