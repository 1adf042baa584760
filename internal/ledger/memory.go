package ledger

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Large arrays of slots are mapped and unmapped, in huge pages where there are any. In Go's heap, an array that was
// replaced by a larger one stays until the next collection: with 8 million blocks, that was measured as 110 bytes a
// block instead of 81. And random access to megabytes in small pages misses the translation cache every time.
//
// Arrays smaller than a huge page share regions, one behind the other. The segments grow in turn, always in the same
// order, so that arrays made at the same time are replaced at the same time, and a region can be unmapped soon after
// the first of its arrays is dropped.
const (
	hugePage     = 2 << 20
	ownMemory    = 64 << 10 // arrays of at least so many bytes
	regionArrays = 8        // that a region has room for, at least
	slotSize     = int(unsafe.Sizeof(slot{}))
)

// arena is where the large arrays of a table lie.
type arena struct{ last *region }

// region is a mapping for several arrays.
type region struct {
	mapping []byte
	free    []byte // the part that has never been used
	arrays  int    // in use
}

// slots returns n empty slots, and the region that they lie in, if they do not lie in Go's heap.
func (a *arena) slots(n int) ([]slot, *region) {
	size := n * slotSize
	if size < ownMemory {
		return make([]slot, n), nil
	}
	if a.last == nil || len(a.last.free) < size {
		if a.last != nil && a.last.arrays == 0 {
			a.last.unmap()
		}
		room := size
		if size < hugePage {
			room = (regionArrays*size + hugePage - 1) &^ (hugePage - 1)
		}
		if a.last = newRegion(room); a.last == nil {
			return make([]slot, n), nil
		}
	}
	r := a.last
	own := r.free[:size]
	r.free = r.free[size:]
	r.arrays++
	return unsafe.Slice((*slot)(unsafe.Pointer(&own[0])), n), r
}

// drop gives an array of a region back; r may be nil. Its slots must not be used any more.
func (a *arena) drop(r *region) {
	if r == nil {
		return
	}
	if r.arrays--; r.arrays == 0 && r != a.last {
		r.unmap()
	}
}

// newRegion maps a region that begins at a huge page; what is not touched costs nothing. It returns nil if there is no
// memory.
func newRegion(size int) *region {
	const flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE
	mapping, err := unix.Mmap(-1, 0, size+hugePage, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return nil
	}
	skip := -uintptr(unsafe.Pointer(&mapping[0])) % hugePage
	own := mapping[skip : skip+uintptr(size)]
	_ = unix.Madvise(own, unix.MADV_HUGEPAGE) // only a matter of speed
	return &region{mapping: mapping, free: own}
}

func (r *region) unmap() { _ = unix.Munmap(r.mapping) } // it is one that newRegion got
