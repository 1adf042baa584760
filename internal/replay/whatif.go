package replay

import (
	"context"
	"fmt"
	"math"

	"github.com/heaptap/heaptap/internal/event"
)

// Change is a change of the program that is tried before anybody makes it.
type Change struct {
	Kind    ChangeKind
	Pattern string                  // which call stacks are meant, as the user wrote it
	Matches func(stack uint32) bool // reports whether one is
}

// ChangeKind says what is changed at a call stack.
type ChangeKind string

// The changes.
const (
	// InPool has blocks come from pools, one for each thread that allocates. A pool allocates chunks and keeps them.
	InPool ChangeKind = "pool"
	// Reserve allocates a block that grows by realloc as large as it gets, and reallocates it no more.
	Reserve ChangeKind = "reserve"
	// DropTemporaries does without temporary allocations.
	DropTemporaries ChangeKind = "drop-temporaries"
)

// ChangeKinds are all of them.
var ChangeKinds = []string{string(InPool), string(Reserve), string(DropTemporaries)}

func (c Change) String() string { return string(c.Kind) + "=" + c.Pattern }

// Changed counts what became of the calls that a program would no longer make.
type Changed struct {
	Pooled        uint64 `json:"pooled_blocks"` // blocks that came from a pool
	Chunks        uint64 `json:"pool_chunks"`   // which allocated so many chunks
	Reallocations uint64 `json:"reallocations"` // that were not needed
	Temporaries   uint64 `json:"temporaries"`   // that were not allocated
}

// What a pool is like. Larger blocks, and those with an alignment of their own, are allocated as before.
const (
	poolChunk   = 64 << 10 // bytes, as in agent/player/plan.h
	poolLargest = 4 << 10
	poolGrain   = 8  // sizes are multiples of it
	poolAlign   = 16 // the most that is asked for
)

// whatIf decides what becomes of calls.
type whatIf struct {
	list    []Change
	dropped numberSet         // allocations that are not made
	largest map[uint64]uint64 // how large blocks get that would grow, by the number of their first allocation
	pools   map[uint32]*pool  // by stream
	pooled  map[uint64]pooled // live blocks in pools, by the number of their allocation
}

// pool is a thread's: blocks that were freed are used again, those of the same size the latest first.
type pool struct {
	free  [poolLargest/poolGrain + 1][]spot
	chunk uint32
	at    uint32 // in the chunk
	begun bool
}

// spot is a place in a pool.
type spot struct{ chunk, offset uint32 }

type pooled struct {
	spot
	size   uint64
	stream uint32
}

func newWhatIf(list []Change) *whatIf {
	if len(list) == 0 {
		return nil
	}
	return &whatIf{list: list, largest: make(map[uint64]uint64), pools: make(map[uint32]*pool),
		pooled: make(map[uint64]pooled)}
}

// applies reports whether a change of a kind is made at a call stack.
func (w *whatIf) applies(kind ChangeKind, stack uint32) bool {
	if w == nil {
		return false
	}
	for i := range w.list {
		if w.list[i].Kind == kind && w.list[i].Matches(stack) {
			return true
		}
	}
	return false
}

// drops reports whether an allocation is not made.
func (w *whatIf) drops(ref uint64) bool { return w != nil && w.dropped.has(ref) }

// size returns how large a block is made.
func (w *whatIf) size(ref, size uint64) uint64 {
	if w == nil {
		return size
	}
	return max(size, w.largest[ref])
}

// foresee reads the events for what is only known later: which allocations are temporary, and how large blocks get.
func (p *planner) foresee(ctx context.Context, from, to uint64) error {
	w := p.whatIf
	type latest struct {
		ref   uint64
		moved bool
	}
	last := make(map[uint32]latest)     // each thread's allocation
	first := make(map[uint64]uint64)    // the first allocation of a live block that has grown
	moving := make(map[uint32][]uint64) // as in planner
	return p.walk(ctx, from, to, func(n, ref uint64, e *event.Event) error {
		if p.o.Progress != nil && n%(1<<20) == 0 {
			p.o.Progress((n-from)/2, to-from)
		}
		switch e.Kind {
		case event.Alloc:
			moves := e.Flags&event.Realloc != 0
			last[e.Thread] = latest{ref, moves}
			list := moving[e.Thread]
			if !moves || len(list) == 0 {
				return nil
			}
			old := list[len(list)-1]
			moving[e.Thread] = list[:len(list)-1]
			root, grown := first[old]
			if delete(first, old); !grown {
				root = old
			}
			if w.applies(Reserve, e.Stack) {
				first[ref] = root
				w.largest[root] = max(w.largest[root], e.Size)
			}
		case event.Free:
			switch l := last[e.Thread]; {
			case e.Flags&event.Realloc != 0:
				moving[e.Thread] = append(moving[e.Thread], e.Ref)
				return nil
			case e.Flags&event.Temporary != 0 && l.ref == e.Ref && !l.moved && w.applies(DropTemporaries, e.Stack):
				w.dropped.add(e.Ref)
			}
			delete(first, e.Ref)
		}
		return nil
	})
}

