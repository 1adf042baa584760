package block

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// Decoder reads the events of one block after another, as an Encoder wrote them.
type Decoder struct {
	Quantum     int64
	MaxTime     uint64                  // in units
	Known       func(stack uint32) bool // nil: all are
	ThreadCount int                     // in the recording's table
	Sampling    event.Sampling
	sampled     bool // the block has Sampled events
	cols        column.Set
	Head        Head
	Buf         []byte // payload
	bufs        [256][]byte
	threads     []threadCursors
	stacks      []stackAt
	shapes      [256]shapeAt // those that the block does not have are of noClass
	sparse      column.Cursor
	slack       slackTable
	place       *placement    // nil: the block has no addresses
	placement   *placement    // memory for place
	distances   column.Cursor // of addresses
	newShape    shapeAt       // the shape of a stack that no event has named yet
	news        []allocAt     // the allocations of this block so far
	sizes       []uint64      // of Levels: their sizes
	times       [2]column.NibbleReader
	long        column.Cursor // the rest of long times
	now         uint64        // time of the latest event, in units
	number      uint64        // of the next event in the block
	nextSparse  uint64        // number of the next event that has rare fields
	freeStacks  bool          // deallocations have call stacks of their own
	Stopped     *atomic.Bool  // if set, Decode ends early; may be nil
	Wanted      Fields        // only the columns of these are read
	fields      Fields        // Wanted, and what these need in this block
	batch       batching
}

type stackAt struct {
	size  uint64
	unit  uint64
	id    uint32
	shape shapeAt // of its latest allocation; the copy saves a lookup
}

type shapeAt struct {
	class   uint8
	kind    event.Kind
	fn      event.Func
	flags   event.Flags
	counted bool // its count is in the column of counts
}

// noClass is the class of a shape that the block does not have.
const noClass = 255

// newClass is the class of a stack that no event has named yet.
const newClass = 254

// allocAt is an allocation, for the Free that ends it later in the block.
type allocAt struct {
	size   uint64
	usable uint64
	born   int64
	stack  uint32
	thread uint32
}

var errEvents = errors.New("its columns contradict each other")

// stopEvery is how many events a decoder decodes between checks of Stopped.
const stopEvery = 1 << 12

// Decode yields the events of the block that was opened last, in order, until yield returns false.
func (x *Decoder) Decode(yield Yield) (more bool, err error) {
	if err := x.prepare(); err != nil {
		return true, err
	}
	more, err = x.eachRun(func(t *threadCursors, events uint64) (more, ok bool) {
		return x.decodeRun(t, events, yield)
	})
	if more && !x.yieldBatch(yield) { // yield ended it before the damage, if there is any
		return false, nil
	}
	return more, err
}

// eachRun calls each for runs of events of one thread, until each wants no more or finds damage.
func (x *Decoder) eachRun(each func(t *threadCursors, events uint64) (more, ok bool)) (more bool, err error) {
	runs, err := x.column(colRuns)
	if err != nil {
		return true, err
	}
	for left := x.Head.Events; left > 0; {
		both := runs.Byte()
		n, who := uint64(both&column.MaxNibble), uint64(both>>4)
		if n == column.MaxNibble {
			n += runs.Uint()
		}
		if who == column.MaxNibble {
			who += runs.Uint()
		}
		if runs.Bad || who >= uint64(len(x.threads)) {
			return true, errEvents
		}
		n = min(n, left)
		left -= n
		for n > 0 {
			part := min(n, stopEvery)
			n -= part
			if x.Stopped != nil && x.Stopped.Load() {
				return false, nil
			}
			if more, ok := each(&x.threads[who], part); !ok {
				return true, errEvents
			} else if !more {
				return false, nil
			}
		}
	}
	return true, nil
}

// prepare prepares to decode from the first event on.
func (x *Decoder) prepare() (err error) {
	if err := x.dictionaries(); err != nil {
		return err
	}
	x.fields = x.Head.needed(x.Wanted, x.sampled)
	if err := x.threadTable(x.fields.need); err != nil {
		return err
	}
	x.now, x.number = 0, 0
	if x.fields&Times != 0 {
		if err := x.clock(); err != nil {
			return err
		}
	}
	if x.sparse, err = x.column(colSparse); err != nil {
		return err
	}
	if err := x.addresses(); err != nil {
		return err
	}
	x.slack, x.newShape = slackTable{}, x.shapes[0]
	// Each allocation has a byte in this column: a forged head cannot claim more room.
	room := min(x.Head.Allocs, x.cols.Raw(colStack0))
	if x.news = x.news[:0]; uint64(cap(x.news)) < room {
		x.news = make([]allocAt, 0, room)
	}
	if x.place != nil {
		x.place.blocks = slices.Grow(x.place.blocks, int(room))
	}
	x.batch.clear()
	x.nextSparse = math.MaxUint64
	if x.sparse.Left() > 0 {
		x.nextSparse = x.sparse.Uint()
	}
	x.freeStacks = x.cols.Has(colFree0) || x.cols.Has(colFree1) || x.cols.Has(colFree2)
	return nil
}

func (x *Decoder) stack(t *threadCursors, first column.ID) *stackAt {
	c := (*[3]column.Cursor)(t.cols[first-perThread:])
	at := c[0].At // the second column is read to the same place
	if at >= len(c[0].Data) || at >= len(c[1].Data) {
		return nil
	}
	c[0].At++
	return x.named(uint32(c[0].Data[at]) | uint32(c[1].Data[at])<<8 | uint32(c[2].Lazy())<<16)
}

// named returns the stack of the dictionary that an event names; nil if there is none.
func (x *Decoder) named(local uint32) *stackAt {
	if uint(local) >= uint(len(x.stacks)) {
		return nil
	}
	x.appear(&x.stacks[local])
	return &x.stacks[local]
}

// appear gives a stack its first shape if no event named it before. It reports whether its shape is of classAlloc.
func (x *Decoder) appear(s *stackAt) bool {
	if s.shape.class == newClass {
		s.shape = x.newShape
	}
	return s.shape.class == classAlloc
}

func (x *Decoder) readUsable(t *threadCursors, size uint64, code uint8, learn bool) (uint64, bool) {
	s := &x.slack[size%uint64(len(x.slack))]
	if code == 0 {
		code = s.now
	}
	if code == wideSlack {
		w := &t.cols[colWideSlack-perThread]
		usable := size + uint64(w.Int())
		return usable, !w.Bad
	}
	if learn {
		s.learn(code)
	}
	return size + uint64(code) - 1, code != 0
}

// count reads how many elements an allocation has.
func (x *Decoder) count(t *threadCursors, s *stackAt, e *event.Event) {
	c := &t.cols[colCount-perThread]
	e.Count = predictCount(s.unit, e.Size)
	if t.counts.Zeros == 0 {
		e.Count = c.Uint()
		t.counts.Open(c)
		s.unit = learnUnit(e.Size, e.Count)
		return
	}
	t.counts.Zeros--
	if e.Count == 0 {
		s.unit = 0 // as learnUnit returns; for a count that is predicted, the unit stays
	}
}

func (x *Decoder) freeStack(t *threadCursors, e *event.Event) bool {
	c := &t.cols
	local := uint32(c[colFree0-perThread].Lazy()) | uint32(c[colFree1-perThread].Lazy())<<8 |
		uint32(c[colFree2-perThread].Lazy())<<16
	if local == 0 {
		e.FreeStack = 0
		return true
	}
	s := x.named(local - 1)
	if s == nil {
		return false
	}
	e.FreeStack = s.id
	return true
}
