package ledger

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
)

// TestSkew: a clock was read a little early at the last use of an address, so that nothing later shows what happened.
func TestSkew(t *testing.T) {
	t.Parallel()
	alloc := func(now int64, thread uint32) *Op {
		return &Op{Kind: OpAlloc, Time: now, Thread: thread, Stream: thread, Addr: 64, Size: 1, Func: event.Malloc}
	}
	free := func(now int64, thread uint32) *Op {
		return &Op{Kind: OpFree, Time: now, Thread: thread, Stream: thread, Addr: 64, Func: event.FreeFunc}
	}
	for _, c := range []struct {
		what              string
		ops               []*Op
		live              uint64
		unmatched, unseen uint64
	}{
		{"a deallocation read early", []*Op{alloc(10, 1), free(20, 1), free(30, 2), alloc(35, 1)}, 0, 0, 0},
		{"the same, too early for that: freed twice, and leaked",
			[]*Op{alloc(10, 1), free(20, 1), free(30, 2), alloc(90, 1)}, 1, 1, 0},
		{"of the thread that allocates next: its own order is certain",
			[]*Op{alloc(10, 1), free(20, 1), free(30, 1), alloc(35, 1)}, 1, 1, 0},
		{"an allocation read early", []*Op{alloc(10, 1), alloc(20, 2), free(25, 1)}, 1, 0, 0},
		{"the same, too early for that: a deallocation was not recorded",
			[]*Op{alloc(10, 1), alloc(20, 2), free(85, 1)}, 0, 0, 1},
	} {
		l := New(false)
		l.Skew = 20
		none := func(*Event) {}
		for _, o := range c.ops {
			l.Add(o, none)
		}
		l.BarrierTo(none)
		l.BarrierTo(none)
		l.FinishTo(none)
		blocks, _ := l.Live()
		if n := l.Counts(); blocks != c.live || n.Unmatched != c.unmatched || n.Unseen != c.unseen {
			t.Errorf("%s: %d live, %+v", c.what, blocks, n)
		}
	}
}

