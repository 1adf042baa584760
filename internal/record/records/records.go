// Package records says what the agent's records mean in the ledger's terms: the kinds of records, and the extra records
// that come before a record and belong to it.
//
// The rule: what is of a kind that this heaptap does not know is skipped, since newer agents may write more.
package records

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/wire"
)

// Meaning is what a kind of record says.
type Meaning struct {
	Op      ledger.OpKind
	Func    event.Func
	Stacked bool // its stack is the deallocation's own
	Slack   bool // slack says how much is usable
	Known   bool
	Pool    bool          // of a pool
	Row     event.RowKind // its row's, mostly; RowOther: it always goes to the ledger as an op
}

// Meanings is the meaning of each kind.
var Meanings = makeMeanings()

// Brief is what is needed of a Meaning for a row.
type Brief struct {
	Kind event.RowKind
	Func event.Func
}

// Briefs is an extract of Meanings: so small that it stays in the first-level cache.
var Briefs = func() (list [256]Brief) {
	for k := range Meanings {
		list[k] = Brief{Meanings[k].Row, Meanings[k].Func}
	}
	return list
}()

func makeMeanings() (m [256]Meaning) {
	for k := range m {
		m[k].Row = event.RowOther
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
		m[k] = Meaning{Op: ledger.OpAlloc, Func: f, Slack: true, Known: true, Row: event.RowAlloc}
	}
	result := Meaning{Op: ledger.OpReallocResult, Func: event.ReallocFunc, Slack: true, Known: true}
	result.Row = event.RowOther
	m[wire.KRealloc] = result
	result.Func = event.Reallocarray
	m[wire.KReallocarray] = result
	maps := map[uint8]event.Func{
		wire.KMmap: event.Mmap, wire.KMunmap: event.Munmap, wire.KMremap: event.Mremap, wire.KBrk: event.Brk,
	}
	for k, f := range maps {
		m[k] = Meaning{Op: ledger.OpMap, Func: f, Known: true, Row: event.RowOther}
	}
	frees := map[uint8]event.Func{
		wire.KFree: event.FreeFunc, wire.KCfree: event.Cfree, wire.KFreeSized: event.FreeSized,
		wire.KFreeAlignedSized: event.FreeAlignedSized, wire.KDelete: event.Delete,
		wire.KDeleteArray: event.DeleteArray,
		wire.KDeleteSized: event.DeleteSized, wire.KDeleteArraySized: event.DeleteArraySized,
		wire.KDeleteNothrow: event.DeleteNothrow, wire.KDeleteArrayNothrow: event.DeleteArrayNothrow,
		wire.KDeleteAligned: event.DeleteAligned, wire.KDeleteArrayAligned: event.DeleteArrayAligned,
		wire.KDeleteSizedAligned:        event.DeleteSizedAligned,
		wire.KDeleteArraySizedAligned:   event.DeleteArraySizedAligned,
		wire.KDeleteAlignedNothrow:      event.DeleteAlignedNothrow,
		wire.KDeleteArrayAlignedNothrow: event.DeleteArrayAlignedNothrow,
	}
	for k, f := range frees {
		m[k] = Meaning{Op: ledger.OpFree, Func: f, Known: true, Row: event.RowFree}
		m[wire.KStacked|k&31] = Meaning{Op: ledger.OpFree, Func: f, Stacked: true, Known: true, Row: event.RowOther}
	}
	pools := map[uint8]Meaning{
		wire.KPoolAlloc:     {Op: ledger.OpAlloc, Func: event.PoolAlloc},
		wire.KPoolMove:      {Op: ledger.OpReallocResult, Func: event.PoolMove},
		wire.KPoolFree:      {Op: ledger.OpFree, Func: event.PoolFree},
		wire.KPoolMoveBegin: {Op: ledger.OpReallocBegin, Func: event.PoolMove},
		wire.KPoolBacking:   {Op: ledger.OpBacking, Func: event.PoolBacking},
		wire.KPoolClear:     {Op: ledger.OpPoolClear, Func: event.PoolClear},
		wire.KPoolDestroy:   {Op: ledger.OpPoolDestroy, Func: event.PoolDestroy},
	}
	for k, v := range pools {
		v.Known, v.Pool, v.Row = true, true, event.RowOther
		m[k] = v
		if k>>wire.ClassShift == wire.ClassShort {
			v.Stacked = true
			m[wire.KStacked|k&31] = v
		}
	}
	begin := Meaning{Op: ledger.OpReallocBegin, Func: event.ReallocFunc, Known: true, Row: event.RowOther}
	m[wire.KReallocBegin] = begin
	begin.Stacked = true
	m[wire.KStacked|wire.KReallocBegin&31] = begin
	return m
}

// Extras are the values that came before a record and belong to it.
type Extras struct {
	have                                        uint16 // bit per kind
	Size, Usable, Align, Count, OldAddr, OldLen uint64
	Sampling, Pool                              uint64
	ids                                         [event.RegionIDs]uint64 // of a note
	noted                                       uint8                   // how many of them; Count may be anything
}

// Add takes one extra record.
func (x *Extras) Add(kind uint8, value uint64) {
	switch kind {
	case wire.XSize:
		x.Size = value
	case wire.XUsable:
		x.Usable = value
	case wire.XAlign:
		x.Align = value
	case wire.XCount:
		x.Count = value
	case wire.XOld:
		x.OldAddr = value
	case wire.XOldSize:
		x.OldLen = value
	case wire.XID:
		if int(x.noted) < len(x.ids) {
			x.ids[x.noted] = value
			x.noted++
		}
	case wire.XSampled:
		x.Sampling = value
	case wire.XPool:
		x.Pool = value
	default:
		return // of a newer agent: what it extends is still understood
	}
	x.have |= 1 << (kind & 15)
}

// None says whether nothing came before the record.
func (x *Extras) None() bool { return x.have == 0 }

// Only says whether an extra record of that kind is all that came before the record.
func (x *Extras) Only(kind uint8) bool { return x.have == 1<<(kind&15) }

// IDs are the ids of a note.
func (x *Extras) IDs() []uint64 { return x.ids[:x.noted] }

// Has says whether an extra record of that kind came before the record.
func (x *Extras) Has(kind uint8) bool { return x.have&(1<<(kind&15)) != 0 }

// Apply completes an op by what came before its record.
func (x *Extras) Apply(op *ledger.Op, size uint32, slack uint8) {
	if x.Has(wire.XSize) && size == wire.SizeExtra {
		if op.HasUsable && slack != wire.SlackExtra {
			op.Usable = x.Size + uint64(slack)
		}
		op.Size = x.Size
	}
	if x.Has(wire.XUsable) && slack == wire.SlackExtra {
		op.HasUsable, op.Usable = true, x.Usable
	}
	op.Sampled = x.Has(wire.XSampled)
	op.Align, op.Count, op.OldAddr, op.OldSize, op.Pool = x.Align, x.Count, x.OldAddr, x.OldLen, x.Pool
}
