package ledger

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Large arrays of slots come from the system and go back to it at once, in huge pages where there are any. In Go's heap an
// array that has been outgrown stays until the next collection: measured with 8 million blocks, 110 bytes a block
// instead of 81. And random access to gigabytes in small pages misses the translation cache every time.
const (
	hugePage  = 2 << 20
	ownMemory = 64 << 10 // arrays of at least so many bytes
	slotSize  = int(unsafe.Sizeof(slot{}))
)

// makeSlots returns n empty slots, and the mapping that they lie in, if they do not lie in Go's heap.
func makeSlots(n int) (slots []slot, mapping []byte) {
	size := n * slotSize
	if size < ownMemory {
		return make([]slot, n), nil
	}
	room := 0
	if size >= hugePage {
		room = hugePage // to begin at a huge page; what is not touched costs nothing
	}
	mapping, err := unix.Mmap(-1, 0, size+room, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return make([]slot, n), nil
	}
	own := mapping
	if room > 0 {
		skip := -uintptr(unsafe.Pointer(&mapping[0])) % hugePage
		own = mapping[skip : skip+uintptr(size)]
		_ = unix.Madvise(own, unix.MADV_HUGEPAGE) // only a matter of speed
	}
	return unsafe.Slice((*slot)(unsafe.Pointer(&own[0])), n), mapping
}

// freeSlots gives a mapping back. Its slots must not be used any more.
func freeSlots(mapping []byte) {
	if mapping != nil {
		_ = unix.Munmap(mapping) // it is one that makeSlots got
	}
}
