package query

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// recorder writes a recording event by event, as a ledger would.
type recorder struct {
	t       testing.TB
	w       *recording.Writer
	path    string
	now     int64
	allocs  []event.Event // every allocation, by number
	live    map[uint64]bool
	latest  map[uint32]uint64 // by thread: its latest allocation plus 1
	events  []event.Event
	threads int
	health  event.Health
	regions map[uint32][]string // by thread: the regions it is in
	moves   map[uint32]int      // by thread: how often it entered or left regions
	late    bool                // some events are settled late
}

func newRecorder(t testing.TB) *recorder {
	t.Helper()
	r := &recorder{t: t, path: filepath.Join(t.TempDir(), "a.htap"), live: make(map[uint64]bool),
		latest: make(map[uint32]uint64)}
	w, err := recording.Create(r.path, event.Process{PID: 7, Args: []string{"a"}}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.w = w
	return r
}

func (r *recorder) thread(start int64) uint32 {
	i := uint32(r.threads)
	r.w.Thread(i, event.Thread{TID: 100 + i, Name: "t", Start: start})
	r.threads++
	return i
}

func (r *recorder) event(e event.Event) {
	e.Time = r.now
	if r.late && len(r.events)%3 == 0 {
		r.lateNote(&e)
	}
	if err := r.w.Event(&e); err != nil {
		r.t.Fatal(err)
	}
	r.events = append(r.events, e)
}

// alloc allocates and returns the allocation's number.
func (r *recorder) alloc(thread, stack uint32, size uint64, f event.Func, flags event.Flags) uint64 {
	e := event.Event{Time: r.now, Kind: event.Alloc, Func: f, Thread: thread, Stack: stack, Size: size,
		Ref: event.NoRef, Flags: flags}
	if flags&event.HasUsable != 0 {
		e.Usable = (size + 23) &^ 15
	}
	ref := uint64(len(r.allocs))
	r.allocs = append(r.allocs, e)
	r.live[ref] = true
	r.latest[thread] = ref + 1
	r.event(e)
	return ref
}

func (r *recorder) free(thread uint32, ref uint64, f event.Func, flags event.Flags) {
	a := &r.allocs[ref]
	if r.latest[thread] == ref+1 && flags&event.Realloc == 0 {
		flags |= event.Temporary
	}
	delete(r.live, ref)
	r.event(event.Event{Kind: event.Free, Func: f, Thread: thread, Stack: a.Stack, Size: a.Size, Ref: ref, Born: a.Time,
		BornBy: a.Thread, Flags: flags})
}

func (r *recorder) realloc(thread uint32, ref uint64, stack uint32, size uint64, inPlace bool) uint64 {
	r.free(thread, ref, event.ReallocFunc, event.Realloc)
	if ref%3 == 0 { // the two events may be in different blocks of events
		if err := r.w.Flush(); err != nil {
			r.t.Fatal(err)
		}
	}
	flags := event.Realloc
	if inPlace {
		flags |= event.InPlace
	}
	return r.alloc(thread, stack, size, event.ReallocFunc, flags)
}

// source finishes the recording and opens it.
func (r *recorder) source(frames map[uint32][]event.Frame) *Source {
	r.t.Helper()
	if err := r.w.Symbols(frames); err != nil {
		r.t.Fatal(err)
	}
	if err := r.w.Finish(recording.Ending{End: r.now + 1000, Exited: true, Health: r.health}); err != nil {
		r.t.Fatal(err)
	}
	s, err := Open(r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { s.Close() })
	return s
}

// recordAddresses begins a recording with addresses, of one thread and one call stack, 1.
func recordAddresses(t *testing.T) (*recorder, map[uint32][]event.Frame) {
	t.Helper()
	r, frames := newAddressRecorder(t)
	r.w.Node(1, event.Node{PC: 1})
	r.thread(0)
	return r, frames
}

// newAddressRecorder begins a recording of /bin/app with addresses, without a thread or a call stack.
func newAddressRecorder(t *testing.T) (*recorder, map[uint32][]event.Frame) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{PID: 7, Exe: "/bin/app"}, recording.Options{Addresses: true})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{t: t, path: path, w: w, live: make(map[uint64]bool), latest: make(map[uint32]uint64)}
	return r, r.code()
}

