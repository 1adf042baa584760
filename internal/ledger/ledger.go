package ledger

import (
	"iter"

	"github.com/heaptap/heaptap/internal/event"
)

// Ledger matches deallocations to allocations. It is used by one goroutine at a time.
type Ledger struct {
	// Skew is by how much a clock may have been read too early, in the unit of the ops' times. A processor reads it as
	// soon as it comes to the instruction, even if it still waits for the pointer that is to be freed, or for the
	// allocator's lock.
	Skew int64
	// Partial says that allocations may have gone unrecorded. Then a deallocation that ends nothing is Unrecorded, and
	// neither Unmatched nor Inherited.
	Partial bool

	live    *table
	allocs  uint64 // number of the next allocation
	seen    int64  // latest time of an op
	written int64  // latest time of an event
	latest  latest
	streams streams
	known   *addresses // addresses this ledger has seen; only in a forked child
	waits   waits
	recent  recentFrees
	pools   pools
	counts  Counts
	settled []event.Full // in the batch under way
	op      Op           // see Settle
	freed   Op           // see by
	ending  Block        // the block that was ended last
	fetched uint64       // see fetch
}

// Counts says what was out of the ordinary. All zero is the normal case.
type Counts struct {
	Unmatched  uint64 // deallocations of addresses that were not live
	Inherited  uint64 // deallocations of blocks that the parent had made before the fork
	Unrecorded uint64 // deallocations that ended nothing, of a process that is Partial
	Unseen     uint64 // blocks whose deallocation was not recorded: their address was given out again
	Inversions uint64 // pairs of ops put right against their timestamps
	Ties       uint64 // pairs of ops put right that had the same timestamp, or of which one came late
	Exchanges  uint64 // of the ties, deallocations that were given each other's blocks
	Late       uint64 // events whose time was corrected
	Overflows  uint64 // ops settled early because too many were waiting
	Reallocs   uint64 // begins forgotten because a stream had too many without a result
}

// New returns a ledger of no blocks. A forked one belongs to a child that was forked without exec and so started with
// its parent's blocks.
func New(forked bool) *Ledger {
	l := &Ledger{live: newTable()}
	if forked {
		l.known = newAddresses()
	}
	l.waits.byAddr = make(map[uint64]*conflict)
	return l
}

// add takes the next op, of whatever kind.
func (l *Ledger) add(op *Op) {
	if op.Time > l.seen {
		l.seen = op.Time
		if len(l.waits.expiring) > 0 {
			l.settleExpired(op.Time)
		}
	} else if len(l.waits.expiring) > maxWaiting {
		l.settleExpired(1 << 62)
	}
	addr := op.key()
	switch op.Kind {
	case OpAlloc:
		l.alloc(op, addr, 0)
	case OpFree:
		if addr == 0 || op.Pool != 0 && l.returns(op) {
			return
		}
		if l.waits.ops > 0 && l.join(op, addr, 0) {
			return
		}
		g, i, ok := l.live.find(addr)
		if !ok || l.markedByOther(op, g, i) {
			l.conflict(op, addr, 0)
			return
		}
		l.end(op, g, i, 0)
	case OpReallocBegin:
		l.reallocBegin(op, addr)
	case OpReallocResult:
		l.reallocResult(op, addr)
	case OpMap:
		l.mapped(op)
	case OpBacking:
		l.back(op)
	case OpPoolClear, OpPoolDestroy:
		l.clearPool(op, op.Kind == OpPoolDestroy)
	}
}

// Live returns the number of live blocks and their requested bytes.
func (l *Ledger) Live() (blocks, bytes uint64) { return l.live.count - l.pools.silent, l.live.bytes }

// Settled says whether the events so far are all that the ledger knows. Then another ledger with the same live blocks
// goes on as this one does, if it is given again the begins of reallocs whose results have not come. The only
// difference is that it does not know the latest deallocations, with which later ones might be exchanged.
func (l *Ledger) Settled() bool {
	if l.waits.ops > 0 {
		return false
	}
	for _, b := range l.streams.open {
		if b.fate == movedAway {
			return false // the block at its address is another one now
		}
	}
	return true
}

