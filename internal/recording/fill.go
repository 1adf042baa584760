package recording

import "github.com/heaptap/heaptap/internal/event"

// Plain adds plain events: allocs of them are allocations, the others deallocations, and by so many bytes, modulo 2^64, there is more live after
// them. It does for all of them what Alloc and Free do for one.
func (w *Writer) Plain(list []event.Plain, allocs, bytes uint64) {
	w.allocs += allocs
	w.liveBlocks += 2*allocs - uint64(len(list))
	w.liveBytes += bytes
	for {
		s := w.filling
		n := copy(s.list[s.n:], list)
		s.n += n
		if list = list[n:]; len(list) == 0 {
			return
		}
		w.pass()
	}
}
