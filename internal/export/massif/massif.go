// Package massif writes massif.out files, which ms_print and massif-visualizer read: snapshots of the live bytes over
// time, some with a tree of their call stacks.
//
// There is a snapshot at the beginning, at the end of each of a hundred equal steps, and at the exact peak. Every
// tenth, the peak, the last and that of --at have a tree, from the allocating functions to main. A merged recording has
// no moment of the peak, and call stacks only for what its processes leaked: its last snapshot shows these.
package massif

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/valgrind"
	"github.com/heaptap/heaptap/internal/query"
)

// Format is massif.out files.
var Format = export.Format{
	Name:      "massif",
	Tool:      "ms_print and massif-visualizer",
	Extension: ".massif.out",
	Keeps: "live bytes at 101 moments and at the peak; at some of these by call stack, bottom-up, to 100 frames " +
		"and down to 0.1 %, below that in sum",
	Loses: "all other metrics, numbers of blocks, threads; times are in milliseconds",
	In: "snapshots as the timeline; live at the peak and at the last snapshot, by call stack if it has " +
		"a tree",
	Write: write,
}

const (
	steps    = 100 // of time
	detailed = 10  // every so many snapshots, one has a tree
	// Nodes below this share of a snapshot, or deeper than this, are merged. Massif itself leaves out more: 1 % and 30.
	share = 0.001
	depth = 100
)

// snapshot is the live bytes at a moment.
type snapshot struct {
	cut  uint64
	time int64 // ns
	live uint64
	tree bool
	peak bool
}

func write(ctx context.Context, out io.Writer, in *export.Input) error {
	list, begin, err := snapshots(ctx, in)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "desc: heaptap %s\ncmd: %s\ntime_unit: ms\n", valgrind.Line(strings.Join(in.Facts(), "; ")),
		valgrind.Line(strings.Join(in.Reader.Process().Args, " ")))
	t := &trees{Writer: w, in: in, known: make(map[uint32][]int)}
	for i, s := range list {
		if err := s.write(ctx, t, i, begin); err != nil {
			return err
		}
	}
	return w.Flush()
}

// snapshots returns the snapshots in the order of time, and the time at which the range begins.
func snapshots(ctx context.Context, in *export.Input) ([]snapshot, int64, error) {
	series, err := in.Develop(ctx, steps)
	if err != nil {
		return nil, 0, err
	}
	top, err := in.Stacks(ctx, query.Peak, query.Live)
	if err != nil {
		return nil, 0, err
	}
	merged := in.Reader.Merged() != nil
	var list []snapshot
	for i, p := range series.All.Points {
		last := i == len(series.All.Points)-1
		list = append(list, snapshot{cut: series.Cuts[i], time: series.Times[i], live: p.Live, tree: last ||
			i%detailed == 0 && !merged})
	}
	if merged {
		list[len(list)-1].live = top.Total.LiveBytes
	}
	add := func(s snapshot) error {
		var err error
		s.time, err = in.Reader.TimeAt(s.cut)
		s.time = min(max(s.time, list[0].time), list[len(list)-1].time)
		list = append(list, s)
		return err
	}
	if top.Total.PeakBytes > 0 && !merged {
		if err := add(snapshot{cut: top.PeakAt, live: top.Total.PeakBytes, tree: true, peak: true}); err != nil {
			return nil, 0, err
		}
	}
	if in.Query.At != nil {
		if err := add(snapshot{cut: top.At, live: top.Total.LiveBytes, tree: true}); err != nil {
			return nil, 0, err
		}
	}
	slices.SortStableFunc(list, func(a, b snapshot) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.cut, b.cut))
	})
	return list, series.Times[0], nil
}

func (s *snapshot) write(ctx context.Context, t *trees, number int, begin int64) error {
	tree := "empty"
	switch {
	case s.peak:
		tree = "peak"
	case s.tree:
		tree = "detailed"
	}
	fmt.Fprintf(t, "#-----------\nsnapshot=%d\n#-----------\ntime=%d\n"+
		"mem_heap_B=%d\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
		number, (s.time-begin)/time.Millisecond.Nanoseconds(), s.live, tree)
	switch {
	case s.peak: // the peak is known even where events were folded
		return t.write(ctx, query.Peak, s.cut)
	case s.tree:
		return t.write(ctx, query.Live, s.cut)
	}
	return nil
}
