package verify

import "fmt"

// live is a live block.
type live struct {
	size, addr uint64
	born       int64
	stack, by  uint32
	sampled    bool
}

func (l live) String() string {
	s := fmt.Sprintf("%d bytes at %#x, call stack %d, thread %d, %d ns", l.size, l.addr, l.stack, l.by, l.born)
	if l.sampled {
		s += ", sampled"
	}
	return s
}

// liveBlocks are the live blocks, by the number of their allocation. Numbers close to each other are kept together:
// most blocks end soon after they are allocated.
type liveBlocks struct {
	groups []*liveGroup // nil: none of its blocks is live
	unused []*livePage  // free pages
	count  uint64
}

const (
	pageBlocks = 64
	groupPages = 1 << 10
)

type liveGroup struct {
	here  int // pages
	pages [groupPages]*livePage
}

type livePage struct {
	here  uint64 // a bit for each live block
	block [pageBlocks]live
}

// add adds a block. Numbers must rise.
func (l *liveBlocks) add(ref uint64, b live) {
	n := ref / pageBlocks / groupPages
	for uint64(len(l.groups)) <= n {
		l.groups = append(l.groups, nil)
	}
	g := l.groups[n]
	if g == nil {
		g = &liveGroup{}
		l.groups[n] = g
	}
	p := g.pages[ref/pageBlocks%groupPages]
	if p == nil {
		if k := len(l.unused); k > 0 {
			p, l.unused = l.unused[k-1], l.unused[:k-1]
		} else {
			p = &livePage{}
		}
		g.pages[ref/pageBlocks%groupPages] = p
		g.here++
	}
	p.here |= 1 << (ref % pageBlocks)
	p.block[ref%pageBlocks] = b
	l.count++
}

// take removes a block and returns it; false if it is not live.
func (l *liveBlocks) take(ref uint64) (live, bool) {
	n := ref / pageBlocks / groupPages
	if n >= uint64(len(l.groups)) || l.groups[n] == nil {
		return live{}, false
	}
	g := l.groups[n]
	p := g.pages[ref/pageBlocks%groupPages]
	bit := uint64(1) << (ref % pageBlocks)
	if p == nil || p.here&bit == 0 {
		return live{}, false
	}
	b := p.block[ref%pageBlocks]
	l.count--
	if p.here &^= bit; p.here != 0 {
		return b, true
	}
	l.unused = append(l.unused, p)
	g.pages[ref/pageBlocks%groupPages] = nil
	if g.here--; g.here == 0 {
		l.groups[n] = nil
	}
	return b, true
}
