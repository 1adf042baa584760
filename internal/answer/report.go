package answer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/columns"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/insight"
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
	Resident        *ReportResident   `json:"resident"`
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
	Insights        []Insight         `json:"insights"`
	StackCount      int               `json:"stack_count"`
	Stacks          Rows[Stack]       `json:"stacks"`
	Frames          []Frame           `json:"frames"` // of all call stacks, each frame once

	profile *profile.Profile
	table   *frameTable
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

// Stack is a call stack that allocated. The JSON leaves out what is 0 or false.
type Stack struct {
	ID               uint32 `json:"id"`
	Class            string `json:"class"`
	Truncated        bool   `json:"truncated,omitempty"`
	Allocations      uint64 `json:"allocations,omitempty"`
	Bytes            uint64 `json:"bytes,omitempty"`
	Deallocations    uint64 `json:"deallocations,omitempty"`
	FreedBytes       uint64 `json:"freed_bytes,omitempty"`
	Failed           Maybe  `json:"failed,omitzero"`
	LiveAtPeakBytes  uint64 `json:"live_at_peak_bytes,omitempty"`
	LiveAtPeakBlocks uint64 `json:"live_at_peak_blocks,omitempty"`
	OwnPeakBytes     uint64 `json:"own_peak_bytes,omitempty"`
	LeakedBytes      uint64 `json:"leaked_bytes,omitempty"`
	LeakedBlocks     uint64 `json:"leaked_blocks,omitempty"`
	Temporary        Maybe  `json:"temporary,omitzero"`
	TemporaryBytes   Maybe  `json:"temporary_bytes,omitzero"`
	MinSize          uint64 `json:"min_size,omitempty"`
	MaxSize          uint64 `json:"max_size,omitempty"`
	ZeroSize         uint64 `json:"zero_size,omitempty"`
	Reallocations    uint64 `json:"reallocations,omitempty"`
	InPlace          uint64 `json:"reallocations_in_place,omitempty"`
	SlackBytes       uint64 `json:"slack_bytes,omitempty"`
	SlackCount       uint64 `json:"slack_known_allocations,omitempty"`
	MeanLifetime     int64  `json:"mean_lifetime_ns,omitempty"`

	Errors    *StandardErrors `json:"standard_errors,omitempty"` // of a sampled recording
	Processes *StackSpread    `json:"processes,omitempty"`       // of a merged recording
	Frames    FrameNumbers    `json:"frames"`
}

// Maybe is a number that may be unknown: null.
type Maybe struct {
	N       uint64
	Unknown bool
}

// Cell is the number, or null.
func (m Maybe) Cell() columns.Cell {
	if m.Unknown {
		return columns.Cell{}
	}
	return columns.Uint(m.N)
}

// MarshalJSON returns the number, or null.
func (m Maybe) MarshalJSON() ([]byte, error) {
	if m.Unknown {
		return []byte("null"), nil
	}
	return strconv.AppendUint(nil, m.N, 10), nil
}

// Selection is what a report is about, if that is not the whole recording.
type Selection struct {
	Flags   []string `json:"flags"`
	Plan    string   `json:"plan"`
	Range   Range    `json:"range"`
	Missing string   `json:"missing"`
}

// NewReport makes the report of a profile. It has the call stacks that are among the first top ones by any metric; all
// if top is 0, none if it is negative. of is the selection that the profile is about; nil: the whole recording. found
// is what stands out in it.
func NewReport(p *profile.Profile, of *query.Selection, top int, found ...insight.Finding) *Report {
	t, h := &p.Totals, &p.Ending.Health
	r := &Report{
		FormatVersion:   Version,
		Recording:       NewRecording(p),
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

		profile: p, of: of,
	}
	switch {
	case top > 0:
		r.list = p.Select(top)
	case top == 0:
		for i := range p.Stacks {
			r.list = append(r.list, &p.Stacks[i])
		}
	}
	r.Stacks = Rows[Stack]{len(r.list), r.stack}
	r.table = newFrameTable(p, append(r.stackIDs(), insightStacks(found)...))
	r.Insights = newInsights(found, r.table)
	r.Frames = r.table.rows()
	if of != nil {
		return r
	}
	r.Unmatched = newUnmatched(p, r.table)
	r.Counts = newCounts(p.Counts)
	r.Pools = newPools(p.Pools)
	r.Mismatches = newMismatches(r.table, p.Mismatches)
	r.Maps = newMaps(&t.Maps)
	r.Mapped = newMapped(p, r.table)
	r.Resident = newReportResident(p)
	return r
}

