package recording

import "github.com/heaptap/heaptap/internal/event"

// Space is room for plain events, one or more, which the caller fills in from the first on and then says so by Filled. Another event in
// between takes the same room.
func (w *Writer) Space() []event.Plain {
	s := w.filling
	if s.n == len(s.list) {
		s = w.pass()
	}
	return s.list[s.n:]
}

// Filled adds the first n events of Space: allocs of them are allocations, the others deallocations, and by so many bytes, modulo 2^64, there
// is more live after them. It does what Alloc and Free do.
func (w *Writer) Filled(n int, allocs, bytes uint64) {
	w.filling.n += n
	w.allocs += allocs
	w.liveBlocks += 2*allocs - uint64(n)
	w.liveBytes += bytes
}
