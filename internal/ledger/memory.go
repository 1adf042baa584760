package ledger

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Large arrays of slots come from the system and go back to it at once, in huge pages where there are any. From Go's heap
// an array that has been outgrown would stay until the next collection, and random access to gigabytes in small pages is
// all misses of the translation cache.
const (
	hugePage  = 2 << 20
	ownMemory = hugePage / 2 // arrays of at least so many bytes
	slotSize  = int(unsafe.Sizeof(slot{}))
)

// makeSlots returns n empty slots, and the mapping that they lie in, if they do not lie in Go's heap.
func makeSlots(n int) (slots []slot, mapping []byte) {
	size := n * slotSize
	if size < ownMemory {
		return make([]slot, n), nil
	}
	mapping, err := unix.Mmap(-1, 0, size+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return make([]slot, n), nil
	}
	start := uintptr(unsafe.Pointer(&mapping[0]))
	skip := (hugePage - start%hugePage) % hugePage
	own := mapping[skip : skip+uintptr(size)]
	_ = unix.Madvise(own, unix.MADV_HUGEPAGE) // only a matter of speed
	return unsafe.Slice((*slot)(unsafe.Pointer(&own[0])), n), mapping
}

// freeSlots gives a mapping back. Its slots must not be used any more.
func freeSlots(mapping []byte) {
	if mapping != nil {
		_ = unix.Munmap(mapping) // it is one that makeSlots got
	}
}
