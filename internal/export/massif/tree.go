package massif

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/intern"
	"github.com/heaptap/heaptap/internal/export/valgrind"
	"github.com/heaptap/heaptap/internal/query"
)

// trees writes trees: a line for each node, its children below it, indented. No tree is ever whole in memory: the
// children of a node are the different next frames of the call stacks that go through it.
type trees struct {
	*bufio.Writer
	in    *export.Input
	names intern.Table[string]
	known map[uint32][]int // indexes of the names of the frames at a pc, leaf to root
	whole uint64           // bytes of the tree
	depth int              // the most levels that it may have
}

// maxSteps bounds the frames of all call stacks of a tree together. Beyond 80,000 call stacks, trees are less deep.
const maxSteps = 8 << 20

// cursor is a position in a call stack.
type cursor struct {
	node  uint32 // of the calling-context tree; 0: at its end
	frame int    // index of the next frame at the node's pc
	bytes uint64
}

// group is a child of a node: the cursors that have the same next frame.
type group struct {
	name    int
	bytes   uint64
	cursors []cursor
}

// write writes the tree of a metric's bytes. Live bytes are those at the cut.
func (t *trees) write(ctx context.Context, metric query.Metric, cut uint64) error {
	at := *t.in
	at.Query.At = &cut
	answer, err := at.Stacks(ctx, metric)
	if err != nil {
		return err
	}
	var cursors []cursor
	t.whole = 0
	for i := range answer.Rows {
		if bytes, _ := metric.Integer(&answer.Rows[i].Values); bytes > 0 {
			cursors = append(cursors, cursor{node: answer.Rows[i].Stack, bytes: bytes})
			t.whole += bytes
		}
	}
	t.depth = min(depth, max(10, maxSteps/max(1, len(cursors))))
	t.node(0, "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.", t.whole, cursors)
	return nil
}

// node writes a node and its subtree.
func (t *trees) node(level int, what string, bytes uint64, cursors []cursor) {
	list := t.groups(level, cursors)
	shown := 0
	if level < t.depth {
		for shown < len(list) && float64(list[shown].bytes) >= share*float64(t.whole) {
			shown++
		}
	}
	rest := uint64(0)
	for _, g := range list[shown:] {
		rest += g.bytes
	}
	children := shown
	if rest > 0 {
		children++
	}
	fmt.Fprintf(t, "%sn%d: %d %s\n", strings.Repeat(" ", level), children, bytes, what)
	for _, g := range list[:shown] {
		t.node(level+1, t.names.List()[g.name], g.bytes, g.cursors)
	}
	if rest > 0 {
		fmt.Fprintf(t, "%sn0: %d in %d places, all below massif's threshold (%.2f%%)\n", strings.Repeat(" ", level+1),
			rest, len(list)-shown, share*100)
	}
}

// groups moves cursors one frame further and groups them by that frame, the largest group first. Cursors at their end
// are in no group, except at level 0: a call stack without frames is in the group valgrind.Unknown.
func (t *trees) groups(level int, cursors []cursor) (list []group) {
	places := make(map[int]int)
	for _, c := range cursors {
		name, ok := t.next(&c)
		if !ok && level > 0 {
			continue
		}
		i, known := places[name]
		if !known {
			i = len(list)
			places[name] = i
			list = append(list, group{name: name})
		}
		list[i].bytes += c.bytes
		list[i].cursors = append(list[i].cursors, c)
	}
	slices.SortStableFunc(list, func(a, b group) int { return cmp.Compare(b.bytes, a.bytes) })
	return list
}

// next returns the index of the name of a cursor's next frame and moves past the frame. At the end it returns
// valgrind.Unknown and false.
func (t *trees) next(c *cursor) (int, bool) {
	for c.node != 0 {
		n, _ := t.in.Reader.Nodes().Get(c.node)
		if list := t.frames(n.PC); c.frame < len(list) {
			c.frame++
			return list[c.frame-1], true
		}
		c.node, c.frame = n.Parent, 0
	}
	return t.names.ID(valgrind.Unknown), false
}

func (t *trees) frames(pc uint32) []int {
	list, ok := t.known[pc]
	if !ok {
		for _, f := range t.in.Frames(pc) {
			list = append(list, t.names.ID(valgrind.Frame(&f)))
		}
		t.known[pc] = list
	}
	return list
}
