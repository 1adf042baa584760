package recording

import (
	"unsafe"

	"github.com/heaptap/heaptap/internal/recording/block"
)

// FarTable has sums of deallocations of blocks that earlier blocks of events have allocated.
type FarTable = block.FarTable

// FarSum is a sum in a FarTable.
type FarSum = block.FarSum

const (
	// Tables of far sums take at most farFirst bytes and the farShare-th part of the bytes of the events that they are
	// about.
	farShare = 50
	farFirst = 1024
)

// farWriter collects far sums until a table is written.
type farWriter struct {
	table block.FarTable
	room  int64 // bytes that tables may still take
	begun bool
}

// farSums adds the far sums of the block of events that was written last, and writes the table when it is complete.
func (a *appender) farSums(s *block.Sealed) {
	f := &a.far
	if !f.begun {
		f.begun, f.room = true, farFirst
	}
	f.room += int64(a.blocks[len(a.blocks)-1].length) / farShare
	t := &f.table
	if t.Blocks == 0 {
		list := t.List[:0]
		head := block.FarHead{FirstBlock: a.count, FirstEvent: s.Head.FirstEvent, Shift: s.Far.Shift}
		*t = block.FarTable{FarHead: head, List: list}
	}
	t.Coarsen(s.Far.Shift) // the encoder's never becomes smaller
	for i := range s.Far.List {
		x := s.Far.List[i]
		x.In = uint32(t.Blocks)
		t.List = append(t.List, x)
	}
	t.Blocks++
	t.Events += s.Head.Events
	if t.Blocks == block.Fan {
		a.writeFar()
	}
}

// endFar writes the last table. Without one, a reader knows of the first block that it has no far sums.
func (a *appender) endFar() error {
	if t := &a.far.table; t.Blocks > 0 && t.FirstBlock+t.Blocks > 1 {
		a.writeFar()
	}
	return a.err
}

// writeFar writes the table, in as much detail as there is room for. Without a table, answers are the same.
func (a *appender) writeFar() {
	f := &a.far
	t := &f.table
	defer func() { t.Blocks = 0 }()
	for a.err == nil {
		if room := max(f.room, 0); int64(len(t.List)) <= room { // a sum takes more than a byte
			t.Encode(a.pay)
			if size := int64(len(a.pay.Bytes())) + headerLength; !a.pay.TooLong() && size <= room {
				f.room -= size
				_ = a.block(blockFar, a.pay.Bytes())
				return
			}
		}
		if t.Shift >= block.MaxFarShift {
			return
		}
		t.Coarsen(t.Shift + block.FarShift)
	}
}

// FarTables returns the tables of far sums that can be read, in the order of their blocks of events. FirstBlock is the
// index of the first one. They are kept and shared: nobody may change them.
func (e *EventBlocks) FarTables() (list []*FarTable) {
	for i := range e.far {
		b := &e.far[i]
		if e.folded(b) {
			continue
		}
		t, err := keep(keptKey{e, b.offset, keptFar}, func() (*FarTable, error) {
			p, err := e.file.payload(b.header, nil)
			if err != nil {
				return nil, err
			}
			return block.DecodeFar(p, e.file.room(), e.tables.known)
		}, func(t *FarTable) int64 { return int64(len(t.List)) * int64(unsafe.Sizeof(FarSum{})) })
		if err != nil { // as if it was not there
			continue
		}
		if e.fits(t) && (len(list) == 0 || end(list[len(list)-1]) <= t.FirstBlock) {
			list = append(list, t)
		}
	}
	return list
}

func end(t *FarTable) uint64 { return t.FirstBlock + t.Blocks }

// fits reports whether the blocks of events that a table is about have the numbers that it says. In a damaged file,
// earlier ones may be missing.
func (e *EventBlocks) fits(t *FarTable) bool {
	n := end(t)
	return n <= uint64(e.Len()) && e.list[t.FirstBlock].head.FirstEvent == t.FirstEvent &&
		e.Cut(int(n)-1) == t.FirstEvent+t.Events
}
