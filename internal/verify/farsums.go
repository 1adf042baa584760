package verify

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// farSums compares the recording's sums of deallocations by block of events of the allocation with the events.
type farSums struct {
	blocks *recording.EventBlocks
	check  *Check
	tables []*recording.FarTable
	block  int                            // of the events that are counted now
	now    map[recording.FarSum][2]uint64 // deallocations and bytes, by what the sum is about
}

func newFarSums(r *recording.Reader, c *Check) *farSums {
	f := &farSums{blocks: r.EventBlocks(), check: c, tables: r.EventBlocks().FarTables(),
		now: make(map[recording.FarSum][2]uint64)}
	stored := 0
	for _, b := range r.Blocks() {
		if b.Type == "far sums" && !b.Folded {
			stored++
		}
	}
	c.require(!r.Complete() || stored == len(f.tables), "%d of %d tables of far sums are invalid", stored-len(f.tables),
		stored)
	return f
}

// add counts an event; number is the cut after it.
func (f *farSums) add(e *event.Event, number uint64) {
	for f.block < f.blocks.Len() && f.blocks.Cut(f.block) < number {
		f.compare()
	}
	if e.Kind != event.Free || f.block >= f.blocks.Len() || len(f.tables) == 0 ||
		e.Ref >= f.blocks.Head(f.block).FirstAlloc {
		return
	}
	if born, ok := f.blocks.OfAlloc(e.Ref); ok && f.about() {
		t := f.tables[0]
		k := recording.FarSum{Stack: e.Stack, In: uint32(f.block - int(t.FirstBlock)), Born: uint32(born >> t.Shift)}
		blocks, bytes := e.Weight()
		n := f.now[k]
		f.now[k] = [2]uint64{n[0] + blocks, n[1] + bytes}
	}
}

// about reports whether the first table is about the present block.
func (f *farSums) about() bool {
	return len(f.tables) > 0 && f.tables[0].FirstBlock <= uint64(f.block)
}

// compare compares the sums of the present block, and goes on to the next one.
func (f *farSums) compare() {
	if f.about() {
		t := f.tables[0]
		for _, s := range t.List {
			if int(t.FirstBlock)+int(s.In) != f.block {
				continue
			}
			k := recording.FarSum{Stack: s.Stack, In: s.In, Born: s.Born}
			n := f.now[k]
			f.check.require(n == [2]uint64{s.Frees, s.Bytes}, "block of events %d: %d deallocations of %d bytes at "+
				"call stack %d were allocated in group %d, the recording's sums say %d of %d", f.block, n[0], n[1],
				s.Stack, s.Born, s.Frees, s.Bytes)
			delete(f.now, k)
		}
		f.check.require(len(f.now) == 0, "block of events %d: %d far sums are missing", f.block, len(f.now))
		if clear(f.now); t.FirstBlock+t.Blocks == uint64(f.block)+1 {
			f.tables = f.tables[1:]
		}
	}
	f.block++
}

// finish compares the sums of the last block.
func (f *farSums) finish() {
	for f.block < f.blocks.Len() {
		f.compare()
	}
}
