package ledger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// rowOf is the row that an op gets; one of kind RowOther says nothing of it.
func rowOf(op *Op) event.Row {
	r := event.Row{
		Time: uint64(op.Time), Addr: op.key(), Size: op.Size, Stack: op.Stack, Thread: op.Thread, Func: op.Func,
		BornBy: op.Stream, Kind: event.RowOther,
	}
	switch {
	case op.Late:
	case op.Kind == OpAlloc:
		r.Kind = event.RowAlloc
		if op.HasUsable {
			r.Ref = op.Usable - op.Size
		}
	case op.Kind == OpFree:
		r.Kind = event.RowFree
	}
	return r
}

// settleAll gives ops to a ledger in batches of at most so many; most is 0: one by one, none of them as a row. It
// returns what comes of them, and how many were settled as plain rows.
func settleAll(
	t *testing.T, ops []*Op, forked bool, most int,
) (events []event.Event, l *Ledger, plain int) {
	t.Helper()
	l = New(forked)
	l.Skew = 12
	allocs := uint64(0)
	count := func(e event.Event) {
		events = append(events, e)
		if e.Kind == event.Alloc {
			allocs++
		}
	}
	emit := func(e *Event) { count(e.Event) }
	for at := 0; at < len(ops); {
		if ops[at] == nil {
			l.BarrierTo(emit)
			at++
			continue
		}
		var b Batch
		for n := 0; at < len(ops) && ops[at] != nil && n < max(most, 1); n++ {
			r := rowOf(ops[at])
			if most == 0 {
				r.Kind = event.RowOther
			}
			if b.Rows = append(b.Rows, r); r.Kind == event.RowOther {
				b.Ops = append(b.Ops, *ops[at])
			}
			at++
		}
		l.Settle(&b)
		plain += int(b.Plain)
		for rows, full := range b.Parts() {
			for i := range rows {
				count(eventOf(&rows[i]))
			}
			for i := range full {
				if full[i].Allocs != allocs {
					t.Fatalf("%d allocations before an event, not %d", allocs, full[i].Allocs)
				}
				count(full[i].Event)
			}
		}
	}
	l.FinishTo(emit)
	return events, l, plain
}

func eventOf(r *event.Row) event.Event {
	e := event.Event{
		Kind: event.Alloc, Time: int64(r.Time), Func: r.Func, Thread: r.Thread, Stack: r.Stack, Addr: r.Addr,
		Size: r.Size, Ref: event.NoRef,
	}
	if r.Kind == event.RowAlloc {
		e.Flags, e.Usable, e.Count = event.HasUsable, r.Size+r.Slack(), r.Count()
		return e
	}
	e.Kind, e.Ref, e.Born, e.BornBy = event.Free, r.Ref, int64(r.Born), r.BornBy
	if r.Kind == event.RowTemporary {
		e.Flags = event.Temporary
	}
	return e
}

// mostlyPlain makes ops of which few are not plain: some contradict, come late or belong to reallocs, or are barriers
// (nil).
func mostlyPlain(rng *rand.Rand) (ops []*Op) {
	live := map[uint64]bool{}
	now := int64(0)
	for range rng.IntN(600) {
		now += rng.Int64N(4)
		addr := uint64(1+rng.IntN(60)) * 16
		op := &Op{Time: now, Stream: rng.Uint32N(3), Addr: addr, Kind: OpAlloc, Func: event.New}
		op.Stack, op.Size, op.HasUsable = rng.Uint32N(9), rng.Uint64N(300), true
		op.Usable = op.Size + rng.Uint64N(9)
		op.Thread = op.Stream
		if live[addr] {
			op.Kind, op.Func, op.Stack, op.Size, op.HasUsable, op.Usable = OpFree, event.Delete, 0, 0, false, 0
		}
		live[addr] = !live[addr]
		switch rng.IntN(60) {
		case 0:
			op.Kind, op.Func, op.HasUsable, op.Usable = OpAlloc, event.Malloc, true, op.Size
		case 1:
			op.Kind, op.Func = OpFree, event.FreeFunc
		case 2:
			op.Kind, op.Func = OpReallocBegin, event.ReallocFunc
		case 3:
			op.Kind, op.Func = OpReallocResult, event.ReallocFunc
		case 4:
			op.Late = true
		case 5:
			op.Time -= 20
		case 6:
			op.Size = 1<<32 - rng.Uint64N(2)
			op.Usable = op.Size
		case 7, 8, 9, 10:
			op = nil
		}
		ops = append(ops, op)
	}
	return ops
}

// TestBatches: the same comes of ops whether they come as rows, one by one or many at once, or as ops.
func TestBatches(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	all, taken, exchanged := 0, 0, uint64(0)
	for n := range 1000 {
		ops := mostlyPlain(rng)
		want, one, _ := settleAll(t, ops, n&1 == 0, 0)
		exchanged += one.Counts().Exchanges
		for _, most := range []int{1, 7, 300} {
			got, other, k := settleAll(t, ops, n&1 == 0, most)
			if !slices.Equal(got, want) {
				t.Fatalf("input %d, %d at once:\n%+v\nand\n%+v", n, most, got, want)
			}
			sums := func(l *Ledger) string { return fmt.Sprint(l.Counts(), l.live.count, l.live.bytes, l.allocs) }
			if a, b := sums(one), sums(other); a != b {
				t.Fatalf("input %d, %d at once: %s and %s", n, most, b, a)
			}
			all += len(ops)
			taken += k
		}
	}
	if taken < all/8 || exchanged == 0 {
		t.Errorf("only %d of %d ops were plain, %d were exchanged", taken, all, exchanged)
	}
}
