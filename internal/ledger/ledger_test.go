package ledger

import "testing"

func TestPlain(t *testing.T) {
	runScripts(t, []scriptCase{
		{name: "pair", ops: `
			1 A malloc a 10
			2 A malloc b 20
			3 B free a
			4 A free b`, want: `
			1 A alloc a 10
			2 A alloc b 20
			3 B free a 10 #0 born 1 by A
			4 A free b 20 #1 born 2 by A temporary`},
		{name: "an allocation in between, of another thread or failed", ops: `
			1 A malloc a 1
			2 B malloc b 2
			3 A malloc - 9
			4 A free a
			5 A free -
			6 A malloc - 0`, want: `
			1 A alloc a 1
			2 B alloc b 2
			3 A fail 9
			4 A free a 1 #0 born 1 by A temporary`},
		{name: "signal handler of the same thread", ops: `
			1 A malloc a 1
			2 a malloc b 2
			3 A free a
			4 A free b`, want: `
			1 A alloc a 1
			2 A alloc b 2
			3 A free a 1 #0 born 1 by A
			4 A free b 2 #1 born 2 by A temporary`},
		{name: "mapping", ops: `1 A mmap c 5`, want: `1 A map c`},
		{name: "late", ops: `
			5 A malloc a 1
			3 B malloc b 1 late
			4 B free b
			6 B malloc c 1 late`, want: `
			5 A alloc a 1
			5 B alloc b 1 late
			5 B free b 1 #1 born 5 by B temporary late
			6 B alloc c 1 late`, counts: Counts{Late: 3}},
	})
}

func TestRealloc(t *testing.T) {
	runScripts(t, []scriptCase{
		{name: "moved", ops: `
			1 A malloc a 10
			2 B begin a
			|
			3 B result b 20
			4 B free b`, want: `
			1 A alloc a 10
			|
			3 B free a 10 #0 born 1 by A realloc
			3 B alloc b 20 realloc
			4 B free b 20 #1 born 3 by B temporary`},
		{name: "in place, and of a thread's latest", ops: `
			1 A malloc a 10
			2 A begin a
			3 A result a 20`, want: `
			1 A alloc a 10
			3 A free a 10 #0 born 1 by A realloc
			3 A alloc a 20 realloc inplace`},
		{name: "failed", ops: `
			1 A malloc a 10
			2 A begin a
			3 A result - 20
			4 A free a`, want: `
			1 A alloc a 10
			3 A fail 20
			4 A free a 10 #0 born 1 by A temporary`},
		{name: "to size 0, freed", ops: `
			1 A malloc a 10
			2 A begin a
			3 A result - 0`, want: `
			1 A alloc a 10
			3 A free a 10 #0 born 1 by A temporary`},
		{name: "to size 0, a block", ops: `
			1 A malloc a 10
			2 A begin a
			3 A result b 0`, want: `
			1 A alloc a 10
			3 A free a 10 #0 born 1 by A realloc
			3 A alloc b 0 realloc`},
		{name: "of null", ops: `
			3 A result b 5
			4 A result - 5
			5 A result - 0`, want: `
			3 A alloc b 5
			4 A fail 5`},
		{name: "nested", ops: `
			1 A malloc a 1
			2 A malloc b 2
			3 A begin a
			4 A begin b
			5 A malloc c 3
			6 A result - 22
			7 A result d 11`, want: `
			1 A alloc a 1
			2 A alloc b 2
			5 A alloc c 3
			6 A fail 22
			7 A free a 1 #0 born 1 by A realloc
			7 A alloc d 11 realloc`},
		{name: "two threads at once", ops: `
			1 A malloc a 1
			2 A malloc b 2
			3 A begin a
			4 B begin b
			5 A result c 3
			6 B result d 4`, want: `
			1 A alloc a 1
			2 A alloc b 2
			5 A free a 1 #0 born 1 by A realloc
			5 A alloc c 3 realloc
			6 B free b 2 #1 born 2 by A realloc
			6 B alloc d 4 realloc`},
		{name: "old address given to another thread before the result", ops: `
			1 A malloc a 1
			2 A begin a
			3 B malloc a 7
			4 A result b 2
			5 B free a`, want: `
			1 A alloc a 1
			3 A free a 1 #0 born 1 by A realloc
			3 B alloc a 7
			4 A alloc b 2 realloc
			5 B free a 7 #1 born 3 by B temporary`},
		{name: "old address realloc'ed into by another thread, crosswise", ops: `
			1 A malloc a 1
			2 A malloc b 2
			3 A begin a
			4 B begin b
			5 A result b 3
			6 B result a 4
			7 A free a
			8 A free b`, want: `
			1 A alloc a 1
			2 A alloc b 2
			5 A free a 1 #0 born 1 by A realloc
			5 B free b 2 #1 born 2 by A realloc
			5 A alloc b 3 realloc
			6 B alloc a 4 realloc
			7 A free a 4 #3 born 6 by B
			8 A free b 3 #2 born 5 by A temporary`},
		{name: "of an unknown block", ops: `
			1 A begin a
			2 A result b 5
			3 A begin c
			4 A result - 5
			5 A begin d
			6 A result - 0`, want: `
			2 A unmatched a realloc
			2 A alloc b 5
			4 A fail 5
			6 A unmatched d`, counts: Counts{Unmatched: 2}},
		{name: "of an inherited block", forked: true, ops: `
			1 A begin a
			2 A result - 5
			3 A begin a
			4 B malloc a 5
			5 A result b 6`, want: `
			2 A fail 5
			4 B alloc a 5
			5 A inherited a realloc
			5 A alloc b 6`, counts: Counts{Inherited: 1}},
		{name: "freed meanwhile", ops: `
			1 A malloc a 1
			2 A begin a
			3 B free a
			4 A result b 2`, want: `
			1 A alloc a 1
			3 B free a 1 #0 born 1 by A
			4 A alloc b 2`},
		{name: "result lost", ops: `
			1 A malloc a 1
			2 A begin a
			3 A malloc b 2
			4 A begin b
			5 A result c 3
			6 A free a`, want: `
			1 A alloc a 1
			3 A alloc b 2
			5 A free b 2 #1 born 3 by A realloc
			5 A alloc c 3 realloc
			6 A free a 1 #0 born 1 by A`},
		{name: "a stream that ended within one", ops: `
			1 A malloc a 1
			2 A begin a
			finish`, want: `
			1 A alloc a 1`},
		{name: "begin in the tick of the allocation, sorted before it", ops: `
			1 A begin a
			1 B malloc a 1
			2 A result a 2`, want: `
			1 B alloc a 1
			2 A free a 1 #0 born 1 by B realloc
			2 A alloc a 2 realloc inplace`, counts: Counts{Ties: 1}},
	})
}

