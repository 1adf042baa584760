package recording

import (
	"github.com/heaptap/heaptap/internal/event"
)

// Nearly all events are plain allocations and deallocations. Alloc and Free take these without an event.Event around
// them, for about ten nanoseconds; what they write and count is what Event would. Times are in units of Quantum.

// Request is a plain allocation: one that succeeded, is not part of a realloc, has no alignment and is not late.
type Request struct {
	Func   event.Func
	Thread uint32
	Stack  uint32
	Time   int64
	Addr   uint64
	Size   uint64 // requested bytes, less than 2^63
	Usable uint64 // at least Size
	Count  uint64 // of calloc and reallocarray; 0: not told
}

// Alloc adds a plain allocation.
func (w *Writer) Alloc(r *Request) {
	x := w.enc
	if !x.room() {
		w.full()
	}
	t := x.enter(uint64(r.Time), r.Thread, classAlloc)
	local := x.request(t, r.Stack, r.Size, shapeKey(event.Alloc, r.Func, event.HasUsable))
	x.usable(t, r.Size, r.Usable-r.Size)
	if counted[r.Func] {
		x.count(t, local, r.Size, r.Count)
	}
	x.born(t, r.Size, r.Addr)
	x.block.Alloc(int(local), r.Func, r.Thread, r.Size, int64(r.Usable-r.Size), r.Time, Quantum)
}

// Free adds a plain deallocation of block b, whose time is in units, too: one that is not part of a realloc, not late, and
// without a call stack of its own.
func (w *Writer) Free(now int64, f event.Func, thread uint32, temporary bool, b *event.Block) {
	x := w.enc
	if !x.room() {
		w.full()
	}
	t := x.enter(uint64(now), thread, classFree)
	key := shapeKey(event.Free, f, 0)
	if temporary {
		key |= temporaryIn
	}
	x.ends(t, b.Ref, key)
	t.frees.n++
	if b.Ref < x.head.firstAlloc {
		x.far(t, nil, b)
	}
	x.block.Free(int(x.local(b.Stack)), f, thread, b.Thread, b.Size, now-b.Born, temporary)
}
