package framesize

import (
	"testing"

	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/profile/profiletest"
)

// TestStack sums up a call stack of which one frame's size is unknown.
func TestStack(t *testing.T) {
	p := profiletest.ServerProfile(t)
	var stack uint32
	var pcs []uint32
	for i := range p.Stacks {
		var list []uint32
		p.AllPCs(p.Stacks[i].ID, func(pc uint32) bool { list = append(list, pc); return true })
		if len(list) > len(pcs) {
			stack, pcs = p.Stacks[i].ID, list
		}
	}
	if len(pcs) < 3 {
		t.Fatalf("the deepest call stack has %d frames", len(pcs))
	}
	z := &Sizes{byPC: map[uint32]uint64{}}
	known := uint64(0)
	for i, pc := range pcs[:len(pcs)-1] { // the outermost one is unknown
		z.byPC[pc] = uint64(100 + i)
	}
	unknown := 0
	for _, pc := range pcs {
		if z.byPC[pc] == 0 {
			unknown++
		}
		known += z.byPC[pc]
	}
	for _, c := range []struct {
		z     *Sizes
		depth uint64
		want  Stack
	}{
		{z, known + 50, Stack{Unknown: 50, Frames: unknown}},
		{z, known, Stack{Unknown: 0, Frames: unknown}},
		{z, known - 1, Stack{Unknown: known - 1, Frames: len(pcs), Conflict: true}},
		{nil, 1000, Stack{Unknown: 1000, Frames: len(pcs)}},
	} {
		if got := c.z.Stack(p, &profile.StackMemory{Stack: stack, Deepest: c.depth}); got != c.want {
			t.Errorf("depth %d of %d: %+v, want %+v", c.depth, known, got, c.want)
		}
	}
}
