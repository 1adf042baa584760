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

// trees writes trees: a line for each node, its children below it, indented. No tree is ever whole in memory: of all call stacks that
// have the same frames up to here, the next frames say what the children are.
type trees struct {
	*bufio.Writer
	in    *export.Input
	names intern.Table[string]
	known map[uint32][]int // numbers of the names of the frames at a pc, leaf to root
	whole uint64           // bytes of the tree
	depth int              // how many levels it has at most
}

// maxSteps is how many frames a tree takes of all its call stacks together: each call stack is a way of its own. Beyond 80,000 call stacks,
// trees are less deep.
const maxSteps = 8 << 20

// way is a call stack of which some frames have been gone through.
type way struct {
	node  uint32 // of the calling-context tree; 0: at its end
	frame int    // the next one at the node's pc
	bytes uint64
}

// group is what ways with the same next frame come to.
type group struct {
	name  int
	bytes uint64
	ways  []way
}

// write writes which call stacks the bytes of a metric are of. What is live is that at the cut.
func (t *trees) write(ctx context.Context, metric query.Metric, cut uint64) error {
	at := *t.in
	at.Query.At = &cut
	answer, err := at.Stacks(ctx, metric)
	if err != nil {
		return err
	}
	var ways []way
	t.whole = 0
	for i := range answer.Rows {
		if bytes, _ := metric.Integer(&answer.Rows[i].Values); bytes > 0 {
			ways = append(ways, way{node: answer.Rows[i].Stack, bytes: bytes})
			t.whole += bytes
		}
	}
	t.depth = min(depth, max(10, maxSteps/max(1, len(ways))))
	t.node(0, "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.", t.whole, ways)
	return nil
}

// node writes a node and what is below it.
func (t *trees) node(level int, what string, bytes uint64, ways []way) {
	list := t.groups(level, ways)
	told := 0
	if level < t.depth {
		for told < len(list) && float64(list[told].bytes) >= share*float64(t.whole) {
			told++
		}
	}
	rest := uint64(0)
	for _, g := range list[told:] {
		rest += g.bytes
	}
	children := told
	if rest > 0 {
		children++
	}
	fmt.Fprintf(t, "%sn%d: %d %s\n", strings.Repeat(" ", level), children, bytes, what)
	for _, g := range list[:told] {
		t.node(level+1, t.names.List()[g.name], g.bytes, g.ways)
	}
	if rest > 0 {
		fmt.Fprintf(t, "%sn0: %d in %d places, all below massif's threshold (%.2f%%)\n", strings.Repeat(" ", level+1), rest,
			len(list)-told, share*100)
	}
}

// groups takes ways a frame further, and groups them by it, the largest first. Ways that end here are in none, but a call stack without
// frames has one that says so.
func (t *trees) groups(level int, ways []way) (list []group) {
	places := make(map[int]int)
	for _, w := range ways {
		name, ok := t.next(&w)
		if !ok && level > 0 {
			continue
		}
		i, known := places[name]
		if !known {
			i = len(list)
			places[name] = i
			list = append(list, group{name: name})
		}
		list[i].bytes += w.bytes
		list[i].ways = append(list[i].ways, w)
	}
	slices.SortStableFunc(list, func(a, b group) int { return cmp.Compare(b.bytes, a.bytes) })
	return list
}

// next returns the number of the name of a way's next frame, and goes past it; false, and what is unknown, at the way's end.
func (t *trees) next(w *way) (int, bool) {
	for w.node != 0 {
		n, _ := t.in.Reader.Nodes().Get(w.node)
		if list := t.frames(n.PC); w.frame < len(list) {
			w.frame++
			return list[w.frame-1], true
		}
		w.node, w.frame = n.Parent, 0
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