func TestTies(t *testing.T) {
	runScripts(t, []scriptCase{
		{name: "allocation sorted before the deallocation that made room", ops: `
			1 C malloc a 1
			2 A malloc a 2
			|
			2 B free a`, want: `
			1 C alloc a 1
			|
			2 B free a 1 #0 born 1 by C
			2 A alloc a 2`, counts: Counts{Ties: 1}},
		{name: "deallocation sorted before its allocation", ops: `
			2 A free a
			|
			2 B malloc a 2`, want: `
			|
			2 B alloc a 2
			2 A free a 2 #0 born 2 by B`, counts: Counts{Ties: 1}},
		{name: "a whole life in the tick of the deallocation that made room", ops: `
			1 C malloc a 1
			2 A malloc a 2
			2 A free a
			2 A malloc a 3
			2 A free a
			|
			2 B free a`, want: `
			1 C alloc a 1
			|
			2 B free a 1 #0 born 1 by C
			2 A alloc a 2
			2 A free a 2 #1 born 2 by A temporary
			2 A alloc a 3
			2 A free a 3 #2 born 2 by A temporary`, counts: Counts{Ties: 1}},
		{name: "late deallocation of a block below a new one", ops: `
			1 A malloc a 1
			5 B malloc a 2
			9 C malloc b 1
			|
			3 A free a late`, want: `
			1 A alloc a 1
			9 C alloc b 1
			|
			9 A free a 1 #0 born 1 by A temporary late
			9 B alloc a 2 late`, counts: Counts{Ties: 1, Late: 2}},
		{name: "late allocation of what was freed", ops: `
			5 B free a
			|
			3 A malloc a 1 late`, want: `
			|
			3 A alloc a 1 late
			5 B free a 1 #0 born 3 by A`, counts: Counts{Ties: 1, Late: 1}},
		{name: "inherited, or of the same tick", forked: true, ops: `
			2 A free a
			2 B malloc a 2
			3 A free b
			4 B malloc b 2
			5 A free b
			finish`, want: `
			2 B alloc a 2
			2 A free a 2 #0 born 2 by B
			3 A inherited b
			4 B alloc b 2
			5 A free b 2 #1 born 4 by B`, counts: Counts{Ties: 1, Inherited: 1}},
	})
}

