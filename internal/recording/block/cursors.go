package block

import (
	"errors"
	"fmt"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// threadCursors is how far a decoder is in one thread's parts of the columns.
type threadCursors struct {
	index    uint32
	allocs   uint64 // events of classAlloc that are left of a run
	others   uint64 // other events that are left of the run after it
	lastRef  uint64
	lastNew  uint64
	shape    shapeAt
	lastBorn uint64
	behind   uint64 // address after the latest block
	lastFar  uint64
	shapes   column.GapReader
	frees    column.GapReader
	slacks   column.GapReader
	farSlack column.GapReader
	counts   column.GapReader
	cols     [threadColumns]column.Cursor
}

// turn begins the thread's next two runs, of which at least one is not empty. It returns false if there are none.
func (t *threadCursors) turn() bool {
	both, long := t.cols[colClass-perThread].Byte(), &t.cols[colLongRun-perThread]
	t.allocs, t.others = uint64(both&column.MaxNibble), uint64(both>>4)
	if t.allocs == column.MaxNibble {
		t.allocs += long.Uint()
	}
	if t.others == column.MaxNibble {
		t.others += long.Uint()
	}
	return t.allocs|t.others != 0 && !t.cols[colClass-perThread].Bad && !long.Bad
}

// threadTable prepares to read the columns that are wanted.
func (x *Decoder) threadTable(wanted func(column.ID) bool) error {
	h := &x.Head
	c, err := x.column(colThreads)
	if err != nil {
		return err
	}
	if h.Threads*uint64(threadColumns) > uint64(c.Left()) {
		return errors.New("its list of threads is invalid")
	}
	x.threads = append(x.threads[:0], make([]threadCursors, h.Threads)...)
	var lengths [threadColumns]column.Cursor
	for i := range lengths {
		if id := perThread + column.ID(i); wanted(id) {
			if lengths[i], err = x.column(id); err != nil {
				return err
			}
		}
	}
	for i := range x.threads {
		t := &x.threads[i]
		t.index = c.Uint32()
		if t.index >= freeThreads && int64(t.index) >= int64(x.ThreadCount) {
			return fmt.Errorf("it names thread %d of %d", t.index, x.ThreadCount)
		}
		t.lastRef, t.lastNew, t.lastBorn, t.shape = h.FirstAlloc, event.NoRef, h.Begin, x.shapes[0]
		for j := range t.cols {
			n := c.Uint()
			if wanted(perThread + column.ID(j)) {
				t.cols[j] = column.Cursor{Data: lengths[j].Bytes(n)}
			}
			if c.Bad || lengths[j].Bad {
				return fmt.Errorf("column %d is shorter than its threads say", int(perThread)+j)
			}
		}
		t.shapes.Open(&t.cols[colShape-perThread])
		t.frees.Open(&t.cols[colFreeShape-perThread])
		t.slacks.Open(&t.cols[colSlack-perThread])
		t.farSlack.Open(&t.cols[colFarSlack-perThread])
		t.counts.Open(&t.cols[colCount-perThread])
	}
	return nil
}
