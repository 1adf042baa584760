package ledger

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// TestTiesOfPrograms runs programs on a clock so coarse that several threads' ops share a tick, and sorts them as the
// recorder does, by time and stream: within a tick the order is lost. Whatever the ledger makes of it, no deallocation
// may be unmatched, no block unseen, and the same addresses must be live at the end. An address passes from one thread
// to another once a tick at most, after one op: more would take a tick longer than a cache line's way between cores.
func TestTiesOfPrograms(t *testing.T) {
	t.Parallel()
	var ties uint64
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 8))
		var ops []*Op
		var reuse []uint64
		live := map[uint64]bool{}
		var now int64
		inTick := 0
		tick := map[uint64][]uint32{} // streams of this tick's ops, by address
		for range 300 {
			if inTick++; inTick > 5 || rng.IntN(3) == 0 {
				now++
				inTick = 1
				clear(tick)
			}
			op := &Op{Time: now, Stream: uint32(rng.IntN(4)), Size: 1}
			op.Thread = op.Stream
			if addrs := slices.Sorted(keys(live)); len(addrs) > 3 || len(addrs) > 0 && rng.IntN(2) == 0 {
				op.Kind, op.Addr, op.Func = OpFree, addrs[rng.IntN(len(addrs))], event.FreeFunc
				delete(live, op.Addr)
				reuse = append(reuse, op.Addr)
			} else {
				op.Kind, op.Addr = OpAlloc, uint64(16*(1+len(ops)))
				if n := len(reuse); n > 0 {
					op.Addr, reuse = reuse[n-1], reuse[:n-1]
				}
				live[op.Addr] = true
			}
			other := func(s uint32) bool { return s != op.Stream }
			if s := tick[op.Addr]; len(s) > 1 && slices.ContainsFunc(s[1:], other) {
				now++
				op.Time, inTick = now, 1
				clear(tick)
			}
			tick[op.Addr] = append(tick[op.Addr], op.Stream)
			ops = append(ops, op)
		}
		slices.SortStableFunc(ops, func(a, b *Op) int {
			return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Stream, b.Stream))
		})
		l := New(seed&1 == 0)
		c := &checker{at: make(map[uint64]uint64), order: make(map[[2]uint64]uint64)}
		for i, op := range ops {
			op.Align, op.FreeStack = uint64(i+1), uint32(i+1)
			l.Add(op, c.emit)
		}
		l.FinishTo(c.emit)
		n := l.Counts()
		ties += n.Ties
		if n.Unmatched+n.Unseen+n.Inherited+n.Inversions > 0 || c.problem != "" {
			t.Fatalf("program %d: counts %+v, %s", seed, n, c.problem)
		}
		for addr := range live {
			if _, ok := c.at[addr]; !ok {
				t.Errorf("program %d: address %#x ought to be live", seed, addr)
			}
		}
		if len(c.at) != len(live) {
			t.Errorf("program %d: %d blocks live, want %d", seed, len(c.at), len(live))
		}
	}
	if ties < 1000 {
		t.Errorf("only %d ties were put right: this test tests nothing", ties)
	}
}

func keys(m map[uint64]bool) func(func(uint64) bool) {
	return func(yield func(uint64) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
