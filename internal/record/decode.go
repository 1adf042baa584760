package record

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/wire"
)

// meaning is what a kind of record says.
type meaning struct {
	op      ledger.OpKind
	fn      event.Func
	stacked bool // its stack is the deallocation's own
	slack   bool // slack says how much is usable
	known   bool
	pool    bool      // of a pool
	plain   event.Way // what it is mostly; NotPlain: it always goes to the ledger as an op
}

// meanings is the translation of the agent's words into ours.
var meanings = makeMeanings()

// simple is of meanings what decode needs of a plain record: so little that it stays in the first cache.
var simple = func() (list [256]struct {
	way event.Way
	fn  event.Func
}) {
	for k := range meanings {
		list[k].way, list[k].fn = meanings[k].plain, meanings[k].fn
	}
	return list
}()

func makeMeanings() (m [256]meaning) {
	for k := range m {
		m[k].plain = event.NotPlain
	}
	allocs := map[uint8]event.Func{
		wire.KMalloc: event.Malloc, wire.KCalloc: event.Calloc, wire.KPosixMemalign: event.PosixMemalign,
		wire.KAlignedAlloc: event.AlignedAlloc, wire.KMemalign: event.Memalign, wire.KValloc: event.Valloc,
		wire.KPvalloc: event.Pvalloc, wire.KNew: event.New, wire.KNewArray: event.NewArray,
		wire.KNewNothrow: event.NewNothrow, wire.KNewArrayNothrow: event.NewArrayNothrow,
		wire.KNewAligned: event.NewAligned, wire.KNewArrayAligned: event.NewArrayAligned,
		wire.KNewAlignedNothrow:      event.NewAlignedNothrow,
		wire.KNewArrayAlignedNothrow: event.NewArrayAlignedNothrow,
	}
	for k, f := range allocs {
		m[k] = meaning{op: ledger.OpAlloc, fn: f, slack: true, known: true, plain: event.PlainAlloc}
	}
	m[wire.KRealloc] = meaning{op: ledger.OpReallocResult, fn: event.ReallocFunc, slack: true, known: true, plain: event.NotPlain}
	m[wire.KReallocarray] = meaning{op: ledger.OpReallocResult, fn: event.Reallocarray, slack: true, known: true, plain: event.NotPlain}
	maps := map[uint8]event.Func{
		wire.KMmap: event.Mmap, wire.KMunmap: event.Munmap, wire.KMremap: event.Mremap, wire.KBrk: event.Brk,
	}
	for k, f := range maps {
		m[k] = meaning{op: ledger.OpMap, fn: f, known: true, plain: event.NotPlain}
	}
	frees := map[uint8]event.Func{
		wire.KFree: event.FreeFunc, wire.KCfree: event.Cfree, wire.KFreeSized: event.FreeSized,
		wire.KFreeAlignedSized: event.FreeAlignedSized, wire.KDelete: event.Delete, wire.KDeleteArray: event.DeleteArray,
		wire.KDeleteSized: event.DeleteSized, wire.KDeleteArraySized: event.DeleteArraySized,
		wire.KDeleteNothrow: event.DeleteNothrow, wire.KDeleteArrayNothrow: event.DeleteArrayNothrow,
		wire.KDeleteAligned: event.DeleteAligned, wire.KDeleteArrayAligned: event.DeleteArrayAligned,
		wire.KDeleteSizedAligned: event.DeleteSizedAligned, wire.KDeleteArraySizedAligned: event.DeleteArraySizedAligned,
		wire.KDeleteAlignedNothrow:      event.DeleteAlignedNothrow,
		wire.KDeleteArrayAlignedNothrow: event.DeleteArrayAlignedNothrow,
	}
	for k, f := range frees {
		m[k] = meaning{op: ledger.OpFree, fn: f, known: true, plain: event.PlainFree}
		m[wire.KStacked|k&31] = meaning{op: ledger.OpFree, fn: f, stacked: true, known: true, plain: event.NotPlain}
	}
	pools := map[uint8]meaning{
		wire.KPoolAlloc: {op: ledger.OpAlloc, fn: event.PoolAlloc}, wire.KPoolMove: {op: ledger.OpReallocResult, fn: event.PoolMove},
		wire.KPoolFree: {op: ledger.OpFree, fn: event.PoolFree}, wire.KPoolMoveBegin: {op: ledger.OpReallocBegin, fn: event.PoolMove},
		wire.KPoolBacking: {op: ledger.OpBacking, fn: event.PoolBacking}, wire.KPoolClear: {op: ledger.OpPoolClear, fn: event.PoolClear},
		wire.KPoolDestroy: {op: ledger.OpPoolDestroy, fn: event.PoolDestroy},
	}
	for k, v := range pools {
		v.known, v.pool, v.plain = true, true, event.NotPlain
		m[k] = v
		if k>>wire.ClassShift == wire.ClassShort {
			v.stacked = true
			m[wire.KStacked|k&31] = v
		}
	}
	begin := meaning{op: ledger.OpReallocBegin, fn: event.ReallocFunc, known: true, plain: event.NotPlain}
	m[wire.KReallocBegin] = begin
	begin.stacked = true
	m[wire.KStacked|wire.KReallocBegin&31] = begin
	return m
}

// extras are the values that came before a record and belong to it.
type extras struct {
	have                                        uint16 // bit per kind
	size, usable, align, count, oldAddr, oldLen uint64
	sampling, pool                              uint64
	ids                                         [event.RegionIDs]uint64 // of a note
	noted                                       uint8                   // how many of them; count may be anything that the target says
}

func (x *extras) add(kind uint8, value uint64) {
	switch kind {
	case wire.XSize:
		x.size = value
	case wire.XUsable:
		x.usable = value
	case wire.XAlign:
		x.align = value
	case wire.XCount:
		x.count = value
	case wire.XOld:
		x.oldAddr = value
	case wire.XOldSize:
		x.oldLen = value
	case wire.XID:
		if int(x.noted) < len(x.ids) {
			x.ids[x.noted] = value
			x.noted++
		}
	case wire.XSampled:
		x.sampling = value
	case wire.XPool:
		x.pool = value
	default:
		return // of a newer agent: what it extends is still understood
	}
	x.have |= 1 << (kind & 15)
}

func (x *extras) has(kind uint8) bool { return x.have&(1<<(kind&15)) != 0 }

// apply completes an op by what came before its record.
func (x *extras) apply(op *ledger.Op, size uint32, slack uint8) {
	if x.has(wire.XSize) && size == wire.SizeExtra {
		if op.HasUsable && slack != wire.SlackExtra {
			op.Usable = x.size + uint64(slack)
		}
		op.Size = x.size
	}
	if x.has(wire.XUsable) && slack == wire.SlackExtra {
		op.HasUsable, op.Usable = true, x.usable
	}
	op.Sampled = x.has(wire.XSampled)
	op.Align, op.Count, op.OldAddr, op.OldSize, op.Pool = x.align, x.count, x.oldAddr, x.oldLen, x.pool
	*x = extras{}
}