// Waiting returns the number of ops that wait to be settled.
func (l *Ledger) Waiting() int { return l.waits.ops }

// Counts returns what was out of the ordinary so far.
func (l *Ledger) Counts() Counts { return l.counts }

// Blocks returns the live blocks, in no particular order. The ledger must not be used meanwhile.
func (l *Ledger) Blocks() iter.Seq[Block] {
	return func(yield func(Block) bool) {
		for k := range l.live.segs {
			g := &l.live.segs[k]
			for i := range g.slots {
				if g.slots[i].key == 0 || g.slots[i].ref&silent != 0 {
					continue
				}
				var b Block
				l.live.get(g, i, &b)
				if b.Addr = plainAddr(b.Addr, b.Func.InPool()); !yield(b) {
					return
				}
			}
		}
	}
}

// Close forgets the live blocks and gives their memory, which is not in Go's heap, back to the system.
func (l *Ledger) Close() { l.live.release() }

func (l *Ledger) alloc(op *Op, addr uint64, flags event.Flags) {
	if addr == 0 {
		if op.Size > 0 {
			l.fail(op)
		}
		return
	}
	if l.waits.ops > 0 && l.join(op, addr, flags) {
		return
	}
	g, i, ok := l.live.find(addr)
	if ok {
		if p := &g.slots[i]; p.ref&inRealloc == 0 || precedes(op, l.streams.of(p), l.Skew) {
			l.conflict(op, addr, flags)
			return
		}
		l.moved(op, g, i)
		g, i, _ = l.live.find(addr)
	}
	l.born(op, addr, g, i, flags)
}

// time returns the time at which an op's event is written, and Late if it is not the op's own.
func (l *Ledger) time(op *Op) (int64, event.Flags) {
	if op.Time >= l.written && !op.Late {
		l.written = op.Time
		return op.Time, 0
	}
	l.counts.Late++
	l.written = max(l.written, op.Time)
	return l.written, event.Late
}

// next is the place of the next event, which op has settled. It is filled field by field: a composite literal is built
// elsewhere and copied, which costs more than everything else.
func (l *Ledger) next(op *Op, kind event.Kind, now int64) *event.Full {
	n := len(l.settled)
	if n == cap(l.settled) {
		more := make([]event.Full, n, max(2*n, 64)) // append would take more: there may be millions
		copy(more, l.settled)
		l.settled = more
	}
	l.settled = l.settled[:n+1]
	e := &l.settled[n]
	*e = event.Full{}
	e.Allocs, e.Region = l.allocs, op.Region
	e.Kind, e.Time, e.Func, e.Thread = kind, now, op.Func, op.Thread
	return e
}

// born writes a new block into the empty place (g, i).
func (l *Ledger) born(op *Op, addr uint64, g *segment, i int, flags event.Flags) {
	if op.Serves != 0 && op.Pool == 0 {
		l.silence(op, addr)
		l.attach(&backing{addr: addr, size: op.Size, of: op.Serves, parent: heapParent})
		return
	}
	now, late := l.time(op)
	flags |= late
	if op.HasUsable {
		flags |= event.HasUsable
	}
	if op.Sampled {
		flags |= event.Sampled
	}
	ref := l.allocs
	l.allocs++
	l.live.set(g, i, addr, op, ref, now)
	if l.known != nil {
		l.known.add(addr)
	}
	if op.Pool != 0 {
		l.given(op.Pool, addr, ref)
	}
	l.latest.set(op.Thread, ref)
	e := l.next(op, event.Alloc, now)
	e.Allocs = ref
	e.Ref = event.NoRef
	e.Stack = op.Stack
	e.Flags = flags
	e.Addr = plainAddr(addr, op.Pool != 0)
	e.Size = op.Size
	e.Usable = op.Usable
	e.Align = op.Align
	e.Count = op.Count
}

