package verify

import "fmt"

// live is a block that has not ended yet.
type live struct {
	size, addr uint64
	born       int64
	stack, by  uint32
	sampled    bool
}

func (b live) String() string {
	s := fmt.Sprintf("%d bytes at %#x, call stack %d, thread %d, %d ns", b.size, b.addr, b.stack, b.by, b.born)
	if b.sampled {
		s += ", sampled"
	}
	return s
}

// liveBlocks are the blocks that have not ended yet, by the number of their allocation. Numbers that are near are kept together: most
// blocks end soon after they are made.
type liveBlocks struct {
	pages  map[uint64]*livePage
	latest *livePage // that was asked for
	at     uint64    // its number
	count  uint64
}

const pageBlocks = 64

type livePage struct {
	here  uint64 // which ones are live: a bit each
	block [pageBlocks]live
}

func (l *liveBlocks) page(n uint64) *livePage {
	if l.latest == nil || l.at != n {
		l.latest, l.at = l.pages[n], n
	}
	return l.latest
}

// add adds a block, which is not there yet.
func (l *liveBlocks) add(ref uint64, b live) {
	p := l.page(ref / pageBlocks)
	if p == nil {
		if l.pages == nil {
			l.pages = make(map[uint64]*livePage)
		}
		p = &livePage{}
		l.pages[ref/pageBlocks], l.latest = p, p
	}
	p.here |= 1 << (ref % pageBlocks)
	p.block[ref%pageBlocks] = b
	l.count++
}

// take takes a block out; false if it is not there.
func (l *liveBlocks) take(ref uint64) (live, bool) {
	p := l.page(ref / pageBlocks)
	bit := uint64(1) << (ref % pageBlocks)
	if p == nil || p.here&bit == 0 {
		return live{}, false
	}
	l.count--
	if p.here &^= bit; p.here == 0 {
		delete(l.pages, ref/pageBlocks)
		l.latest = nil
	}
	return p.block[ref%pageBlocks], true
}