func TestContradictions(t *testing.T) {
	runScripts(t, []scriptCase{
		{name: "foreign block, reused by the same thread", ops: `
			1 A free a
			2 A malloc a 1
			3 A free a`, want: `
			1 A unmatched a
			2 A alloc a 1
			3 A free a 1 #0 born 2 by A temporary`, counts: Counts{Unmatched: 1}},
		{name: "foreign block, reused by another thread", ops: `
			1 A free a
			2 B malloc a 1
			|
			3 A free a`, want: `
			2 B alloc a 1
			|
			2 A unmatched a late
			3 A free a 1 #0 born 2 by B`, counts: Counts{Unmatched: 1, Late: 1}},
		{name: "foreign block, never seen again", ops: `
			1 A free a
			barrier
			|
			barrier
			|
			2 A malloc b 1`, want: `
			|
			1 A unmatched a
			|
			2 A alloc b 1`, counts: Counts{Unmatched: 1}},
		{name: "foreign block, reused by another thread to the end", ops: `
			1 A free a
			2 B malloc a 1
			finish`, want: `
			2 B alloc a 1
			2 A unmatched a late`, counts: Counts{Unmatched: 1, Late: 1}},
		{name: "double free", ops: `
			1 A malloc a 1
			2 A free a
			3 A free a
			finish`, want: `
			1 A alloc a 1
			2 A free a 1 #0 born 1 by A temporary
			3 A unmatched a`, counts: Counts{Unmatched: 1}},
		{name: "inherited, then freed twice", forked: true, ops: `
			1 A free a
			|
			2 A free a
			3 A malloc b 1
			4 A free b
			5 A free b
			finish`, want: `
			|
			1 A inherited a
			3 A alloc b 1
			4 A free b 1 #0 born 3 by A temporary
			4 A unmatched a late
			5 A unmatched b`, counts: Counts{Inherited: 1, Unmatched: 2, Late: 1}},
		{name: "clocks disagree: allocation after its deallocation", ops: `
			1 A free a
			2 B malloc a 1
			3 C malloc a 2
			4 C free a`, want: `
			2 B alloc a 1
			2 A free a 1 #0 born 2 by B late
			3 C alloc a 2
			4 C free a 2 #1 born 3 by C temporary`, counts: Counts{Inversions: 1, Late: 1}},
		{name: "clocks disagree: deallocation after the allocation it made room for", ops: `
			1 A malloc a 1
			2 B malloc a 2
			3 A free a
			|
			4 B free a`, want: `
			1 A alloc a 1
			|
			3 A free a 1 #0 born 1 by A temporary
			3 B alloc a 2 late
			4 B free a 2 #1 born 3 by B temporary`, counts: Counts{Inversions: 1, Late: 1}},
		{name: "deallocation not recorded: another allocation follows", ops: `
			1 A malloc a 1
			2 B malloc a 2
			3 A free a
			|
			4 B malloc a 3`, want: `
			1 A alloc a 1
			|
			2 B free a 1 #0 born 1 by A unseen
			2 B alloc a 2
			3 A free a 2 #1 born 2 by B
			4 B alloc a 3`, counts: Counts{Unseen: 1}},
		{name: "deallocation not recorded: time passes", ops: `
			1 A malloc a 1
			2 A malloc a 2
			3 A free a
			9 A malloc b 5
			barrier
			|
			barrier`, want: `
			1 A alloc a 1
			9 A alloc b 5
			|
			9 A free a 1 #0 born 1 by A unseen late
			9 A alloc a 2 late
			9 A free a 2 #2 born 9 by A temporary late`, counts: Counts{Unseen: 1, Late: 3}},
		{name: "realloc of a contested address settles it", ops: `
			1 A malloc a 1
			2 B malloc a 2
			3 B begin a
			4 B result c 3`, want: `
			1 A alloc a 1
			2 B free a 1 #0 born 1 by A unseen
			2 B alloc a 2
			4 B free a 2 #1 born 2 by B realloc
			4 B alloc c 3 realloc`, counts: Counts{Unseen: 1}},
		{name: "realloc into a contested address", ops: `
			1 A malloc a 1
			2 A malloc b 1
			3 B malloc a 2
			4 C begin b
			5 C result a 3
			finish`, want: `
			1 A alloc a 1
			2 A alloc b 1
			5 C free b 1 #1 born 2 by A realloc
			5 B free a 1 #0 born 1 by A unseen late
			5 B alloc a 2 late
			5 C free a 2 #2 born 5 by B unseen
			5 C alloc a 3 realloc`, counts: Counts{Unseen: 2, Late: 2}},
	})
}
