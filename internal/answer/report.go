package answer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/tally"
	"github.com/heaptap/heaptap/internal/timeref"
)

// Report sums a recording up. docs/report-json.md describes every field.
type Report struct {
	FormatVersion   int               `json:"format_version"`
	Recording       Recording         `json:"recording"`
	Selection       *Selection        `json:"selection,omitempty"`
	Process         Process           `json:"process"`
	DurationNS      int64             `json:"duration_ns"`
	Threads         int               `json:"threads"`
	LostEvents      uint64            `json:"lost_events"`
	TruncatedStacks uint64            `json:"truncated_stacks"`
	Totals          Totals            `json:"totals"`
	Peak            Peak              `json:"peak"`
	Leaked          Leaked            `json:"leaked"`
	Temporary       Temporary         `json:"temporary"`
	Sampling        *Sampling         `json:"sampling,omitempty"`
	Maps            *Maps             `json:"maps"`
	Mapped          *Mapped           `json:"mapped"`
	Functions       map[string]uint64 `json:"functions"`
	Unmatched       []Unmatched       `json:"unmatched"`
	Mismatches      []Mismatch        `json:"mismatches"`
	Marks           []Mark            `json:"marks"`
	Samples         Samples           `json:"samples"`
	Health          Health            `json:"health"`
	PerThread       []ThreadCounts    `json:"per_thread"`
	Modules         []Module          `json:"modules"`
	Merge           *Merge            `json:"merge,omitempty"`
	Counts          []CallCount       `json:"counts,omitempty"`
	Pools           []Pool            `json:"pools,omitempty"`
	StackCount      int               `json:"stack_count"`
	Stacks          Rows[Stack]       `json:"stacks"`

	profile *profile.Profile
	list    []*profile.Stack
	of      *query.Selection
}

// Totals are the sums of a report.
type Totals struct {
	Events        uint64  `json:"events"`
	Allocations   uint64  `json:"allocations"`
	Deallocations uint64  `json:"deallocations"`
	Bytes         uint64  `json:"bytes"`
	FreedBytes    uint64  `json:"freed_bytes"`
	Failed        *uint64 `json:"failed"` // nil, as the next three: not known of a selection
	Unmatched     *uint64 `json:"unmatched_deallocations"`
	Inherited     *uint64 `json:"inherited_deallocations"`
	Unrecorded    *uint64 `json:"unrecorded_deallocations"`
	Unseen        uint64  `json:"unseen_deallocations"`
	Reallocations uint64  `json:"reallocations"`
	InPlace       uint64  `json:"reallocations_in_place"`
	ZeroSize      uint64  `json:"zero_size"`
	MinSize       uint64  `json:"min_size"`
	MaxSize       uint64  `json:"max_size"`
	SlackBytes    uint64  `json:"slack_bytes"`
	SlackCount    uint64  `json:"slack_known_allocations"`
	MeanLifetime  int64   `json:"mean_lifetime_ns"`
}

// Peak is the moment at which most bytes were live.
type Peak struct {
	Bytes  uint64 `json:"bytes"`
	Blocks uint64 `json:"blocks"`
	TimeNS int64  `json:"time_ns"`
	Event  uint64 `json:"event"`
}

// Leaked is what was live at the end.
type Leaked struct {
	Bytes         uint64 `json:"bytes"`
	Blocks        uint64 `json:"blocks"`
	RuntimeBytes  uint64 `json:"runtime_bytes"`
	RuntimeBlocks uint64 `json:"runtime_blocks"`
}

// Temporary are allocations that their thread freed before its next one.
type Temporary struct {
	Allocations *uint64 `json:"allocations"` // nil: not known of samples
	Bytes       *uint64 `json:"bytes"`
}

// ThreadCounts are what a thread did.
type ThreadCounts struct {
	Index         int     `json:"index"`
	TID           uint32  `json:"tid"`
	Name          string  `json:"name"`
	StartNS       int64   `json:"start_ns"`
	Allocations   uint64  `json:"allocations"`
	Bytes         uint64  `json:"bytes"`
	Deallocations uint64  `json:"deallocations"`
	FreedBytes    uint64  `json:"freed_bytes"`
	Foreign       uint64  `json:"foreign_deallocations"`
	Temporary     *uint64 `json:"temporary"`
	Failed        *uint64 `json:"failed"`
	Unmatched     *uint64 `json:"unmatched_deallocations"`
	Inherited     *uint64 `json:"inherited_deallocations"`
	Unrecorded    *uint64 `json:"unrecorded_deallocations"`
}

