package answer

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/framesize"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// StackMemory is how much memory the stack of a thread took.
type StackMemory struct {
	Thread    Thread       `json:"thread"`
	Deepest   uint64       `json:"deepest_bytes"`
	DeepestAt int64        `json:"deepest_ns"`
	Stack     uint32       `json:"stack"`
	Frames    FrameNumbers `json:"frames"`
	// FrameBytes is how much of the stack each of Frames takes. null: not known, or a function that is inlined into the
	// next one.
	FrameBytes []*uint64 `json:"frame_bytes"`
	// Unknown is what the known sizes leave of Deepest: frames of unknown size share it with what lies above the
	// outermost frame.
	Unknown uint64        `json:"unknown_bytes"`
	Touched *uint64       `json:"touched_bytes"` // null: not known, as the next one
	Size    *uint64       `json:"size_bytes"`
	Growth  []StackGrowth `json:"growth"`
}

// StackGrowth is a time at which a stack reached a new depth.
type StackGrowth struct {
	TimeNS  int64  `json:"time_ns"`
	Measure string `json:"measure"`
	Bytes   uint64 `json:"bytes"`
	Stack   uint32 `json:"stack,omitempty"`
}

// newStackMemory returns the memory of the threads' stacks, the frames that they refer to, and why sizes of frames are
// not known. sizes may be nil.
func newStackMemory(s *query.Source, sizes *framesize.Sizes) (out []StackMemory, frames []Frame, notes []string) {
	var stacks []uint32
	for i := range s.Profile.StackMemory {
		stacks = append(stacks, s.Profile.StackMemory[i].Stack)
	}
	t := newFrameTable(s.Profile, stacks)
	out, notes = []StackMemory{}, []string{}
	if sizes != nil {
		notes = append(notes, sizes.Notes...)
	}
	for i := range s.Profile.StackMemory {
		m := &s.Profile.StackMemory[i]
		j := StackMemory{Thread: NewThread(s, m.Thread), Deepest: m.Deepest, DeepestAt: m.DeepestAt, Stack: m.Stack,
			Frames: t.of(m.Stack), Growth: []StackGrowth{}}
		sum := sizes.Stack(s.Profile, m)
		if sum.Conflict {
			notes = append(notes, framesize.Note(j.Thread.Name))
		}
		j.FrameBytes, j.Unknown = newFrameBytes(s.Profile, m, sizes, sum.Conflict), sum.Unknown
		if m.Touched > 0 {
			j.Touched = &m.Touched
		}
		if m.Size > 0 {
			j.Size = &m.Size
		}
		for _, u := range m.Growth {
			j.Growth = append(j.Growth, StackGrowth{u.Time, u.Measure.String(), u.Bytes, u.Stack})
		}
		out = append(out, j)
	}
	return out, t.rows(), notes
}

// newFrameBytes returns the sizes of the frames of a thread's deepest stack; with unknown, none is known.
func newFrameBytes(p *profile.Profile, m *profile.StackMemory, sizes *framesize.Sizes, unknown bool) []*uint64 {
	list := []*uint64{}
	p.PCs(m.Stack, func(pc uint32) bool {
		size := sizes.Of(pc)
		for _, f := range p.PCFrames(pc) {
			if f.Inlined || size == 0 || unknown {
				list = append(list, nil)
			} else {
				list = append(list, &size)
			}
		}
		return true
	})
	return list
}

// StackTimeline is how deep the stacks of threads became. The lists of bytes have an entry for each time.
type StackTimeline struct {
	Head
	TimesNS []int64               `json:"times_ns"`
	Threads []StackTimelineThread `json:"threads"`
	More    int                   `json:"more"`
}

// StackTimelineThread is the stack of a thread.
type StackTimelineThread struct {
	Thread  Thread              `json:"thread"`
	Size    *uint64             `json:"size_bytes"` // null: not known, as a null in the next two
	Deepest []*uint64           `json:"deepest_bytes"`
	Touched []*uint64           `json:"touched_bytes"`
	Growth  []StackGrowthFrames `json:"growth"`
}

// StackGrowthFrames is a StackGrowth with its call stack.
type StackGrowthFrames struct {
	StackGrowth
	Frames FrameNumbers `json:"frames,omitzero"`
}

// NewStackTimeline makes the answer.
func NewStackTimeline(s *query.Source, t *query.StackSeries) *StackTimeline {
	j := &StackTimeline{Head: newHead(s, &t.Answer), TimesNS: t.Times, Threads: []StackTimelineThread{}, More: t.More}
	j.Metrics, j.Total = []Metric{}, Values{}
	var stacks []uint32
	for i := range t.Rows {
		for _, u := range t.InRange(&t.Rows[i]) {
			if u.Measure == event.StackDeepest {
				stacks = append(stacks, u.Stack)
			}
		}
	}
	frames := newFrameTable(s.Profile, stacks)
	j.Frames = frames.rows()
	for i := range t.Rows {
		r := &t.Rows[i]
		of := StackTimelineThread{Thread: NewThread(s, r.Thread), Deepest: known(r.Deepest), Touched: known(r.Touched),
			Growth: []StackGrowthFrames{}}
		if r.Size > 0 {
			of.Size = &r.Size
		}
		for _, u := range t.InRange(r) {
			g := StackGrowthFrames{StackGrowth: StackGrowth{u.Time, u.Measure.String(), u.Bytes, u.Stack}}
			if u.Measure == event.StackDeepest {
				g.Frames = frames.of(u.Stack)
			}
			of.Growth = append(of.Growth, g)
		}
		j.Threads = append(j.Threads, of)
	}
	return j
}

// known has null for each 0.
func known(list []uint64) []*uint64 {
	out := make([]*uint64, len(list))
	for i := range list {
		if list[i] > 0 {
			out[i] = &list[i]
		}
	}
	return out
}