// TestSkewOfStories: clocks that were read a little early, where something shows what happened.
func TestSkewOfStories(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, ops, want string
		counts          Counts
	}{
		{"a block that its thread has allocated where it had freed another, freed early", `
			1 B malloc a 1
			20 A free a
			24 B free a
			26 B malloc a 2
			99 B malloc a 3`, `
			1 B alloc a 1
			20 A free a 1 #0 born 1 by B
			26 B alloc a 2
			26 B free a 2 #1 born 26 by B temporary late
			99 B alloc a 3`, Counts{Ties: 1, Exchanges: 1, Late: 1}},
		{"the same, but that was another thread's, and the clocks less wrong", `
			1 B malloc a 1
			20 A free a
			34 B free a
			35 B malloc a 2
			36 C malloc a 3`, `
			1 B alloc a 1
			20 A free a 1 #0 born 1 by B
			36 C alloc a 3
			36 B free a 3 #1 born 36 by C late
			36 B alloc a 2 late`, Counts{Ties: 1, Late: 2}},
		{"freed twice: the first was too early to have been the second", `
			1 B malloc a 1
			20 A free a
			90 B free a
			91 B malloc a 2
			170 B free a`, `
			1 B alloc a 1
			20 A free a 1 #0 born 1 by B
			90 B unmatched a
			91 B alloc a 2
			170 B free a 2 #1 born 91 by B temporary`, Counts{Unmatched: 1}},
		{"an allocation read early", `
			10 A malloc a 1
			14 B malloc a 2
			20 B free a
			60 A malloc b 3
			99 A free a`, `
			10 A alloc a 1
			20 B free a 1 #0 born 10 by A
			20 B alloc a 2 late
			60 A alloc b 3
			99 A free a 2 #1 born 20 by B`, Counts{Ties: 1, Exchanges: 1, Late: 1}},
		{"freed after the result in place that made it", `
			1 B malloc a 1
			10 A begin a
			14 B free a
			19 A result a 2`, `
			1 B alloc a 1
			19 A free a 1 #0 born 1 by B realloc
			19 A alloc a 2 realloc inplace
			19 B free a 2 #1 born 19 by A late`, Counts{Ties: 1, Late: 1}},
		{"a whole realloc early", `
			10 A begin a
			15 A result b 2
			18 B malloc a 1
			60 A free b`, `
			18 B alloc a 1
			18 A free a 1 #0 born 18 by B realloc late
			18 A alloc b 2 realloc late
			60 A free b 2 #1 born 18 by A temporary`, Counts{Ties: 1, Late: 2}},
		{"a realloc of nobody's block", `
			10 A begin a
			15 A result b 2
			60 A free b`, `
			15 A unmatched a realloc
			15 A alloc b 2
			60 A free b 2 #0 born 15 by A temporary`, Counts{Unmatched: 1}},
		{"a deallocation and a realloc of nobody's block, long before its address is given out", `
			10 A free a
			12 A begin a
			50 B malloc a 1
			80 B free a
			90 A result b 2`, `
			10 A unmatched a
			50 B alloc a 1
			80 B free a 1 #0 born 50 by B temporary
			90 A unmatched a realloc
			90 A alloc b 2`, Counts{Unmatched: 2}},
		{"a realloc of nobody's block, the result of which waits behind others", `
			1 A malloc b 1
			2 A malloc b 2
			5 C begin a
			7 C result b 3
			finish`, `
			1 A alloc b 1
			2 A free b 1 #0 born 1 by A unseen
			2 A alloc b 2
			7 C unmatched a realloc
			7 C free b 2 #1 born 2 by A unseen
			7 C alloc b 3`, Counts{Unmatched: 1, Unseen: 2}},
		{"a begin read early, of a block that was then another one", `
			1 B malloc a 1
			10 A begin a
			12 B free a
			14 B malloc a 2
			16 A result - 9
			60 A free a`, `
			1 B alloc a 1
			12 B free a 1 #0 born 1 by B temporary
			14 B alloc a 2
			16 A fail 9
			60 A free a 2 #1 born 14 by B`, Counts{}},
		{"the same, which the realloc ends", `
			1 B malloc a 1
			10 A begin a
			12 B free a
			14 B malloc a 2
			16 A result b 9`, `
			1 B alloc a 1
			12 B free a 1 #0 born 1 by B temporary
			14 B alloc a 2
			16 A free a 2 #1 born 14 by B realloc
			16 A alloc b 9 realloc`, Counts{Ties: 1}},
		{"two deallocations before an allocation, of which only the second may have come after it", `
			20 C free a
			60 C free a
			64 B malloc a 1
			finish`, `
			20 C unmatched a
			64 B alloc a 1
			64 C free a 1 #0 born 64 by B late`, Counts{Unmatched: 1, Ties: 1, Late: 1}},
		{"two deallocations before an allocation, of which only the first may have come after it", `
			10 B free a
			14 A free a
			18 A malloc a 1
			finish`, `
			14 A unmatched a
			18 A alloc a 1
			18 B free a 1 #0 born 18 by A late`, Counts{Unmatched: 1, Ties: 1, Late: 1}},
		{"a realloc of an unknown block whose result settles another one's", `
			1 A begin a
			barrier
			barrier
			50 B malloc a 1
			60 C begin a
			65 D malloc a 2
			70 A result b 9
			finish`, `
			50 B alloc a 1
			65 C free a 1 #0 born 50 by B realloc
			65 D alloc a 2
			70 A unmatched a realloc
			70 A alloc b 9`, Counts{Unmatched: 1}},
		{"a begin read early, and a result that came long after", `
			1 A malloc a 1
			10 B begin a
			19 A free a
			20 A malloc a 2
			42 B result a 3`, `
			1 A alloc a 1
			19 A free a 1 #0 born 1 by A temporary
			20 A alloc a 2
			42 B free a 2 #1 born 20 by A realloc
			42 B alloc a 3 realloc inplace`, Counts{Ties: 1}},
		{"an allocation read early, before a realloc moved the other block away", `
			5 A malloc a 1
			8 C malloc a 2
			11 C begin a
			26 C result b 3
			35 A free a`, `
			5 A alloc a 1
			26 C free a 1 #0 born 5 by A realloc
			26 C alloc b 3 realloc
			26 C alloc a 2 late
			35 A free a 2 #2 born 26 by C`, Counts{Ties: 1, Exchanges: 1, Late: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, l := eventsOf(t, false, 20, c.ops)
			if d := cmp.Diff(trim(c.want), got); d != "" {
				t.Errorf("events (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.counts, l.Counts()); d != "" {
				t.Errorf("counts (-want +got):\n%s", d)
			}
		})
	}
}