// Stack is a call stack that allocated.
type Stack struct {
	ID               uint32  `json:"id"`
	Class            string  `json:"class"`
	Truncated        bool    `json:"truncated"`
	Allocations      uint64  `json:"allocations"`
	Bytes            uint64  `json:"bytes"`
	Deallocations    uint64  `json:"deallocations"`
	FreedBytes       uint64  `json:"freed_bytes"`
	Failed           *uint64 `json:"failed"`
	LiveAtPeakBytes  uint64  `json:"live_at_peak_bytes"`
	LiveAtPeakBlocks uint64  `json:"live_at_peak_blocks"`
	OwnPeakBytes     uint64  `json:"own_peak_bytes"`
	LeakedBytes      uint64  `json:"leaked_bytes"`
	LeakedBlocks     uint64  `json:"leaked_blocks"`
	Temporary        *uint64 `json:"temporary"`
	TemporaryBytes   *uint64 `json:"temporary_bytes"`
	MinSize          uint64  `json:"min_size"`
	MaxSize          uint64  `json:"max_size"`
	ZeroSize         uint64  `json:"zero_size"`
	Reallocations    uint64  `json:"reallocations"`
	InPlace          uint64  `json:"reallocations_in_place"`
	SlackBytes       uint64  `json:"slack_bytes"`
	SlackCount       uint64  `json:"slack_known_allocations"`
	MeanLifetime     int64   `json:"mean_lifetime_ns"`

	Errors    *StandardErrors `json:"standard_errors,omitempty"` // of a sampled recording
	Processes *StackSpread    `json:"processes,omitempty"`       // of a merged recording
	Frames    []Frame         `json:"frames"`
}

// Selection is what a report is about, if that is not the whole recording.
type Selection struct {
	Flags   []string `json:"flags"`
	Plan    string   `json:"plan"`
	Range   Range    `json:"range"`
	Missing string   `json:"missing"`
}

// NewReport makes the report of a profile. It has the call stacks that are among the first top ones by any metric; all
// if top is 0, none if it is negative. of is the selection that the profile is about; nil: the whole recording.
func NewReport(p *profile.Profile, of *query.Selection, top int) *Report {
	t, h := &p.Totals, &p.Ending.Health
	r := &Report{
		FormatVersion:   Version,
		Recording:       newRecording(p),
		Process:         newProcess(p),
		Selection:       newSelection(of),
		DurationNS:      p.Duration,
		Threads:         len(p.Threads),
		LostEvents:      h.LostEvents,
		TruncatedStacks: h.TruncatedStacks,
		Totals:          newTotals(t, of),
		Peak:            Peak{t.Peak.Bytes, t.Peak.Blocks, t.Peak.Time, t.Peak.Event},
		Leaked:          Leaked{p.Leaked.Bytes, p.Leaked.Blocks, p.Runtime.Bytes, p.Runtime.Blocks},
		Temporary:       Temporary{unlessSampled(p, t.Temporary), unlessSampled(p, t.TemporaryBytes)},
		Sampling:        newSampling(p),
		Functions:       newFunctions(t),
		Health:          newHealth(h),
		Marks:           newMarks(p.Marks, timeref.Names(p.Marks)),
		Samples:         newSamples(p.Samples),
		PerThread:       newThreadCounts(p, of),
		Modules:         newModules(p),
		Merge:           newMerge(p),
		StackCount:      len(p.Stacks),

		profile: p, list: p.Select(max(top, 0)), of: of,
	}
	if top == 0 {
		for i := range p.Stacks {
			r.list = append(r.list, &p.Stacks[i])
		}
	}
	r.Stacks = Rows[Stack]{len(r.list), func(i int) Stack {
		s := r.stack(i)
		s.Frames = newFrames(p, s.ID)
		return s
	}}
	if of != nil {
		return r
	}
	r.Unmatched = newUnmatched(p)
	r.Counts = newCounts(p.Counts)
	r.Pools = newPools(p.Pools)
	r.Mismatches = newMismatches(p, p.Mismatches)
	r.Maps = newMaps(&t.Maps)
	r.Mapped = newMapped(p)
	return r
}

func newTotals(t *tally.Totals, of *query.Selection) Totals {
	return Totals{t.Events, t.Allocations, t.Deallocations, t.Bytes, t.FreedBytes, unlessSelected(of, t.Failed),
		unlessSelected(of, t.Unmatched), unlessSelected(of, t.Inherited), unlessSelected(of, t.Unrecorded), t.Unseen,
		t.Reallocations, t.InPlace, t.ZeroSize, t.MinSize, t.MaxSize, t.Slack, t.SlackCount, t.MeanLifetime()}
}