// code returns the functions of random programs: in two modules, inlined, without names, outside of any file.
func (r *recorder) code() map[uint32][]event.Frame {
	for id, path := range []string{"", "/bin/app", "/lib/libwork.so.1"} {
		if id > 0 {
			r.w.Module(event.Module{ID: uint32(id), Path: path, Start: uint64(id) << 20, Bias: uint64(id) << 20,
				Unload: -1})
		}
	}
	frames := make(map[uint32][]event.Frame)
	for pc := uint32(1); pc <= 12; pc++ {
		module := 1 + pc%2
		if pc == 12 {
			module = 0
		}
		r.w.PC(pc, event.PC{Addr: uint64(module)<<20 + uint64(pc)*16, Module: module})
		name := string(rune('a' + pc%7))
		switch {
		case pc%5 == 0: // a function inlined into another, perhaps into itself
			frames[pc] = []event.Frame{{Function: "b", File: "x.h", Line: 3, Inlined: true},
				{Function: name, File: "x.c", Line: pc % 3}}
		case pc != 4 && pc != 12: // those have no symbols
			frames[pc] = []event.Frame{{Function: name, File: string(rune('x'+pc%2)) + ".c", Line: pc % 3}}
		}
	}
	return frames
}

// random writes a random program of n events and opens it.
func random(t testing.TB, seed uint64, n int) (*Source, []event.Event) {
	t.Helper()
	r, frames := randomProgram(t, seed, n)
	return r.source(frames), r.events
}

func randomProgram(t testing.TB, seed uint64, n int) (*recorder, map[uint32][]event.Frame) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3))
	r := newRecorder(t)
	if seed%3 > 0 {
		r.health.AllocCost, r.health.FreeCost = float64(rng.IntN(2000))/10, float64(rng.IntN(500))/10
	}
	frames := r.code()
	stacks := uint32(1 + rng.IntN(30))
	for id := uint32(1); id <= stacks; id++ {
		r.w.Node(id, event.Node{Parent: uint32(rng.IntN(int(id))), PC: uint32(1 + rng.IntN(12))})
	}
	threads := 1 + rng.IntN(3)
	for range threads {
		r.thread(rng.Int64N(500))
	}
	var blocks []uint64
	flush := 1 + rng.IntN(60)
	moves := rand.New(rand.NewPCG(seed, 5))
	for len(r.events) < n {
		r.late = seed%2 > 0
		r.moveRegions(moves, threads)
		r.now += rng.Int64N(4) * 100
		th := uint32(rng.IntN(threads))
		stack := uint32(rng.IntN(int(stacks) + 1)) // 0: unknown
		size := rng.Uint64N(1 << rng.IntN(12))
		switch k := rng.IntN(20); {
		case k < 10 || len(blocks) == 0:
			flags := event.Flags(0)
			if rng.IntN(3) > 0 {
				flags = event.HasUsable
			}
			blocks = append(blocks, r.alloc(th, stack, size,
				[]event.Func{event.Malloc, event.New, event.Calloc}[rng.IntN(3)], flags))
		case k < 17:
			i := len(blocks) - 1
			if rng.IntN(3) == 0 {
				i = rng.IntN(len(blocks))
			}
			r.free(th, blocks[i], event.FreeFunc, 0)
			blocks = append(blocks[:i], blocks[i+1:]...)
		case k < 19:
			i := rng.IntN(len(blocks))
			ref := blocks[i]
			blocks[i] = r.realloc(th, ref, stack, size, rng.IntN(2) == 0)
		default:
			r.event(event.Event{Kind: event.Fail, Func: event.Malloc, Thread: th, Stack: stack, Size: 1 << 40,
				Ref: event.NoRef})
		}
		if rng.IntN(flush) == 0 {
			if err := r.w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r, frames
}
