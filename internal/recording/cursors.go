package recording

import (
	"errors"
	"fmt"
	"math"

	"github.com/heaptap/heaptap/internal/event"
)

// threadCursors is how far a decoder is in one thread's parts of the columns.
type threadCursors struct {
	index    uint32
	allocs   uint64 // left of a run of events of classAlloc
	others   uint64 // left of the run of others after it
	lastRef  uint64
	lastNew  uint64
	shape    shapeAt
	lastBorn uint64
	behind   uint64 // where the latest block ends
	lastFar  uint64
	shapes   gapCursor
	frees    gapCursor
	slacks   gapCursor
	farSlack gapCursor
	counts   gapCursor
	cols     [threadColumns]cursor
}

// gapCursor is how many zeros of a column of gaps come next.
type gapCursor struct{ zeros uint64 }

func (g *gapCursor) open(c *cursor) {
	g.zeros = math.MaxUint64 / 2 // no number of events is added to it that makes it overflow
	if c.left() > 0 {
		g.zeros = min(c.uint(), g.zeros)
	}
}

func (g *gapCursor) next(c *cursor) uint8 {
	if g.zeros > 0 {
		g.zeros--
		return 0
	}
	return g.value(c)
}

func (g *gapCursor) value(c *cursor) uint8 {
	v := c.byte()
	g.open(c)
	return v
}

// lazy reads the next byte of a lazy column: zeros at its end are not stored.
func (c *cursor) lazy() uint8 {
	if c.p < len(c.b) {
		v := c.b[c.p]
		c.p++
		return v
	}
	return 0
}

func (c *cursor) byte() uint8 {
	if c.p < len(c.b) {
		v := c.b[c.p]
		c.p++
		return v
	}
	c.bad = true
	return 0
}

// halfCursor reads a column of halves.
type halfCursor struct {
	b []byte
	n int
}

// next returns the next number, more than half past the end.
func (h *halfCursor) next() uint64 {
	i := h.n >> 1
	if i >= len(h.b) {
		return half + 1
	}
	v := h.b[i] >> (h.n & 1 * 4) & half
	h.n++
	return uint64(v)
}

// turn begins the thread's next runs, which are not both empty. It returns false if there are none.
func (t *threadCursors) turn() bool {
	both, long := t.cols[colClass-perThread].byte(), &t.cols[colLongRun-perThread]
	t.allocs, t.others = uint64(both&half), uint64(both>>4)
	if t.allocs == half {
		t.allocs += long.uint()
	}
	if t.others == half {
		t.others += long.uint()
	}
	return t.allocs|t.others != 0 && !t.cols[colClass-perThread].bad && !long.bad
}

// twoBytes returns the two bytes at a place as one number; one in which a varint goes on if there are not as many.
func twoBytes(b []byte, at int) uint64 {
	if uint(at+1) < uint(len(b)) {
		return uint64(b[at]) | uint64(b[at+1])<<8
	}
	return 0x8080
}

// threadTable makes ready to read those columns that are wanted.
func (x *eventDecoder) threadTable(wanted func(columnID) bool) error {
	h := &x.head
	c, err := x.column(colThreads)
	if err != nil {
		return err
	}
	if h.threads*uint64(threadColumns) > uint64(c.left()) {
		return errors.New("its list of threads is invalid")
	}
	x.threads = append(x.threads[:0], make([]threadCursors, h.threads)...)
	var lengths [threadColumns]cursor
	for i := range lengths {
		if id := perThread + columnID(i); wanted(id) {
			if lengths[i], err = x.column(id); err != nil {
				return err
			}
		}
	}
	for i := range x.threads {
		t := &x.threads[i]
		t.index = c.uint32()
		if t.index >= freeThreads && int64(t.index) >= int64(x.threadCount) {
			return fmt.Errorf("it names thread %d of %d", t.index, x.threadCount)
		}
		t.lastRef, t.lastNew, t.lastBorn, t.shape = h.firstAlloc, event.NoRef, h.begin, x.shapes[0]
		for j := range t.cols {
			n := c.uint()
			if wanted(perThread + columnID(j)) {
				t.cols[j] = cursor{b: lengths[j].bytes(n)}
			}
			if c.bad || lengths[j].bad {
				return fmt.Errorf("column %d is shorter than its threads say", int(perThread)+j)
			}
		}
		t.shapes.open(&t.cols[colShape-perThread])
		t.frees.open(&t.cols[colFreeShape-perThread])
		t.slacks.open(&t.cols[colSlack-perThread])
		t.farSlack.open(&t.cols[colFarSlack-perThread])
		t.counts.open(&t.cols[colCount-perThread])
	}
	return nil
}