// stackIDs are the call stacks that the report has, with repetitions.
func (r *Report) stackIDs() []uint32 {
	ids := make([]uint32, 0, len(r.list))
	for _, s := range r.list {
		ids = append(ids, s.ID)
	}
	if r.of != nil {
		return ids
	}
	for i := range r.profile.Unmatched {
		ids = append(ids, r.profile.Unmatched[i].Stack)
	}
	if m := r.profile.Mapped; m != nil {
		for _, s := range profile.MappedSites(m) {
			ids = append(ids, s.Stack)
		}
	}
	return append(ids, mismatchedStacks(r.profile.Mismatches)...)
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

// stack returns a call stack.
func (r *Report) stack(i int) Stack {
	p, s := r.profile, r.list[i]
	sampled := p.Sampled()
	return Stack{
		ID: s.ID, Class: s.Class.String(), Truncated: s.Truncated, Allocations: s.Allocations, Bytes: s.Bytes,
		Deallocations: s.Deallocations, FreedBytes: s.FreedBytes, Failed: maybe(s.Failed, r.of == nil),
		LiveAtPeakBytes: s.LiveAtPeakBytes, LiveAtPeakBlocks: s.LiveAtPeakBlocks, OwnPeakBytes: s.OwnPeakBytes,
		LeakedBytes: s.Leaked.Bytes, LeakedBlocks: s.Leaked.Blocks, Temporary: maybe(s.Temporary, !sampled),
		TemporaryBytes: maybe(s.TemporaryBytes, !sampled), MinSize: s.MinSize, MaxSize: s.MaxSize,
		ZeroSize:      s.ZeroSize,
		Reallocations: s.Reallocations, InPlace: s.InPlace, SlackBytes: s.Slack, SlackCount: s.SlackCount,
		MeanLifetime: s.MeanLifetime(), Errors: newStandardErrors(s.Variances), Processes: newStackSpread(p, s),
		Frames: r.table.of(s.ID),
	}
}

func maybe(n uint64, known bool) Maybe {
	if !known {
		return Maybe{Unknown: true}
	}
	return Maybe{N: n}
}

// write writes the call stacks and the frames one by one, on a line each.
func (r *Report) write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	empty := *r
	empty.Stacks, empty.Frames = Rows[Stack]{}, []Frame{}
	head, err := json.MarshalIndent(&empty, "", "  ")
	if err != nil {
		return err
	}
	head, _ = bytes.CutSuffix(head, []byte("[],\n  \"frames\": []\n}"))
	out.Write(head)
	if err := writeLines(out, r.Stacks.n, r.encodeStack); err != nil {
		return err
	}
	out.WriteString(",\n  \"frames\": ")
	err = writeLines(out, len(r.Frames), func(b *bytes.Buffer, i int) error { return encode(b, &r.Frames[i]) })
	if err != nil {
		return err
	}
	out.WriteString("\n}\n")
	return out.Flush()
}

// encodeStack appends a call stack. Package json would check its frames, which costs more than to write them.
func (r *Report) encodeStack(b *bytes.Buffer, i int) error {
	s := r.stack(i)
	frames := s.Frames
	s.Frames = FrameNumbers{}
	if err := encode(b, &s); err != nil {
		return err
	}
	b.Truncate(b.Len() - len("null}\n"))
	b.Write(frames.append(b.AvailableBuffer()))
	return b.WriteByte('}')
}

// WriteFlat writes a line for each call stack of a report: an object as in Stacks, which begins with the recording's
// name and has its frames itself. It writes nothing else of the report.
func WriteFlat(w io.Writer, r *Report) error {
	if err := r.table.spellOut(); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	var b bytes.Buffer
	if err := encode(&b, r.Recording.File); err != nil {
		return err
	}
	head := `{"recording":` + strings.TrimSuffix(b.String(), "\n") + ","
	for i := range r.list {
		b.Reset()
		if err := r.encodeStack(&b, i); err != nil {
			return err
		}
		out.WriteString(head)
		out.Write(b.Bytes()[1:])
		if err := out.WriteByte('\n'); err != nil {
			return err
		}
	}
	return out.Flush()
}

// writeLines writes an array of n elements, each on a line.
func writeLines(out *bufio.Writer, n int, element func(b *bytes.Buffer, i int) error) error {
	var b bytes.Buffer
	out.WriteByte('[')
	for i := range n {
		b.Reset()
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n    ")
		if err := element(&b, i); err != nil {
			return err
		}
		out.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	}
	if n > 0 {
		out.WriteString("\n  ")
	}
	return out.WriteByte(']')
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
