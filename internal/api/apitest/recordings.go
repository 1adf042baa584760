// Package apitest makes recordings of all kinds for the tests of the API.
package apitest

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/merge"
	"github.com/heaptap/heaptap/internal/profile/profiletest"
	"github.com/heaptap/heaptap/internal/recording"
)

// Recordings writes a recording of each kind and returns their paths: of a small server, of a random program with
// threads, regions, marks and addresses, of one that was killed, sampled, merged and folded.
func Recordings(t testing.TB) []string {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name+".htap") }
	profiletest.Server(t, at("server"))
	program(t, at("random"), 1, 3000, event.Process{PID: 21}, recording.Options{Addresses: true}, true)
	program(t, at("killed"), 2, 2000, event.Process{PID: 22}, recording.Options{}, false)
	program(t, at("sampled"), 3, 2000, event.Process{PID: 23, Sampling: event.Sampling{Bytes: 512}},
		recording.Options{}, true)
	sum(t, at("merged"), at("server"), at("random"))
	program(t, at("folded"), 4, 300_000, event.Process{PID: 24}, recording.Options{Fold: recording.Fold{Keep: 1}}, true)
	return []string{at("server"), at("random"), at("killed"), at("sampled"), at("merged"), at("folded")}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sum merges recordings.
func sum(t testing.TB, path string, of ...string) {
	t.Helper()
	m := merge.New(merge.ByStart)
	for _, one := range of {
		r, err := recording.Open(one)
		check(t, err)
		check(t, errors.Join(m.Add(t.Context(), filepath.Base(one), r), r.Close()))
	}
	check(t, m.Write(path))
}

// program writes what a random program of n events or a few more did; ends says that its end is recorded.
func program(t testing.TB, path string, seed uint64, n int, p event.Process, o recording.Options, ends bool) {
	t.Helper()
	p.Args, p.Exe, p.Dir, p.Started = []string{"app", "--fast"}, "/bin/app", "/srv", 1_700_000_000_000_000_000
	w, err := recording.Create(path, p, o)
	check(t, err)
	rng := rand.New(rand.NewPCG(seed, 1))
	frames := code(w)
	for id := uint32(1); id <= 20; id++ {
		w.Node(id, event.Node{Parent: uint32(rng.IntN(int(id))), PC: uint32(1 + rng.IntN(12))})
	}
	for i := range uint32(3) {
		w.Thread(i, event.Thread{TID: 100 + i, Name: []string{"main", "worker 1", "worker 2"}[i]})
	}
	w.Mark(event.Mark{Name: "ready", Source: event.FromProgram, Time: 1000, Cut: 2})
	type block struct {
		ref  uint64
		made event.Event
	}
	var live []block
	now, allocs := int64(0), uint64(0)
	for i := range n {
		now += 100 * (1 + rng.Int64N(20))
		e := event.Event{Time: now, Thread: uint32(rng.IntN(3))}
		if i%100 == 50 {
			note := event.RegionNote{Time: now, Thread: 1, Event: uint64(i), Alloc: allocs,
				Name: []string{"load", "parse"}[i/200%2]}
			if i/100%2 == 1 {
				note.Leaves = 1
			}
			w.Region(note)
		}
		if k := rng.IntN(3); k < 2 || len(live) == 0 {
			e.Kind, e.Func, e.Stack, e.Ref = event.Alloc, event.Malloc, uint32(rng.IntN(21)), event.NoRef
			if k == 1 {
				e.Func = event.New
			}
			e.Size, e.Addr = rng.Uint64N(1<<rng.IntN(14)), 0x10000+uint64(i)*16
			e.Usable, e.Flags = (e.Size+23)&^15, event.HasUsable
			live = append(live, block{allocs, e})
			allocs++
		} else {
			at := rng.IntN(len(live))
			b := live[at]
			live[at] = live[len(live)-1]
			live = live[:len(live)-1]
			e.Kind, e.Func, e.Stack, e.Size, e.Ref = event.Free, event.FreeFunc, b.made.Stack, b.made.Size, b.ref
			e.Born, e.BornBy, e.Addr = b.made.Time, b.made.Thread, b.made.Addr
			e.Usable, e.Flags = b.made.Usable, event.HasUsable
		}
		if p.Sampling != (event.Sampling{}) {
			e.Flags |= event.Sampled
		}
		check(t, w.Event(&e))
		if i%10_000 == 9999 || n < 10_000 && i%500 == 0 {
			check(t, w.Flush())
		}
	}
	check(t, w.Symbols(frames))
	if ends {
		check(t, w.Finish(recording.Ending{End: now + 1000, Exited: true}))
		return
	}
	check(t, w.Flush())
	check(t, w.Abort())
}

// code writes where functions are, and returns what is known of them: in two modules, inlined, unknown, hostile.
func code(w *recording.Writer) map[uint32][]event.Frame {
	for id, path := range []string{1: "/bin/app", 2: "/lib/libwork.so.1"} {
		if id > 0 {
			at := uint64(id) << 20
			w.Module(event.Module{ID: uint32(id), Path: path, Start: at, Bias: at, Unload: -1})
		}
	}
	frames := map[uint32][]event.Frame{}
	for pc := uint32(1); pc <= 12; pc++ {
		w.PC(pc, event.PC{Addr: uint64(1+pc%2)<<20 + uint64(pc)*16, Module: 1 + pc%2})
		name := []string{"main", "load", "parse", "ns::Cache<int>::grow(unsigned long)", `<img onerror="x">`}[pc%5]
		switch {
		case pc%4 == 0:
			frames[pc] = []event.Frame{{Function: "inner", File: "/srv/inner.h", Line: 3, Inlined: true},
				{Function: name, File: "/srv/app.c", Line: pc}}
		case pc != 7:
			frames[pc] = []event.Frame{{Function: name, File: "/srv/app.c", Line: pc}}
		}
	}
	return frames
}
