package query

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// live returns how much memory is in use, without garbage and without what pools keep until it is collected.
func live() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// allocated returns how much memory a function allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

const (
	deepStacks = 200
	deepness   = 250
)

// deep returns a recording of deep call stacks that share nothing but their root, and of some blocks without a stack.
func deep(t *testing.T) *Source {
	t.Helper()
	r := newRecorder(t)
	rng := rand.New(rand.NewPCG(1, 5))
	r.w.Module(event.Module{ID: 1, Path: "/bin/app", Start: 1 << 20, Bias: 1 << 20, Unload: -1})
	r.thread(0)
	frames := make(map[uint32][]event.Frame)
	for id := uint32(1); id <= 1000; id++ {
		r.w.PC(id, event.PC{Addr: 1<<20 + 16*uint64(id), Module: 1})
		frames[id] = []event.Frame{{Function: fmt.Sprint("f", id), File: "x.c", Line: id}}
	}
	id := uint32(1)
	r.w.Node(id, event.Node{PC: 1})
	stacks := []uint32{0}
	for range deepStacks {
		for d := range deepness {
			parent := id
			if d == 0 {
				parent = 1
			}
			id++
			r.w.Node(id, event.Node{Parent: parent, PC: 1 + rng.Uint32N(1000)})
		}
		stacks = append(stacks, id)
	}
	for range 10 {
		for _, s := range stacks {
			r.now++
			ref := r.alloc(0, s, 10+rng.Uint64N(90), event.Malloc, 0)
			if rng.IntN(2) == 0 {
				r.free(0, ref, event.FreeFunc, 0)
			}
		}
		if err := r.w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return r.source(frames)
}

// TestMemoryOfTrees: a forest keeps some 40 bytes a node, whatever is asked, and a question about many metrics takes
// far less than a column of each for every node.
func TestMemoryOfTrees(t *testing.T) {
	s := deep(t)
	const nodes = deepStacks * deepness
	q := &Query{Range: &Range{From: 10, To: s.last - 10},
		Metrics: []Metric{Allocations, Bytes, FreedBytes, Live, Peak, Temporary}}
	ask := func() {
		if _, err := Draw(t.Context(), s, q, Down, Trim{Share: .01}); err != nil {
			t.Error(err)
		}
	}
	for _, by := range []By{ByFunction, ByLine} {
		q.By = by
		before := live()
		ask()
		ask()
		if kept := live() - before; kept > 48*nodes {
			t.Errorf("by %v: after the answer, %d bytes a node are kept", by, kept/nodes)
		}
		if n := allocated(ask); n > 60*nodes {
			t.Errorf("by %v: an answer took %d bytes a node", by, n/nodes)
		}
	}
}

// TestMemoryOfEventScan: while events are counted, a call stack takes one cell in the sum, and another in each of the
// blocks of events in which it is and which are counted at the time.
func TestMemoryOfEventScan(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // two blocks are counted at a time
	const stacks, blocks = 20_000, 10
	r := newRecorder(t)
	r.thread(0)
	r.w.PC(1, event.PC{Addr: 1 << 20})
	for id := uint32(1); id <= stacks; id++ {
		r.w.Node(id, event.Node{PC: 1})
	}
	for b := range blocks {
		for id := uint32(b); id <= stacks; id += blocks {
			r.now++
			r.alloc(0, id, 10, event.Malloc, 0)
		}
		if err := r.w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	s := r.source(nil)
	for _, m := range []Metric{Leaked, OwnPeak, Time} {
		before, most := live(), int64(0)
		q := &Query{Range: &Range{From: 1, To: s.last}, Metrics: []Metric{m},
			Progress: func(uint64, uint64) { most = max(most, live()-before) }}
		if _, err := Flat(t.Context(), s, q); err != nil {
			t.Fatal(err)
		}
		if most > 400*stacks {
			t.Errorf("%v: %d bytes a call stack", m, most/stacks)
		}
	}
}