// end ends the block at (g, i), for op.
func (l *Ledger) end(op *Op, g *segment, i int, flags event.Flags) {
	b := &l.ending
	quiet := g.slots[i].ref&silent != 0
	l.live.get(g, i, b)
	l.live.remove(g, i, b)
	if op.Func != event.FuncUnknown {
		l.recent.add(b.Addr, op.Time, op.Thread)
	}
	if quiet {
		l.returned(op, b.Addr)
		return
	}
	b.Addr = plainAddr(b.Addr, b.Func.InPool())
	l.ended(op, b, flags)
}

// ended writes that op ended block b, which is no longer in the table.
func (l *Ledger) ended(op *Op, b *Block, flags event.Flags) {
	now, late := l.time(op)
	if b.Sampled {
		flags |= event.Sampled // and nobody knows whether it was temporary
	} else if flags&event.Realloc == 0 && l.latest.is(op.Thread, b.Ref) &&
		op.Func != event.FuncUnknown && op.Func != event.PoolBacking {
		flags |= event.Temporary
	}
	e := l.next(op, event.Free, now)
	e.Ended = b.Func
	e.Stack = b.Stack
	e.FreeStack = op.FreeStack
	e.Flags = flags | late
	e.Ref = b.Ref
	e.Addr = b.Addr
	e.Size = b.Size
	e.Born = b.Born
	e.BornBy = b.Thread
}

func (l *Ledger) fail(op *Op) {
	now, late := l.time(op)
	e := l.next(op, event.Fail, now)
	e.Stack, e.Flags, e.Ref, e.Size, e.Align, e.Count = op.Stack, late, event.NoRef, op.Size, op.Align, op.Count
}

// unknown writes that op ended no block of this ledger.
func (l *Ledger) unknown(op *Op, addr uint64, kind event.Kind, flags event.Flags) {
	now, late := l.written, event.Flags(0)
	if !l.Partial || op.Time >= l.written {
		now, late = l.time(op)
	}
	switch {
	case l.Partial: // there are many, all have waited, and nobody needs their exact times
		kind = event.Unrecorded
		l.counts.Unrecorded++
	case kind == event.Inherited:
		l.counts.Inherited++
	default:
		l.counts.Unmatched++
	}
	e := l.next(op, kind, now)
	e.FreeStack, e.Flags, e.Ref, e.Addr = op.FreeStack, flags|late, event.NoRef, plainAddr(addr, op.Pool != 0)
}

func (l *Ledger) mapped(op *Op) {
	now, late := l.time(op)
	e := l.next(op, event.Map, now)
	e.Stack, e.Flags, e.Ref, e.Addr, e.Size = op.Stack, late, event.NoRef, op.Addr, op.Size
	e.OldAddr, e.OldSize = op.OldAddr, op.OldSize
}

// latest remembers the number of each thread's latest allocation.
type latest struct {
	dense []uint64 // number + 1 by thread; 0: none
	far   map[uint32]uint64
}

const denseThreads = 1 << 16

func (t *latest) set(thread uint32, ref uint64) {
	if thread < denseThreads {
		t.reach(thread)[thread] = ref + 1
		return
	}
	if t.far == nil {
		t.far = make(map[uint32]uint64)
	}
	t.far[thread] = ref + 1
}

// reach returns dense with a place for a thread, one of denseThreads.
func (t *latest) reach(thread uint32) []uint64 {
	if n := int(thread) + 1 - len(t.dense); n > 0 {
		t.dense = append(t.dense, make([]uint64, n)...)
	}
	return t.dense
}

func (t *latest) is(thread uint32, ref uint64) bool {
	if thread < denseThreads {
		return t.reach(thread)[thread] == ref+1
	}
	return t.far != nil && t.far[thread] == ref+1
}