// kept plans what takes the place of a temporary allocation: a buffer that the thread keeps, and writes to.
func (p *planner) kept(e *event.Event) error {
	s := p.player(e.Thread)
	if err := p.enter(s, e.Time); err != nil {
		return err
	}
	return p.file.add(s, opKept, 0, uint32(min(e.Size, math.MaxUint32)))
}

// inPool plans a block of a pool.
func (p *planner) inPool(e *event.Event, ref uint64) error {
	w, s := p.whatIf, p.player(e.Thread)
	if err := p.enter(s, e.Time); err != nil {
		return err
	}
	own := w.pools[s.number]
	if own == nil {
		own = &pool{}
		w.pools[s.number] = own
	}
	grains := (uint32(e.Size) + poolGrain - 1) / poolGrain
	var at spot
	if list := own.free[grains]; len(list) > 0 {
		at, own.free[grains] = list[len(list)-1], list[:len(list)-1]
	} else {
		need := max(grains, 1) * poolGrain
		if !own.begun || own.at+need > poolChunk {
			own.chunk, own.at, own.begun = p.file.chunks, 0, true
			p.file.chunks++
			p.plan.Changed.Chunks++
			p.plan.countCall(p.measured)
		}
		at = spot{own.chunk, own.at}
		own.at += need
	}
	if p.file.chunks >= maxSlots {
		return fmt.Errorf("%s: a pool would need more than %d chunks, which is too many for a replay", p.r.Name(),
			maxSlots)
	}
	w.pooled[ref] = pooled{at, e.Size, s.number}
	p.liveBytes += e.Size
	p.plan.Changed.Pooled++
	err := p.file.add(s, opPool, at.chunk, at.offset, uint32(e.Size))
	p.level(e.Time)
	return err
}

// outOfPool ends a block of a pool; false: it is none.
func (p *planner) outOfPool(ref uint64) bool {
	if p.whatIf == nil {
		return false
	}
	b, ok := p.whatIf.pooled[ref]
	if !ok {
		return false
	}
	delete(p.whatIf.pooled, ref)
	own := p.whatIf.pools[b.stream]
	grains := (uint32(b.size) + poolGrain - 1) / poolGrain
	own.free[grains] = append(own.free[grains], b.spot)
	p.liveBytes -= b.size
	return true
}

// stays keeps a block where it is that was made as large as it gets; false: it is none.
func (p *planner) stays(e *event.Event, ref, old uint64) bool {
	if !p.whatIf.applies(Reserve, e.Stack) {
		return false
	}
	at, known := p.live.take(old)
	if known {
		p.live.put(ref, at)
		p.plan.Changed.Reallocations++
	}
	return known
}

// numberSet is a set of numbers that lie close together: a bit for each, in pages.
type numberSet struct {
	pages map[uint64]*[numbersInPage / 64]uint64
}

const numbersInPage = 1 << 16

func (s *numberSet) add(n uint64) {
	if s.pages == nil {
		s.pages = make(map[uint64]*[numbersInPage / 64]uint64)
	}
	page := s.pages[n/numbersInPage]
	if page == nil {
		page = new([numbersInPage / 64]uint64)
		s.pages[n/numbersInPage] = page
	}
	page[n%numbersInPage/64] |= 1 << (n % 64)
}

func (s *numberSet) has(n uint64) bool {
	page := s.pages[n/numbersInPage]
	return page != nil && page[n%numbersInPage/64]&(1<<(n%64)) != 0
}
