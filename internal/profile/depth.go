package profile

import (
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// A recursion that allocates on its way down would make the output grow with the square of its depth if each call
// stack were written with all of its frames: 400,000 call stacks of 200,000 frames on average. So if all call stacks
// together have more than maxFrames, those deeper than a limit are cut: the frames nearest to the allocation remain,
// and CutPC stands for the others.
const (
	maxFrames = 32 << 20
	minLimit  = 100 // call stacks with at most that many frames are never cut
)

// CutPC stands at the end of a call stack for the frames that were cut. No pc of a recording has this number.
const CutPC = ^uint32(0) - 2

// CutName is the function of CutPC.
const CutName = "[more frames]"

// Depths has the number of frames of each call stack, not counting inlined functions. Several goroutines may use it.
type Depths struct {
	dense  []uint32 // by node
	sparse map[uint32]uint32
}

// NewDepths returns the depths of the nodes of a tree without cycles. Call stacks share their outer frames: each node
// is visited once.
func NewDepths(nodes *recording.Table[event.Node]) *Depths {
	d := &Depths{dense: make([]uint32, 2*nodes.Len()+64), sparse: make(map[uint32]uint32)}
	var path []uint32
	nodes.All(func(id uint32, n event.Node) bool {
		path = append(path[:0], id)
		depth := d.Of(id)
		for at := n.Parent; depth == 0 && at != 0; { // nearly always, the parent's depth is known already
			if depth = d.Of(at); depth == 0 {
				n, ok := nodes.Get(at)
				if !ok {
					break
				}
				path = append(path, at)
				at = n.Parent
			}
		}
		if d.Of(id) != 0 {
			return true
		}
		for _, id := range slices.Backward(path) {
			depth++
			if uint64(id) < uint64(len(d.dense)) {
				d.dense[id] = uint32(depth)
			} else {
				d.sparse[id] = uint32(depth)
			}
		}
		return true
	})
	return d
}

// Of returns the depth of a call stack; 0 if it is not known.
func (d *Depths) Of(stack uint32) uint64 {
	if uint64(stack) < uint64(len(d.dense)) {
		return uint64(d.dense[stack])
	}
	return uint64(d.sparse[stack])
}

// frameLimit returns the most frames to show of a call stack where stacks are written one by one; 0: all.
func frameLimit(nodes *recording.Table[event.Node], stacks []uint32) int {
	if uint64(len(stacks))*uint64(nodes.Len()) <= maxFrames {
		return 0
	}
	depths, list := NewDepths(nodes), make([]int, len(stacks))
	for i, id := range stacks {
		list[i] = int(depths.Of(id))
	}
	return DepthLimit(list, maxFrames, minLimit)
}

// DepthLimit returns the largest limit, at least least, at which call stacks of these depths have at most that many
// frames together; 0 if no limit is needed. It sorts the list.
func DepthLimit(list []int, frames, least int) int {
	slices.Sort(list)
	left := frames
	for i, depth := range list {
		if share := left / (len(list) - i); depth > share {
			return max(share, least)
		}
		left -= depth
	}
	return 0
}

// Cut returns the most frames of a call stack that PCs yields, and the number of call stacks that it shortens; 0, 0 if
// it shortens none.
func (p *Profile) Cut() (limit, stacks int) {
	if p.limit == 0 {
		return 0, 0
	}
	depths := NewDepths(p.nodes)
	for i := range p.Stacks {
		if depths.Of(p.Stacks[i].ID) > uint64(p.limit) {
			stacks++
		}
	}
	return p.limit, stacks
}
