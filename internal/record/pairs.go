package record

import (
	"cmp"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/wire"
)

// maxPairs bounds the pairs that are told apart; a program with more has them all in a few places of its code that are called
// from everywhere.
const maxPairs = 1 << 14

// pairs are the allocations and deallocations of a process that do not belong together.
type pairs struct {
	found map[pairKey]*event.Pair
	rest  event.Pair // beyond maxPairs
	// Alignments of live blocks whose deallocation has to name it, by address.
	aligns map[uint64]uint64
	told   arguments
	// What deallocations that the ledger has not settled yet were told, in their order.
	waiting map[dealloc][]arguments
	waits   int // in all
	// Deallocations of which only the function could be judged: what they were told is not known.
	unknown uint64
}

// dealloc tells deallocations apart that wait; those that are the same in all this keep their order.
type dealloc struct {
	addr   uint64
	thread uint32
	fn     event.Func
}

// maxWaits bounds what is remembered of deallocations that wait. The ledger settles the oldest beyond some 65,000 operations.
const maxWaits = 1 << 17

type pairKey struct {
	alloc, free      event.Func
	stack, freeStack uint32
}

// arguments are what a deallocation was told.
type arguments struct {
	dealloc
	used  bool  // its deallocation has been judged, or waits
	low   uint8 // lowest byte of the size
	whole bool  // size is known
	size  uint64
	// align is known if there was one to tell.
	aligned bool
	align   uint64
}

// sizeFor is the size that a deallocation of a block was told: where it is not whole, it is near the block's.
func (a *arguments) sizeFor(block uint64) uint64 {
	if a.whole {
		return a.size
	}
	return block + uint64(int64(int8(a.low-uint8(block))))
}

// listen notes what the op that the ledger is given next was told.
func (p *pairs) listen(r *ready, fn event.Func, thread uint32, x *extras) {
	p.told = arguments{dealloc: dealloc{r.w0 & wire.AddrMask, thread, fn}, low: uint8(r.w0 >> wire.SlackShift)}
	if x != nil {
		p.told.whole, p.told.size = x.has(wire.XSize), x.size
		p.told.aligned, p.told.align = x.has(wire.XAlign), x.align
	}
}

// keep remembers what the op that the ledger was given was told, if that has to wait.
func (p *pairs) keep() {
	if p.told.used {
		return
	}
	p.told.used = true
	if !tells(p.told.fn) || p.waits >= maxWaits {
		return
	}
	if p.waiting == nil {
		p.waiting = make(map[dealloc][]arguments)
	}
	p.waiting[p.told.dealloc] = append(p.waiting[p.told.dealloc], p.told)
	p.waits++
}

// tells says whether a deallocation function is told more than an address.
func tells(fn event.Func) bool {
	return fn.Sized() || fn.Family() == event.FamilyNewAligned || fn.Family() == event.FamilyArrayAligned
}

// toldTo is what the deallocation was told that the ledger has settled; false if that is not known.
func (p *pairs) toldTo(e *event.Event) (arguments, bool) {
	k := dealloc{e.Addr, e.Thread, e.Func}
	if p.waits > 0 {
		if list := p.waiting[k]; len(list) > 0 {
			if p.waits--; len(list) == 1 {
				delete(p.waiting, k)
			} else {
				p.waiting[k] = list[1:]
			}
			return list[0], true
		}
	}
	if p.told.dealloc == k && !p.told.used {
		p.told.used = true
		return p.told, true
	}
	return arguments{}, false
}

// event looks at an event that the ledger has made; b is the block that a Free ends.
func (p *pairs) event(e *event.Event, b *event.Block) {
	switch e.Kind {
	case event.Alloc:
		if e.Align != 0 && (e.Func.Family() > event.FamilyC || e.Func == event.AlignedAlloc) {
			if p.aligns == nil {
				p.aligns = make(map[uint64]uint64)
			}
			p.aligns[e.Addr] = e.Align
		}
	case event.Free:
		p.ended(e, b)
	case event.Unmatched, event.Inherited, event.Unrecorded:
		p.toldTo(e) // there is nothing to compare it with
	}
}

func (p *pairs) ended(e *event.Event, b *event.Block) {
	m := event.MismatchOf(b.Func, e.Func)
	align := p.aligns[b.Addr]
	if align != 0 {
		delete(p.aligns, b.Addr)
	}
	told, known := p.toldTo(e)
	if !known {
		if told = (arguments{whole: true, size: b.Size}); m == 0 && tells(e.Func) {
			p.unknown++
		}
	}
	size := told.sizeFor(b.Size)
	if m == 0 && e.Func.Sized() && size != b.Size {
		m = event.MismatchSize
	}
	if m == 0 && told.aligned && align != 0 && align != told.align {
		m = event.MismatchAlignment
	}
	if m == 0 {
		return
	}
	p.add(&event.Pair{
		Mismatch: m, Alloc: b.Func, Free: e.Func, Stack: e.Stack, FreeStack: e.FreeStack, Time: e.Time, Thread: e.Thread, Size: b.Size,
		FreeSize: size, Align: align, FreeAlign: told.align,
	})
}

// add counts one pair.
func (p *pairs) add(x *event.Pair) {
	if !x.Free.Sized() {
		x.FreeSize = 0
	}
	k := pairKey{x.Alloc, x.Free, x.Stack, x.FreeStack}
	if q := p.found[k]; q != nil {
		q.Count++
		q.Mismatch |= x.Mismatch
		return
	}
	if len(p.found) >= maxPairs {
		if p.rest.Count == 0 {
			p.rest = *x
			p.rest.Stack, p.rest.FreeStack = 0, 0
		}
		p.rest.Count++
		return
	}
	if p.found == nil {
		p.found = make(map[pairKey]*event.Pair)
	}
	one := *x
	one.Count = 1
	p.found[k] = &one
}

// list returns the pairs, in the order in which they were found.
func (p *pairs) list() []event.Pair {
	list := make([]event.Pair, 0, len(p.found)+1)
	for _, q := range p.found {
		list = append(list, *q)
	}
	slices.SortFunc(list, func(a, b event.Pair) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Stack, b.Stack), cmp.Compare(a.FreeStack, b.FreeStack), cmp.Compare(a.Free, b.Free))
	})
	if p.rest.Count > 0 {
		list = append(list, p.rest)
	}
	return list
}
