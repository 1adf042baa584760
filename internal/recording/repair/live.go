package repair

import "github.com/heaptap/heaptap/internal/event"

// liveBlock is what a deallocation says of the block that it ends.
type liveBlock struct {
	size, usable, addr uint64
	born               int64
	stack, thread      uint32
	flags              event.Flags // HasUsable, Sampled
}

// describe sets what a deallocation says of the block that it ends, as the allocation said it.
func (b *liveBlock) describe(e *event.Event) {
	e.Size, e.Usable, e.Addr, e.Born, e.Stack, e.BornBy = b.size, 0, b.addr, b.born, b.stack, b.thread
	usable := e.Flags & b.flags & event.HasUsable
	if usable != 0 {
		e.Usable = b.usable
	}
	e.Flags = e.Flags&^(event.HasUsable|event.Sampled|event.Temporary) | usable | b.flags&event.Sampled
}

// liveBlocks are the blocks that have not ended yet, by the number of their allocation. Blocks with numbers near each
// other share a page. Most pages are soon empty again.
type liveBlocks struct {
	pages  map[uint64]*livePage
	unused *livePage
}

const livePageBlocks = 32

type livePage struct {
	here  uint32 // a bit for each block that is live
	block [livePageBlocks]liveBlock
}

func (l *liveBlocks) add(ref uint64, b liveBlock) {
	p := l.pages[ref/livePageBlocks]
	if p == nil {
		if p, l.unused = l.unused, nil; p == nil {
			p = &livePage{}
		}
		if l.pages == nil {
			l.pages = make(map[uint64]*livePage)
		}
		l.pages[ref/livePageBlocks] = p
	}
	p.here |= 1 << (ref % livePageBlocks)
	p.block[ref%livePageBlocks] = b
}

// take removes a block; false if it is not there.
func (l *liveBlocks) take(ref uint64) (liveBlock, bool) {
	p := l.pages[ref/livePageBlocks]
	bit := uint32(1) << (ref % livePageBlocks)
	if p == nil || p.here&bit == 0 {
		return liveBlock{}, false
	}
	if p.here &^= bit; p.here == 0 {
		delete(l.pages, ref/livePageBlocks)
		l.unused = p
	}
	return p.block[ref%livePageBlocks], true
}
