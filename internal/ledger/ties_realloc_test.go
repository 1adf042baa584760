package ledger

import "testing"

// TestTiesOfReallocs has reallocs share a tick with what other threads do at the same address, sorted against what
// happened.
func TestTiesOfReallocs(t *testing.T) {
	runScripts(t, []scriptCase{
		{name: "a begin waits with the allocation that it follows", ops: `
			1 C malloc a 1
			2 A malloc a 2
			2 A begin a
			|
			2 B free a
			3 A result b 5`, want: `
			1 C alloc a 1
			|
			2 B free a 1 #0 born 1 by C
			2 A alloc a 2
			3 A free a 2 #1 born 2 by A realloc
			3 A alloc b 5 realloc`, counts: Counts{Ties: 1}},
		{name: "allocation sorted before the realloc that made room", ops: `
			1 C malloc a 1
			2 A malloc a 2
			|
			2 B begin a
			3 B result b 3`, want: `
			1 C alloc a 1
			|
			3 B free a 1 #0 born 1 by C realloc
			3 A alloc a 2 late
			3 B alloc b 3 realloc`, counts: Counts{Ties: 1, Late: 1}},
		{name: "begin sorted before its allocation", ops: `
			2 A begin a
			2 B malloc a 2
			3 C malloc a 3
			4 A result b 4`, want: `
			2 B alloc a 2
			3 A free a 2 #0 born 2 by B realloc
			3 C alloc a 3
			4 A alloc b 4 realloc`, counts: Counts{Ties: 1}},
		{name: "deallocation of what was given the moved block's address, sorted before that", ops: `
			1 A malloc a 1
			2 A begin a
			3 B free a
			|
			3 C malloc a 2
			4 A result b 3`, want: `
			1 A alloc a 1
			|
			3 A free a 1 #0 born 1 by A realloc
			3 C alloc a 2
			3 B free a 2 #1 born 3 by C
			4 A alloc b 3 realloc`, counts: Counts{Ties: 1}},
		{name: "deallocation sorted before the result in place", ops: `
			1 B malloc a 1
			2 B begin a
			3 A free a
			|
			3 B result a 2`, want: `
			1 B alloc a 1
			|
			3 B free a 1 #0 born 1 by B realloc
			3 B alloc a 2 realloc inplace
			3 A free a 2 #1 born 3 by B`, counts: Counts{Ties: 1}},
		{name: "deallocation sorted before the failure", ops: `
			1 B malloc a 1
			2 B begin a
			3 A free a
			3 A malloc a 7
			|
			3 B result - 9`, want: `
			1 B alloc a 1
			|
			3 A free a 1 #0 born 1 by B
			3 A alloc a 7
			3 B fail 9`},
		{name: "begin sorted before the failure", ops: `
			1 B malloc a 1
			2 B begin a
			3 A begin a
			3 B result - 9
			4 A result b 2`, want: `
			1 B alloc a 1
			3 B fail 9
			4 A free a 1 #0 born 1 by B realloc
			4 A alloc b 2 realloc`},
		{name: "begin sorted before the result in place", ops: `
			1 B malloc a 1
			2 B begin a
			3 A begin a
			3 B result a 2
			4 A result b 3`, want: `
			1 B alloc a 1
			3 B free a 1 #0 born 1 by B realloc
			3 B alloc a 2 realloc inplace
			4 A free a 2 #1 born 3 by B realloc
			4 A alloc b 3 realloc`, counts: Counts{Ties: 1}},
		{name: "deallocation within a realloc", ops: `
			1 B malloc a 1
			2 B begin a
			3 A free a
			4 B result b 2`, want: `
			1 B alloc a 1
			3 A free a 1 #0 born 1 by B
			4 B alloc b 2`},
		{name: "deallocation within a realloc that does not return", ops: `
			1 B malloc a 1
			2 B begin a
			3 A free a
			|
			barrier
			barrier`, want: `
			1 B alloc a 1
			|
			3 A free a 1 #0 born 1 by B`},
	})
}