func newFunctions(t *tally.Totals) map[string]uint64 {
	calls := make(map[string]uint64)
	for f, n := range t.Funcs {
		if n > 0 {
			calls[event.Func(f).String()] += n
		}
	}
	return calls
}

func newThreadCounts(p *profile.Profile, of *query.Selection) []ThreadCounts {
	list := []ThreadCounts{}
	for _, th := range p.Threads {
		c := th.Counts
		list = append(list, ThreadCounts{th.Index, th.TID, th.Name, th.Start, c.Allocations, c.Bytes,
			c.Deallocations, c.FreedBytes, c.Foreign, unlessSampled(p, c.Temporary), unlessSelected(of, c.Failed),
			unlessSelected(of, c.Unmatched), unlessSelected(of, c.Inherited), unlessSelected(of, c.Unrecorded)})
	}
	return list
}

// stack returns a call stack without its frames.
func (r *Report) stack(i int) Stack {
	p, s := r.profile, r.list[i]
	return Stack{
		ID: s.ID, Class: s.Class.String(), Truncated: s.Truncated, Allocations: s.Allocations, Bytes: s.Bytes,
		Deallocations: s.Deallocations, FreedBytes: s.FreedBytes, Failed: unlessSelected(r.of, s.Failed),
		LiveAtPeakBytes: s.LiveAtPeakBytes, LiveAtPeakBlocks: s.LiveAtPeakBlocks, OwnPeakBytes: s.OwnPeakBytes,
		LeakedBytes: s.Leaked.Bytes, LeakedBlocks: s.Leaked.Blocks, Temporary: unlessSampled(p, s.Temporary),
		TemporaryBytes: unlessSampled(p, s.TemporaryBytes), MinSize: s.MinSize, MaxSize: s.MaxSize,
		ZeroSize:      s.ZeroSize,
		Reallocations: s.Reallocations, InPlace: s.InPlace, SlackBytes: s.Slack, SlackCount: s.SlackCount,
		MeanLifetime: s.MeanLifetime(), Errors: newStandardErrors(s.Variances), Processes: newStackSpread(p, s),
	}
}

// write writes the call stacks one by one, on a line each. Frames that many stacks share are marshalled once.
func (r *Report) write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	empty := *r
	empty.Stacks = Rows[Stack]{}
	head, err := json.MarshalIndent(&empty, "", "  ")
	if err != nil {
		return err
	}
	out.Write(bytes.TrimSuffix(head, []byte("]\n}")))
	frames := make(map[uint32][]byte) // by pc, comma-separated
	for i := range r.list {
		if i > 0 {
			out.WriteByte(',')
		}
		text, err := json.Marshal(r.stack(i))
		if err != nil {
			return err
		}
		out.WriteString("\n    ")
		out.Write(bytes.TrimSuffix(text, []byte("null}"))) // of "frames":null
		if err := r.writeFrames(out, r.list[i].ID, frames); err != nil {
			return err
		}
		out.WriteByte('}')
	}
	if len(r.list) > 0 {
		out.WriteString("\n  ")
	}
	out.WriteString("]\n}\n")
	return out.Flush()
}

// writeFrames writes the frames of a call stack. known has those that were written before, by pc.
func (r *Report) writeFrames(out *bufio.Writer, stack uint32, known map[uint32][]byte) (err error) {
	out.WriteByte('[')
	first := true
	r.profile.PCs(stack, func(pc uint32) bool {
		text, ok := known[pc]
		if !ok {
			if text, err = marshalFrames(r.profile.PCFrames(pc)); err != nil {
				return false
			}
			known[pc] = text
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		out.Write(text)
		return true
	})
	out.WriteByte(']')
	return err
}

// marshalFrames writes frames with commas between.
func marshalFrames(list []profile.Frame) ([]byte, error) {
	var b []byte
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		text, err := json.Marshal(newFrame(&list[i]))
		if err != nil {
			return nil, err
		}
		b = append(b, text...)
	}
	return b, nil
}

func newSelection(of *query.Selection) *Selection {
	if of == nil {
		return nil
	}
	a := of.Answer
	return &Selection{of.Asked, a.Plan.String(), newRange(a), a.Missing}
}

// unlessSelected returns null in the report of a selection, for which the number is not known.
func unlessSelected(of *query.Selection, n uint64) *uint64 {
	if of != nil {
		return nil
	}
	return &n
}

// unlessSampled returns null for a sampled recording, from which the number cannot be estimated.
func unlessSampled(p *profile.Profile, n uint64) *uint64 {
	if p.Sampled() {
		return nil
	}
	return &n
}
