package order

import (
	"encoding/binary"
	"os"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/tests/kit"
)

// Of rings.c.
const (
	threads    = 8
	numberBits = 19

	allocated = 1
	freed     = 2
	moved     = 4
	failed    = 8

	pageSize  = 4096
	entrySize = 16
)

// truth is the file in which the program writes down what it does.
type truth struct {
	path string
	b    []byte
	stop *uint32
}

func newTruth(t *testing.T, path string, operations int) *truth {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size := pageSize + threads*(4*operations+16)*entrySize
	if err := f.Truncate(int64(size)); err != nil {
		t.Fatal(err)
	}
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return &truth{path: path, b: b, stop: (*uint32)(unsafe.Pointer(&b[0]))}
}

func (r *truth) word(i int) uint32 { return atomic.LoadUint32((*uint32)(unsafe.Pointer(&r.b[4*i]))) }

func (r *truth) tid(thread int) uint32 { return r.word(4 + thread) }

// wait waits until all threads are under way and returns their kernel ids.
func (r *truth) wait(t *testing.T) (tids []int) {
	t.Helper()
	kit.Until(t, "all threads under way", func() bool { return r.word(4+threads+threads-1) >= 10 })
	for i := range threads {
		tids = append(tids, int(r.tid(i)))
	}
	return tids
}

// entry is one thing that a thread did: what, to which block, and where that lies.
type entry struct {
	what    uint32
	block   block
	address uint64
}

// block names a block: the kernel's id of the thread that made it, and its number there.
type block struct{ tid, number uint32 }

// entries are what a thread has written down, in its order.
func (r *truth) entries(thread int) []entry {
	room := int(r.word(2))
	list := make([]entry, r.word(4+threads+thread))
	for i := range list {
		b := r.b[pageSize+(thread*room+i)*entrySize:]
		id := binary.LittleEndian.Uint32(b[4:])
		list[i] = entry{binary.LittleEndian.Uint32(b), block{r.tid(int(id >> numberBits)), id & (1<<numberBits - 1)},
			binary.LittleEndian.Uint64(b[8:])}
	}
	return list
}

// result counts what was compared.
type result struct {
	pairs     int // deallocations of blocks that the program made
	foreign   int // by another thread than the block's
	handed    int // allocations at an address that another thread has freed last
	exchanged int // deallocations that have taken another's place, see exchange
	reordered int // deallocations that come earlier or later among their thread's than they happened
}

// compare holds what the recording says to what the program has written down.
func (r *truth) compare(t *testing.T, said *heard) (n result) {
	t.Helper()
	problems := 0
	problem := func(format string, args ...any) {
		if problems++; problems <= 10 {
			t.Errorf(format, args...)
		}
	}
	type place struct {
		tid     uint32
		address uint64
	}
	address := make(map[block]uint64)
	born := make(map[block]uint32)   // what it was
	ended := make(map[place][]entry) // by the thread that ended it
	order := make(map[uint32][]block)
	fails := 0
	for thread := range threads {
		for _, e := range r.entries(thread) {
			if e.what&allocated != 0 {
				address[e.block], born[e.block] = e.address, e.what
			}
		}
	}
	for thread := range threads {
		tid := r.tid(thread)
		for _, e := range r.entries(thread) {
			switch {
			case e.what&freed != 0:
				ended[place{tid, e.address}] = append(ended[place{tid, e.address}], e)
				order[tid] = append(order[tid], e.block)
			case e.what == failed:
				fails++
			}
		}
	}
	var others []other
	apart := make(map[block]bool)    // the new blocks of reallocs that are recorded as an allocation and a deallocation
	owner := make(map[uint64]uint32) // thread that has freed an address last
	for _, s := range said.events {
		at := address[s.block]
		if s.what&allocated != 0 {
			if s.what == allocated && born[s.block] == allocated|moved && s.tid == s.block.tid {
				apart[s.block] = true
			} else if born[s.block] != s.what || s.tid != s.block.tid {
				problem("the recording has thread %d allocate block %v (%d); the program says %d", s.tid, s.block,
					s.what, born[s.block])
			}
			delete(born, s.block)
			if o, ok := owner[at]; ok && o != s.tid {
				n.handed++
			}
			continue
		}
		owner[at] = s.tid
		n.pairs++
		if s.tid != s.block.tid {
			n.foreign++
		}
		key := place{s.tid, at}
		list := ended[key]
		switch {
		case len(list) > 0 && list[0].what&^moved == s.what&^moved && list[0].block != s.block:
			others = append(others, other{s, at, list[0]})
		case len(list) == 0 || list[0] != (entry{s.what, s.block, at}):
			problem("the recording has thread %d end block %v at %#x (%d); the program says %v", s.tid, s.block, at,
				s.what, list[:min(len(list), 2)])
		}
		if len(list) > 0 {
			ended[key] = list[1:]
		}
		if o := order[s.tid]; len(o) > 0 {
			if o[0] != s.block {
				n.reordered++
			}
			order[s.tid] = o[1:]
		}
	}
	rest := exchanges(others, apart)
	for b := range apart {
		problem("the recording has block %v allocated, and the program reallocated", b)
	}
	n.exchanged = len(others) - len(rest)
	for _, o := range rest {
		problem("the recording has thread %d end block %v at %#x (%d); the program says %v", o.tid, o.block, o.address,
			o.what, o.truth)
	}
	if n.exchanged/2 > n.pairs/100_000+1 {
		problem("%d deallocations of %d are exchanged", n.exchanged, n.pairs)
	}
	for b := range born {
		problem("block %v is not in the recording", b)
	}
	for key, list := range ended {
		if len(list) > 0 {
			problem("%d deallocations by thread %d at %#x are not in the recording", len(list), key.tid, key.address)
		}
	}
	if said.fails != fails {
		problem("%d failed reallocs are recorded, there were %d", said.fails, fails)
	}
	if problems > 10 {
		t.Errorf("%d problems in all", problems)
	}
	return n
}

// other is a deallocation that has ended another block, according to the recording, than it did.
type other struct {
	said
	address uint64
	truth   entry
}

// exchangedWithin is how far apart, in ns, two deallocations at one address may be of which the clocks do not tell
// which came first: what a clock may be read early, and how long the ledger waits for evidence.
const exchangedWithin = 5000

// exchanges removes the pairs of deallocations that have taken each other's places. If one of them is a realloc's, the
// recording has that end its own new block, and so records it as an allocation and a deallocation: that block is
// removed from apart.
func exchanges(list []other, apart map[block]bool) (rest []other) {
	paired := make([]bool, len(list))
	for i, a := range list {
		for j := i + 1; j < len(list) && !paired[i]; j++ {
			b := list[j]
			if !paired[j] && a.address == b.address && a.tid != b.tid && a.block == b.truth.block &&
				b.block == a.truth.block &&
				b.time-a.time <= exchangedWithin && a.fits(apart) && b.fits(apart) {
				paired[i], paired[j] = true, true
				delete(apart, a.block)
				delete(apart, b.block)
			}
		}
		if !paired[i] {
			rest = append(rest, a)
		}
	}
	return rest
}

// fits says whether the recording is right about what the thread did, whichever block it ended.
func (o *other) fits(apart map[block]bool) bool {
	return o.what == o.truth.what || o.what == freed && o.truth.what == freed|moved && apart[o.block]
}
