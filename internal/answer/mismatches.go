package answer

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
)

// Mismatch is a pair of call stacks whose allocations and deallocations do not belong together.
type Mismatch struct {
	Count        uint64         `json:"count"`
	Mismatch     []string       `json:"mismatch"`
	TimeNS       int64          `json:"time_ns"`
	Thread       uint32         `json:"thread"`
	Allocation   MismatchedCall `json:"allocation"`
	Deallocation MismatchedCall `json:"deallocation"`
}

// MismatchedCall is one side of a pair. The size and alignment of a deallocation are its arguments.
type MismatchedCall struct {
	Function  string       `json:"function"`
	Size      *uint64      `json:"size"`
	Alignment *uint64      `json:"alignment"`
	Stack     uint32       `json:"stack"`
	Frames    FrameNumbers `json:"frames"`
}

var mismatchNames = []struct {
	bit  event.Mismatch
	name string
}{{event.MismatchFunction, "function"}, {event.MismatchSize, "size"}, {event.MismatchAlignment, "alignment"}}

// mismatchedStacks are the call stacks of pairs.
func mismatchedStacks(pairs []event.Pair) []uint32 {
	var ids []uint32
	for i := range pairs {
		ids = append(ids, pairs[i].Stack, pairs[i].FreeStack)
	}
	return ids
}

func newMismatches(t *frameTable, pairs []event.Pair) []Mismatch {
	list := []Mismatch{}
	for i := range pairs {
		x := &pairs[i]
		j := Mismatch{Count: x.Count, TimeNS: x.Time, Thread: x.Thread,
			Allocation:   MismatchedCall{Function: x.Alloc.String(), Size: &x.Size},
			Deallocation: MismatchedCall{Function: x.Free.String()}}
		for _, m := range mismatchNames {
			if x.Mismatch&m.bit != 0 {
				j.Mismatch = append(j.Mismatch, m.name)
			}
		}
		if x.Align != 0 {
			j.Allocation.Alignment = &x.Align
		}
		if x.Free.Sized() {
			j.Deallocation.Size = &x.FreeSize
		}
		if x.FreeAlign != 0 {
			j.Deallocation.Alignment = &x.FreeAlign
		}
		j.Allocation.Stack, j.Allocation.Frames = x.Stack, t.of(x.Stack)
		j.Deallocation.Stack, j.Deallocation.Frames = x.FreeStack, t.of(x.FreeStack)
		list = append(list, j)
	}
	return list
}

// Mismatches are the allocations and deallocations that do not belong together.
type Mismatches struct {
	FormatVersion int        `json:"format_version"`
	Recording     Recording  `json:"recording"`
	Blocks        uint64     `json:"blocks"`
	NotJudged     uint64     `json:"not_judged"`
	Mismatches    []Mismatch `json:"mismatches"`
	More          int        `json:"more"`
	Frames        []Frame    `json:"frames"`
}

// NewMismatches makes the answer.
func NewMismatches(p *profile.Profile, page Page) *Mismatches {
	list, more := Cut(page, p.Mismatches)
	t := newFrameTable(p, mismatchedStacks(list))
	return &Mismatches{Version, NewRecording(p), p.MismatchedBlocks(), p.Totals.Inherited, newMismatches(t, list), more,
		t.rows()}
}

// Unmatched are deallocations by one function at one call stack that ended no block.
type Unmatched struct {
	Count    uint64       `json:"count"`
	Function string       `json:"function"`
	Stack    uint32       `json:"stack"`
	Frames   FrameNumbers `json:"frames"`
}

func newUnmatched(p *profile.Profile, t *frameTable) []Unmatched {
	list := []Unmatched{}
	for _, u := range p.Unmatched {
		list = append(list, Unmatched{u.Count, u.Func.String(), u.Stack, t.of(u.Stack)})
	}
	return list
}
