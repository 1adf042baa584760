// Package pairs finds allocations and deallocations that do not belong together: new and free, a size that is not the
// block's.
//
// The rule: a deallocation is judged by the size and the alignment that it was called with itself. The ledger may
// settle it later than others, so what it was called with waits until its event comes.
package pairs

import (
	"cmp"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/records"
	"github.com/heaptap/heaptap/internal/wire"
)

// maxPairs bounds how many different pairs are counted one by one; a program with more has them in a few places of its
// code that are called from everywhere.
const maxPairs = 1 << 14

// Checker finds the pairs of one process.
type Checker struct {
	found map[pairKey]*event.Pair
	rest  event.Pair // beyond maxPairs
	// Alignments of live blocks whose deallocation has to name it, by address.
	aligns map[uint64]uint64
	latest call // the deallocation that the ledger was given last
	// Deallocations that the ledger has not settled yet, in their order.
	waiting map[dealloc][]call
	waits   int // in all
	// Unknown counts deallocations of which only the function could be judged: what they were called with is not known.
	Unknown uint64
}

// dealloc is by what deallocations that wait are found; those that are the same in all this keep their order.
type dealloc struct {
	addr   uint64
	thread uint32
	fn     event.Func
}

// maxWaits bounds what is remembered of deallocations that wait. The ledger settles the oldest beyond some 65,000
// operations.
const maxWaits = 1 << 17

type pairKey struct {
	alloc, free      event.Func
	stack, freeStack uint32
}

// call is a deallocation, and what it was called with.
type call struct {
	dealloc
	used  bool  // its deallocation has been judged, or waits
	low   uint8 // lowest byte of the size
	whole bool  // size is known
	size  uint64
	// align is known if aligned.
	aligned bool
	align   uint64
}

// sizeFor is the size with which a block was deallocated: where it is not known as a whole, it is near the block's.
func (a *call) sizeFor(block uint64) uint64 {
	if a.whole {
		return a.size
	}
	return block + uint64(int64(int8(a.low-uint8(block))))
}

// Arguments are what came before the record of a row.
type Arguments struct {
	Row    int // in the batch
	Extras *records.Extras
}

// Settle takes what the ledger has made of a batch. args are those of the batch's deallocations, in order. A plain
// deallocation fits its allocation: the ledger has looked.
func (c *Checker) Settle(b *event.Batch, args []Arguments) {
	full := b.Full
	done := 0
	for _, o := range b.Others {
		r := &b.Rows[o.Row]
		if !r.Func.Frees() {
			c.events(full[done:o.End])
			done = o.End
			continue
		}
		c.expect(r)
		if len(args) > 0 && args[0].Row == o.Row {
			x := args[0].Extras
			c.latest.whole, c.latest.size = x.Has(wire.XSize), x.Size
			c.latest.aligned, c.latest.align = x.Has(wire.XAlign), x.Align
			args = args[1:]
		}
		c.events(full[done:o.End])
		done = o.End
		c.keep()
	}
	c.events(full[done:])
}

// expect takes a deallocation that the ledger was given. Its row has the lowest byte of the size in Ref.
func (c *Checker) expect(r *event.Row) {
	c.latest = call{dealloc: dealloc{r.Addr, r.Thread, r.Func}, low: uint8(r.Ref)}
}

// keep remembers the deallocation that the ledger was given, if that has to wait.
func (c *Checker) keep() {
	if c.latest.used {
		return
	}
	c.latest.used = true
	if !hasArguments(c.latest.fn) || c.waits >= maxWaits {
		return
	}
	if c.waiting == nil {
		c.waiting = make(map[dealloc][]call)
	}
	c.waiting[c.latest.dealloc] = append(c.waiting[c.latest.dealloc], c.latest)
	c.waits++
}

// hasArguments says whether a deallocation function is called with more than an address.
func hasArguments(fn event.Func) bool {
	return fn.Sized() || fn.Family() == event.FamilyNewAligned || fn.Family() == event.FamilyArrayAligned
}

// take returns the deallocation of an event; false if what it was called with is not known.
func (c *Checker) take(e *event.Event) (call, bool) {
	k := dealloc{e.Addr, e.Thread, e.Func}
	if c.waits > 0 {
		if list := c.waiting[k]; len(list) > 0 {
			if c.waits--; len(list) == 1 {
				delete(c.waiting, k)
			} else {
				c.waiting[k] = list[1:]
			}
			return list[0], true
		}
	}
	if c.latest.dealloc == k && !c.latest.used {
		c.latest.used = true
		return c.latest, true
	}
	return call{}, false
}

// events takes events that the ledger has made.
func (c *Checker) events(list []event.Full) {
	for i := range list {
		c.event(&list[i])
	}
}

func (c *Checker) event(e *event.Full) {
	switch e.Kind {
	case event.Alloc:
		if e.Align != 0 && (e.Func.Family() > event.FamilyC || e.Func == event.AlignedAlloc) {
			if c.aligns == nil {
				c.aligns = make(map[uint64]uint64)
			}
			c.aligns[e.Addr] = e.Align
		}
	case event.Free:
		c.End(e)
	case event.Unmatched, event.Inherited, event.Unrecorded:
		c.take(&e.Event) // there is nothing to compare it with
	}
}

// End judges a deallocation.
func (c *Checker) End(e *event.Full) {
	m := event.MismatchOf(e.Ended, e.Func)
	align := c.aligns[e.Addr]
	if align != 0 {
		delete(c.aligns, e.Addr)
	}
	with, known := c.take(&e.Event)
	if !known {
		if with = (call{whole: true, size: e.Size}); m == 0 && hasArguments(e.Func) {
			c.Unknown++
		}
	}
	size := with.sizeFor(e.Size)
	if m == 0 && e.Func.Sized() && size != e.Size {
		m = event.MismatchSize
	}
	if m == 0 && with.aligned && align != 0 && align != with.align {
		m = event.MismatchAlignment
	}
	if m == 0 {
		return
	}
	c.add(&event.Pair{
		Mismatch: m, Alloc: e.Ended, Free: e.Func, Stack: e.Stack, FreeStack: e.FreeStack,
		Time: e.Time, Thread: e.Thread, Size: e.Size,
		FreeSize: size, Align: align, FreeAlign: with.align,
	})
}

// add counts one pair.
func (c *Checker) add(x *event.Pair) {
	if !x.Free.Sized() {
		x.FreeSize = 0
	}
	k := pairKey{x.Alloc, x.Free, x.Stack, x.FreeStack}
	if q := c.found[k]; q != nil {
		q.Count++
		q.Mismatch |= x.Mismatch
		return
	}
	if len(c.found) >= maxPairs {
		if c.rest.Count == 0 {
			c.rest = *x
			c.rest.Stack, c.rest.FreeStack = 0, 0
		}
		c.rest.Count++
		return
	}
	if c.found == nil {
		c.found = make(map[pairKey]*event.Pair)
	}
	one := *x
	one.Count = 1
	c.found[k] = &one
}

// List returns the pairs, in the order in which they were found.
func (c *Checker) List() []event.Pair {
	list := make([]event.Pair, 0, len(c.found)+1)
	for _, q := range c.found {
		list = append(list, *q)
	}
	slices.SortFunc(list, func(a, b event.Pair) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Stack, b.Stack),
			cmp.Compare(a.FreeStack, b.FreeStack), cmp.Compare(a.Free, b.Free))
	})
	if c.rest.Count > 0 {
		list = append(list, c.rest)
	}
	return list
}
