package ledger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// plainOf is an op as Plain takes it; what Plain never takes is NotPlain.
func plainOf(op *Op) event.Plain {
	p := event.Plain{
		Time: uint64(op.Time), Addr: op.key(), Size: op.Size, Stack: op.Stack, Thread: op.Thread, Func: op.Func,
		Way: event.NotPlain,
	}
	switch {
	case op.Late:
	case op.Kind == OpAlloc:
		p.Way = event.PlainAlloc
	case op.Kind == OpFree:
		p.Way = event.PlainFree
	}
	return p
}

// allPlain gives ops to a ledger by Plain, so many at once at most, and by Add those that it declines. It returns what
// comes of them, and how many Plain has taken.
func allPlain(ops []*Op, forked bool, most int) (events []event.Event, l *Ledger, taken int) {
	l = New(forked)
	l.Skew = 12
	emit := func(e *Event) { events = append(events, e.Event) }
	for at := 0; at < len(ops); {
		if ops[at] == nil {
			l.Barrier(emit)
			at++
			continue
		}
		var list []event.Plain
		for k := at; k < len(ops) && ops[k] != nil && k < at+most; k++ {
			list = append(list, plainOf(ops[k]))
		}
		l.Fetch(list)
		n := l.Plain(list)
		for i := range list[:n] {
			p := &list[i]
			e := event.Event{
				Kind: event.Alloc, Time: int64(p.Time), Func: p.Func, Thread: p.Thread, Stack: p.Stack, Addr: p.Addr,
				Size: p.Size, Ref: event.NoRef,
			}
			if p.Way != event.PlainAlloc {
				e.Kind, e.Ref, e.Born, e.BornBy = event.Free, p.Ref, int64(p.Born), p.BornBy
			}
			if p.Way == event.PlainTemporary {
				e.Flags = event.Temporary
			}
			events = append(events, e)
		}
		taken += n
		if at += n; n == 0 || n < len(list) {
			l.Add(ops[at], emit)
			at++
		}
	}
	l.Finish(emit)
	return events, l, taken
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
		op.Stack, op.Size = rng.Uint32N(9), rng.Uint64N(300)
		op.Thread = op.Stream
		if live[addr] {
			op.Kind, op.Func, op.Stack, op.Size = OpFree, event.Delete, 0, 0
		}
		live[addr] = !live[addr]
		switch rng.IntN(60) {
		case 0:
			op.Kind, op.Func = OpAlloc, event.Malloc
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
		case 7, 8, 9, 10:
			op = nil
		}
		ops = append(ops, op)
	}
	return ops
}

// TestShortWay: the same comes of ops whether they go by Plain, one by one or many at once, or by Add.
func TestShortWay(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	all, taken, exchanged := 0, 0, uint64(0)
	for n := range 1000 {
		ops := mostlyPlain(rng)
		want, one, _ := allPlain(ops, n&1 == 0, 0)
		exchanged += one.Counts().Exchanges
		for _, most := range []int{1, 7, 300} {
			got, other, k := allPlain(ops, n&1 == 0, most)
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
