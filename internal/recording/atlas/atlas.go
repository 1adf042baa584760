package atlas

import (
	"sort"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

const (
	// MaxSteps is how many steps an atlas has at most.
	MaxSteps = 1000
	// DefaultBytes is how much memory an atlas takes at most.
	DefaultBytes = 64 << 20
)

// Atlas is what a recording changed at each call stack, step by step. It never changes, and may be used concurrently.
type Atlas struct {
	moments []Moment
	ends    []int    // the moments that end steps, and the first one
	stacks  []uint32 // in the order of the tree; a stack's place here is its rank
	tree    []Node
	small   table[uint16] // of stacks whose sums fit
	medium  table[uint32]
	large   table[uint64]
}

// Moment is a cut at which an atlas has sums.
type Moment struct {
	Cut  uint64
	Time int64 // where the cut is on the axis of time, ns: events before it are not later, those after it not earlier
	Last int64 // time of the last event before the cut, ns
	// Live is how many bytes were live. Top is the most since the moment before; it is more than at both only where
	// events were folded.
	Live, Top uint64
	End       bool // it is the beginning of the run or the end of a step
}

// Sums are what happened: allocations, their bytes, deallocations, their bytes, temporary allocations.
type Sums [columns]uint64

// The columns of Sums.
const (
	Allocs = iota
	Bytes
	Frees
	FreedBytes
	Temporary
	columns
)

// Moments returns the moments by rising cut and time. The first is the recording's first cut, the last its last one.
func (a *Atlas) Moments() []Moment { return a.moments }

// Ends returns the indexes of the moments that a range may have as its ends, in order: the first moment, and the end of
// each step.
func (a *Atlas) Ends() []int { return a.ends }

// Around returns the nearest of Ends at or before, and at or after, a cut; false if the cut is beyond the last moment.
func (a *Atlas) Around(cut uint64) (before, after int, ok bool) {
	i := sort.Search(len(a.ends), func(i int) bool { return a.moments[a.ends[i]].Cut >= cut })
	if i == len(a.ends) || i == 0 && a.moments[0].Cut > cut {
		return 0, 0, false
	}
	if a.moments[a.ends[i]].Cut == cut {
		return a.ends[i], a.ends[i], true
	}
	return a.ends[i-1], a.ends[i], true
}

// Nearest returns the one of Ends that is nearest to a time, in ns.
func (a *Atlas) Nearest(time int64) int {
	i := sort.Search(len(a.ends), func(i int) bool { return a.moments[a.ends[i]].Time >= time })
	if i == len(a.ends) || i > 0 && time-a.moments[a.ends[i-1]].Time < a.moments[a.ends[i]].Time-time {
		i--
	}
	return a.ends[i]
}

// Peak returns the first moment of a range at which the most bytes were live at any cut of the range; false if it is
// not a moment of the atlas, since the events around it were folded.
func (a *Atlas) Peak(from, to int) (moment int, ok bool) {
	best, top := from, uint64(0)
	for i := from; i <= to; i++ {
		if a.moments[i].Live > a.moments[best].Live {
			best = i
		}
		if i > from {
			top = max(top, a.moments[i].Top)
		}
	}
	return best, top <= a.moments[best].Live
}

// Changes returns what happened between two moments at each stack, without Top, in no particular order.
func (a *Atlas) Changes(from, to int) []recording.Change {
	return a.AppendChanges(make([]recording.Change, 0, len(a.stacks)), from, to)
}

// AppendChanges appends them to a list.
func (a *Atlas) AppendChanges(list []recording.Change, from, to int) []recording.Change {
	list = a.small.changes(a.stacks, uint16(from), uint16(to), list)
	list = a.medium.changes(a.stacks, uint16(from), uint16(to), list)
	return a.large.changes(a.stacks, uint16(from), uint16(to), list)
}

// LiveAt returns what is live at a moment at each stack that has live blocks, in no particular order.
func (a *Atlas) LiveAt(moment int) []timetravel.Live {
	list := make([]timetravel.Live, 0, len(a.stacks))
	list = a.small.live(a.stacks, uint16(moment), list)
	list = a.medium.live(a.stacks, uint16(moment), list)
	return a.large.live(a.stacks, uint16(moment), list)
}

// Stacks returns the stacks at which anything happened, in the order of the calling-context tree.
func (a *Atlas) Stacks() []uint32 { return a.stacks }

// Add adds to sums, which has an entry for each moment, what happened since the moment before: at the stacks of some
// ranks, which rise.
func (a *Atlas) Add(sums []Sums, list []Ranks) {
	a.small.add(sums, list)
	a.medium.add(sums, list)
	a.large.add(sums, list)
}

// Size is about how much memory the atlas takes, in bytes.
func (a *Atlas) Size() int64 {
	return int64(len(a.moments))*48 + int64(len(a.tree))*16 + int64(len(a.stacks))*4 + a.small.size() +
		a.medium.size() + a.large.size()
}

// unpack makes an atlas of the contents of a file, if its entries take no more than limit bytes. nodes is the tree of
// the stacks.
func unpack(contents []byte, nodes *recording.Table[event.Node], limit int64) (*Atlas, error) {
	c, err := readContents(contents, nodes)
	if err == nil && c.size() > limit {
		err = errTooLarge
	}
	if err != nil {
		return nil, err
	}
	a := &Atlas{moments: c.moments}
	for i := range a.moments {
		if a.moments[i].End {
			a.ends = append(a.ends, i)
		}
	}
	a.stacks, a.tree = arrange(nodes, c.stacks)
	c.fill(a)
	return a, nil
}
