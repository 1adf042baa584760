package verify

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/tally"
)

// forger makes a recording in which everything is right, unless a part of it is changed before it is written.
type forger struct {
	process event.Process
	threads []event.Thread
	modules []event.Module
	pcs     map[uint32]event.PC
	nodes   map[uint32]event.Node
	events  []event.Event
	counted []event.Event // events from which the tally is made; nil: events
	samples []event.Sample
	marks   []event.Mark
	regions []event.RegionNote
	ranges  []event.NamedRange
	stacks  []event.StackUse
	pairs   []event.Pair
	rows    []event.Count
	tick    uint64
	end     int64
	options recording.Options
}

func consistent() *forger {
	f := &forger{
		process: event.Process{PID: 7, Args: []string{"p"}},
		threads: []event.Thread{{TID: 7}, {TID: 8, Start: 300}},
		modules: []event.Module{
			{ID: 1, Path: "/bin/p", Start: 0x1000, End: 0x2000, Unload: -1},
			{ID: 2, Path: "/lib/a.so", Start: 0x5000, End: 0x6000, Loaded: 0, Unload: 50_000_000},
			{ID: 3, Path: "/lib/b.so", Start: 0x5000, End: 0x6000, Loaded: 50_000_000, Unload: -1},
		},
		pcs: map[uint32]event.PC{1: {Addr: 0x1100, Module: 1}, 2: {Addr: 0x1200, Module: 1},
			3: {Addr: 0x5100, Module: 2},
			4: {Addr: 0x5100, Module: 3}, 5: {Addr: 0xdead00}},
		nodes: map[uint32]event.Node{1: {PC: 1}, 2: {PC: 2, Parent: 1}, 3: {PC: 3, Parent: 1}, 4: {PC: 4, Parent: 1},
			5: {PC: 5, Parent: 3}},
		samples: []event.Sample{{Time: 100, RSS: 5, PSS: -1}, {Time: 100, RSS: 6}, {Time: 900, RSS: 4}},
		marks: []event.Mark{{Name: "m", Time: 100, Cut: 1}, {Name: "n", Time: 200, Cut: event.NoCut},
			{Name: "o", Time: 900, Cut: 11, Thread: 1}},
		regions: []event.RegionNote{ // the first one is never left
			{Name: "load", Time: 100, Event: 0, Alloc: 0, Count: 1, IDs: [event.RegionIDs]int64{7}},
			{Name: "inner", Time: 150, Event: 1, Alloc: 1},
			{Name: "other", Thread: 1, Time: 300, Event: 2, Alloc: 2},
			{Name: "inner", Time: 500, Event: 6, Alloc: 4, Leaves: 1},
			{Time: 700, Event: 6, Alloc: 4, Late: event.LateFree, Back: 1},
			{Name: "other", Thread: 1, Time: 900, Event: 10, Alloc: 6, Leaves: 1},
			{Time: 80_000_000, Event: 13, Alloc: 6, Late: event.LateAlloc, Back: 3},
		},
		ranges: []event.NamedRange{{Name: "a", Time: 100, Event: 1, Start: 0x10, Size: 5},
			{Name: "b", Thread: 1, Time: 1000, Event: 15, Start: 0x7000, Size: 4096}},
		stacks: []event.StackUse{{Time: 100, Bytes: 500, Stack: 2},
			{Time: 50, Measure: event.StackSize, Bytes: 8 << 20}, {Thread: 1, Time: 300, Bytes: 300,
				Stack: 3}, {Time: 800, Bytes: 700, Stack: 4}},
		pairs: []event.Pair{{Mismatch: event.MismatchFunction, Alloc: event.New, Free: event.FreeFunc, Stack: 2,
			FreeStack: 3, Count: 3, Time: 400, Thread: 1, Size: 9}},
		rows: []event.Count{{TID: 7, Name: "t", Func: event.Malloc, Calls: 3, Bytes: 9, Timed: 2, Time: 50,
			Sizes: []event.Class{{Class: 2, Calls: 3}}, Times: []event.Class{{Class: 4,
				Calls: 2}}}, {TID: 8, Func: event.ReallocFunc, Frees: true, Calls: 1}},
		tick:    1000,
		end:     90_000_000,
		options: recording.Options{Addresses: true},
	}
	alloc := func(time int64, thread, stack uint32, addr, size uint64, flags event.Flags) {
		fn := event.Malloc
		if flags&event.Realloc != 0 {
			fn = event.ReallocFunc
		}
		f.events = append(f.events, event.Event{Time: time, Kind: event.Alloc, Func: fn, Thread: thread, Stack: stack,
			Addr: addr, Size: size,
			Flags: flags, Ref: event.NoRef})
	}
	free := func(time int64, thread uint32, ref uint64, flags event.Flags) {
		fn := event.FreeFunc
		if flags&event.Realloc != 0 {
			fn = event.ReallocFunc
		}
		a := f.allocation(ref)
		f.events = append(f.events, event.Event{Time: time, Kind: event.Free, Func: fn, Thread: thread, Stack: a.Stack,
			Addr: a.Addr, Size: a.Size,
			Flags: flags, Ref: ref, Born: a.Time, BornBy: a.Thread})
	}
	alloc(100, 0, 2, 0x10, 1000, 0) // 0
	alloc(200, 0, 3, 0x20, 500, 0)  // 1
	alloc(300, 1, 5, 0x30, 70, 0)   // 2: the peak
	free(400, 1, 0, 0)              // by the other thread
	alloc(500, 1, 2, 0x10, 20, 0)   // 3, at the first one's address
	free(600, 1, 3, event.Temporary)
	free(700, 0, 1, event.Realloc)                            // moved
	alloc(700, 0, 2, 0x40, 900, event.Realloc)                // 4
	free(800, 0, 4, event.Realloc)                            // in place
	alloc(800, 0, 2, 0x40, 1400, event.Realloc|event.InPlace) // 5
	f.events = append(f.events, event.Event{Time: 900, Kind: event.Fail, Func: event.Malloc, Stack: 2, Size: 1 << 40,
		Ref: event.NoRef},
		event.Event{Time: 900, Kind: event.Unmatched, Func: event.FreeFunc, FreeStack: 2, Addr: 0x999,
			Ref: event.NoRef},
		event.Event{Time: 1000, Kind: event.Map, Func: event.Mmap, Stack: 1, Addr: 0x7000, Size: 4096,
			Ref: event.NoRef})
	alloc(80_000_000, 0, 4, 0x20, 1, 0) // 6, in the library that is loaded later
	free(80_000_100, 1, 6, 0)
	return f
}

func (f *forger) allocation(ref uint64) *event.Event {
	for i := range f.events {
		if e := &f.events[i]; e.Kind == event.Alloc {
			if ref == 0 {
				return e
			}
			ref--
		}
	}
	panic("no such allocation")
}

func (f *forger) write(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, f.process, f.options)
	if err != nil {
		t.Fatal(err)
	}
	for i, th := range f.threads {
		w.Thread(uint32(i), th)
	}
	for _, m := range f.modules {
		w.Module(m)
	}
	for id, pc := range f.pcs {
		w.PC(id, pc)
	}
	for id, n := range f.nodes {
		w.Node(id, n)
	}
	if f.counted == nil {
		f.counted = f.events
	}
	sum := tally.New()
	for i := range f.counted {
		sum.Add(&f.counted[i])
	}
	for _, m := range f.marks {
		w.Mark(m)
	}
	for _, n := range f.regions {
		w.Region(n)
	}
	for _, n := range f.ranges {
		w.Range(n)
	}
	if err := w.Events(f.events[:8]); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := w.Events(f.events[8:]); err != nil {
		t.Fatal(err)
	}
	for _, s := range f.samples {
		w.Sample(s)
	}
	for _, u := range f.stacks {
		w.StackUse(u)
	}
	if err := errors.Join(w.Pairs(f.pairs), w.Counts(&event.Counts{Tick: f.tick, Rows: f.rows})); err != nil {
		t.Fatal(err)
	}
	if err := w.Symbols(map[uint32][]event.Frame{1: {{Function: "main"}}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(recording.Ending{End: f.end, Exited: true, Tally: sum}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func verified(t *testing.T, b []byte) *Result {
	t.Helper()
	r, err := Recording(bytes.NewReader(b), int64(len(b)), "a.htap")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func list(r *Result) string {
	var b strings.Builder
	for _, c := range r.Checks {
		for _, p := range c.Problems {
			b.WriteString(c.Name + ": " + p + "\n")
		}
	}
	return b.String()
}

func TestConsistent(t *testing.T) {
	t.Parallel()
	r := verified(t, consistent().write(t))
	if !r.OK || len(r.Missing) > 0 || len(r.Checks) != 14 {
		t.Errorf("%+v\n%s", r, list(r))
	}
}

// TestForged changes one thing at a time.
func TestForged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		forge func(*forger)
		want  string // among the problems
	}{
		{"unknown module", func(f *forger) { f.pcs[2] = event.PC{Addr: 0x1200, Module: 9} },
			"tables: address 2 (0x1200) lies in module 9, which does not exist"},
		{"unknown address", func(f *forger) { f.nodes[2] = event.Node{PC: 77} },
			"tables: node 2 has address 77, which does not exist"},
		{"unknown parent", func(f *forger) { f.nodes[2] = event.Node{PC: 2, Parent: 99} },
			"tables: node 2 has a parent 99, which does not exist"},
		{"cycle", func(f *forger) { f.nodes[1] = event.Node{PC: 1, Parent: 5} },
			"the tree of call stacks: 1 of its nodes are their own ancestors"},
		{"own parent", func(f *forger) { f.nodes[5] = event.Node{PC: 1, Parent: 5} },
			"the tree of call stacks: 1 of its nodes are their own ancestors, for example node 5"},
		{"module upside down", func(f *forger) { f.modules[0].End = 0x500 },
			"modules: module 1 (/bin/p) begins at 0x1000 and ends at 0x500"},
		{"address beside its module", func(f *forger) { f.pcs[2] = event.PC{Addr: 0x3000, Module: 1} },
			"modules: address 2 (0x3000) does not lie in its module 1"},
		{"unloaded module", func(f *forger) { f.nodes[4] = event.Node{PC: 3, Parent: 1} },
			"modules: event 14 at 80000000 ns: the code of its call stack 4 was only loaded from 0 to 50000000 ns"},
		{"module to come", func(f *forger) { f.nodes[3] = event.Node{PC: 4, Parent: 1} },
			"modules: event 2 at 200 ns: the code of its call stack 3 was only loaded from 50000000"},
		{"two modules at one address", func(f *forger) { f.modules[1].Unload = 60_000_000 },
			"modules: modules 2 (/lib/a.so) and 3 (/lib/b.so) lie at the same addresses at 50000000 ns"},

		{"event of no thread", func(f *forger) { f.events[0].Thread = 5 },
			"order: event 1 belongs to thread 5, which does not exist"},
		{"event before its thread", func(f *forger) { f.threads[1].Start = 350 },
			"order: event 3 at 300 ns belongs to thread 1, which starts at 350 ns"},
		{"no such stack", func(f *forger) { f.events[0].Stack = 66 },
			"order: event 1 names call stack 66, which does not exist"},
		{"no such deallocation's stack", func(f *forger) { f.events[3].FreeStack = 67 },
			"order: event 4 names call stack 67, which does not exist"},
		{"after the end", func(f *forger) { f.end = 80_000_000 },
			"order: event 15 at 80000100 ns comes after the end at 80000000 ns"},

		{"freed twice", func(f *forger) { f.events[14].Ref = 0 },
			"pairs: event 15 ends allocation 0, which was freed before"},
		{"freed too early", func(f *forger) { f.events[3].Ref = 4 },
			"pairs: event 4 ends allocation 4, which has not been made yet"},
		// A deallocation in the same block of events takes all of this from the allocation, so that no writer can forge
		// it. One in another block has its own copy.
		{"wrong size", func(f *forger) { f.events[8].Size++ },
			"pairs: event 9 ends allocation 4 and describes it as 901 bytes"},
		{"wrong pair", func(f *forger) { f.events[8].Ref, f.events[8].Stack = 2, 5 },
			"pairs: event 9 ends allocation 2 and describes it as 900 bytes"},
		{"wrong thread of birth", func(f *forger) { f.events[8].BornBy = 1 },
			"pairs: event 9 ends allocation 4 and describes it as"},
		{"wrong time of birth", func(f *forger) { f.events[8].Born = 500 },
			"pairs: event 9 ends allocation 4 and describes it as"},
		{"temporary", func(f *forger) { f.events[3].Flags |= event.Temporary },
			"pairs: event 4 ends allocation 0: temporary is true, expected false"},
		{"not temporary", func(f *forger) { f.events[5].Flags = 0 },
			"pairs: event 6 ends allocation 3: temporary is false, expected true"},
		{"two at one address", func(f *forger) { f.events[4].Addr = 0x30 },
			"pairs: event 5 allocates at 0x30, where allocation 2 is live"},
		{"new block alone", func(f *forger) { f.events[0].Flags, f.events[0].Func = event.Realloc, event.ReallocFunc },
			"pairs: event 1 is a realloc's new block"},
		{"in place, not a realloc", func(f *forger) { f.events[0].Flags = event.InPlace },
			"pairs: event 1 is in place, but not a realloc"},
		{"realloc by malloc", func(f *forger) { f.events[7].Func = event.Malloc },
			"pairs: event 8 is part of a realloc, but its function is malloc"},
		{"no parent", func(f *forger) { f.events[11].Kind = event.Inherited },
			"pairs: event 12 ends a block of the parent process, but there is none"},

		{"statistics of other events", func(f *forger) {
			f.counted = append([]event.Event(nil), f.events...)
			f.counted[9].Size = 1500
		}, "sums: stored statistics: totals, Counts, Bytes: 3991, expected 3891"},
		{"statistics of one event less", func(f *forger) { f.counted = f.events[:14] },
			"sums: live blocks at the end: 3, expected 2"},
		{"statistics of other stacks", func(f *forger) {
			f.counted = append([]event.Event(nil), f.events...)
			f.counted[0].Stack = 1
		}, "sums: stored statistics: call stacks: 5, expected 4"},
		{"statistics of other threads", func(f *forger) {
			f.counted = append([]event.Event(nil), f.events...)
			f.counted[0].Thread = 1
		}, "sums: stored statistics: threads, entry 0, Allocations: 4, expected 5"},
		{"another peak", func(f *forger) {
			f.counted = append([]event.Event(nil), f.events...)
			f.counted[2], f.counted[3] = f.counted[3], f.counted[2]
		}, "sums: the peak is {Bytes:1500 Blocks:2"},

		{"samples upside down", func(f *forger) { f.samples[2].Time = 50 },
			"samples: sample 2 at 50 ns comes after one at 100 ns"},
		{"sample after the end", func(f *forger) { f.samples[2].Time = 1e9 },
			"samples: sample 2 at 1000000000 ns comes after the end at 90000000 ns"},
		{"impossible sample", func(f *forger) { f.samples[0].RSS = -7 }, "samples: sample 0 says -7"},

		{"mark after the last event", func(f *forger) { f.marks[2].Cut = 16 },
			`marks: mark "o" lies after 16 events, but there are 15`},
		{"marks upside down", func(f *forger) { f.marks[0].Cut = 12 },
			`marks: mark "o" lies after 11 events, an earlier one after 12`},
		{"mark of no thread", func(f *forger) { f.marks[2].Thread = 2 },
			`marks: mark "o" belongs to thread 2, but there are 2 threads`},

		{"region of no thread", func(f *forger) { f.regions[0].Thread = 9 },
			"regions: region note 0 belongs to thread 9, which does not exist"},
		{"region beside its events", func(f *forger) { f.regions[1].Event = 2 },
			"regions: region note 1 lies after 2 allocations, but says 1"},
		{"region beside its allocations", func(f *forger) { f.regions[2].Alloc = 1 },
			"regions: region note 2 lies after 2 allocations, but says 1"},
		{"regions upside down", func(f *forger) { f.regions[0].Event = 5 },
			"regions: region note 1 lies after 1 events, an earlier one after 5"},
		{"region after the last event", func(f *forger) {
			f.regions = append(f.regions, event.RegionNote{Name: "x", Time: 90_000_000, Event: 99, Alloc: 7})
		}, "regions: region note 7 lies after 99 events, but there are 15"},
		{"region that goes back in time", func(f *forger) { f.regions[3].Time = 149 },
			"regions: region note 3 at 149 ns comes after one of the same thread at 150 ns"},
		{"region after the end", func(f *forger) { f.regions[5].Time = 90_000_001 },
			"regions: region note 5 at 90000001 ns comes after the end at 90000000 ns"},
		{"more regions left than entered", func(f *forger) { f.regions[5].Leaves = 2 },
			"regions: region note 5 leaves 2 regions, but thread 1 is in 1"},
		{"another thread's region left", func(f *forger) { f.regions[5].Thread = 0 },
			`regions: region note 5 leaves "other", but thread 0 is in "load" there`},
		{"another region left", func(f *forger) { f.regions[3].Name = "load" },
			`regions: region note 3 leaves "load", but thread 0 is in "inner" there`},
		{"late event before its thread", func(f *forger) { f.regions[4].Back = 4 },
			"regions: region note 4 goes back 4 notes of thread 0, which has 3"},
		{"late event that is in time", func(f *forger) { f.regions[6].Back = 0 },
			"regions: region note 6 goes back 0 notes"},
		{"late event of another kind", func(f *forger) { f.regions[4].Late = event.LateAlloc },
			"regions: region note 4 announces a late alloc of thread 0, but the next event is a free of thread 0"},
		{"late event of another thread", func(f *forger) { f.regions[4].Thread = 1 },
			"regions: region note 4 announces a late free of thread 1, but the next event is a free of thread 0"},
		{"late event that does not come", func(f *forger) {
			f.regions = append(f.regions, event.RegionNote{Time: 90_000_000, Event: 15, Alloc: 7, Late: event.LateFree,
				Back: 1})
		}, "regions: region note 7 announces a late event, but no event follows"},

		{"range of no thread", func(f *forger) { f.ranges[0].Thread = 2 },
			"ranges: range 0 belongs to thread 2, but there are 2 threads"},
		{"ranges upside down", func(f *forger) { f.ranges[0], f.ranges[1] = f.ranges[1], f.ranges[0] },
			"ranges: range 1 lies after 1 events, an earlier one after 15"},
		{"range after the last event", func(f *forger) { f.ranges[1].Event = 16 },
			"ranges: range 1 lies after 16 events, but there are 15"},
		{"range after the end", func(f *forger) { f.ranges[1].Time = 1e9 },
			"ranges: range 1 at 1000000000 ns comes after the end"},
		{"empty range", func(f *forger) { f.ranges[1].Size = 0 }, "ranges: range 1 is empty"},

		{"stack of no thread", func(f *forger) { f.stacks[0].Thread = 2 },
			"stack-memory: reading 0 belongs to thread 2, but there are 2 threads"},
		{"deepest at no call stack", func(f *forger) { f.stacks[0].Stack = 68 },
			"stack-memory: reading 0 names call stack 68, which does not exist"},
		{"size at a call stack", func(f *forger) { f.stacks[1].Stack = 2 },
			"stack-memory: reading 1 of size names a call stack"},
		{"stack that shrinks", func(f *forger) { f.stacks[3].Bytes = 500 },
			"stack-memory: reading 3 of thread 0, deepest: 500 bytes, although it had 500 before"},
		{"stack after the end", func(f *forger) { f.stacks[3].Time = 1e9 },
			"stack-memory: reading 3 at 1000000000 ns comes after the end"},

		{"mismatch of no thread", func(f *forger) { f.pairs[0].Thread = 2 },
			"mismatches: mismatch 0 belongs to thread 2, but there are 2 threads"},
		{"mismatch at no call stack", func(f *forger) { f.pairs[0].Stack = 69 },
			"mismatches: mismatch 0 names call stack 69, which does not exist"},
		{"mismatch freed at no call stack", func(f *forger) { f.pairs[0].FreeStack = 70 },
			"mismatches: mismatch 0 names call stack 70, which does not exist"},
		{"allocated by free", func(f *forger) { f.pairs[0].Alloc = event.FreeFunc },
			"mismatches: mismatch 0: free does not allocate"},
		{"freed by malloc", func(f *forger) { f.pairs[0].Free = event.Malloc },
			"mismatches: mismatch 0: malloc does not free"},
		{"a pair that matches", func(f *forger) { f.pairs[0].Alloc = event.Malloc },
			"mismatches: mismatch 0 of malloc and free is 1, expected 0"},
		{"another mismatch", func(f *forger) { f.pairs[0].Mismatch = event.MismatchSize },
			"mismatches: mismatch 0 of operator new and free is 2, expected 1"},
		{"more mismatches than events", func(f *forger) { f.pairs[0].Count = 16 },
			"mismatches: mismatches of 16 blocks, but there are 15 events"},
		{"mismatch after the end", func(f *forger) { f.pairs[0].Time = 1e9 },
			"mismatches: mismatch 0 at 1000000000 ns comes after the end"},

		{"counts of freeing by malloc", func(f *forger) { f.rows[0].Frees = true },
			"counts: row 0 counts what malloc cannot do (frees: true)"},
		{"counts of allocating by munmap", func(f *forger) { f.rows[1].Func, f.rows[1].Frees = event.Munmap, false },
			"counts: row 1 counts what munmap cannot do (frees: false)"},
		{"times of no calls", func(f *forger) { f.rows[0].Timed = 0 },
			"counts: row 0 has times, but no timed calls"},
		{"times without a clock", func(f *forger) { f.tick = 0 },
			"counts: calls were timed, but the clock's tick is 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := consistent()
			c.forge(f)
			r := verified(t, f.write(t))
			if r.OK || r.Problems() == 0 || !strings.Contains(list(r), c.want) {
				t.Errorf("want %q among the problems:\n%s", c.want, list(r))
			}
		})
	}
}

// blocksOf returns where the blocks of a recording begin.
func blocksOf(b []byte) (at []int) {
	for i := fileHeader; i < len(b); i += blockHeader + int(binary.LittleEndian.Uint32(b[i+8:])) {
		at = append(at, i)
	}
	return at
}

// seal corrects the checksums of the block at an offset.
func seal(b []byte, at int) {
	le := binary.LittleEndian
	end := at + blockHeader + int(le.Uint32(b[at+8:]))
	le.PutUint32(b[at+16:], crc32.Checksum(b[at+blockHeader:end], castagnoli))
	le.PutUint32(b[at+20:], crc32.Checksum(b[at:at+20], castagnoli))
}

// ofType returns the offset of the first block of a type.
func ofType(b []byte, kind uint16) int {
	for _, at := range blocksOf(b) {
		if binary.LittleEndian.Uint16(b[at+4:]) == kind {
			return at
		}
	}
	panic("no such block")
}

// TestDamaged changes the file.
func TestDamaged(t *testing.T) {
	t.Parallel()
	whole := consistent().write(t)
	if i := bytes.Index(whole, []byte(`"events":15`)); i < 0 {
		t.Fatal("the ending does not count the events")
	}
	for _, c := range []struct {
		name          string
		hurt          func([]byte) []byte
		want, missing string
	}{
		{"payload", func(b []byte) []byte { b[ofType(b, typeEvents)+30] ^= 4; return b }, "its checksum is wrong",
			"everything from offset"},
		{"header", func(b []byte) []byte { b[ofType(b, typeTally)+9] ^= 4; return b }, "its header is damaged",
			"everything from offset"},
		{"swapped", func(b []byte) []byte {
			at := ofType(b, typeEvents)
			binary.LittleEndian.PutUint32(b[at+12:], 77)
			seal(b, at)
			return b
		}, "its number is 77", "everything from offset"},
		{"index of another file", func(b []byte) []byte {
			b = bytes.Replace(b, []byte(`"code":0`), []byte(`"code":1`), 1)
			seal(b, ofType(b, typeEnding))
			return b
		}, "the index differs from block", "how the process ended"},
		{"end of the index", func(b []byte) []byte {
			b[len(b)-16]++
			seal(b, ofType(b, typeIndex))
			return b
		}, "the end of the file does not say where the index begins", ""},
		{"count of events", func(b []byte) []byte {
			b = bytes.Replace(b, []byte(`"events":15`), []byte(`"events":16`), 1)
			seal(b, ofType(b, typeEnding))
			return b
			// the index does not know this ending
		}, "the ending counts 16 events, but there are 15", "how the process ended"},
		{"after the index", func(b []byte) []byte {
			at := ofType(b, typeEnding)
			extra := append([]byte(nil), b[at:at+blockHeader+int(binary.LittleEndian.Uint32(b[at+8:]))]...)
			binary.LittleEndian.PutUint32(extra[12:], uint32(len(blocksOf(b))))
			seal(extra, 0)
			return append(b, extra...)
		}, "follows the index", "the index"},
		{"damaged columns, right checksums", func(b []byte) []byte {
			at := ofType(b, typeEvents)
			for i := at + blockHeader + 60; i < at+blockHeader+90; i++ {
				b[i] = 0xff
			}
			seal(b, at)
			return b
		}, "the block of events at offset", ""},
		{"cut within the events", func(b []byte) []byte { return b[:ofType(b, typeEvents)+40] }, "",
			"the file ends within it"},
		{"cut before the ending", func(b []byte) []byte { return b[:ofType(b, typeEnding)] }, "",
			"how the process ended"},
		{"cut within a header", func(b []byte) []byte { return b[:ofType(b, typeIndex)+5] }, "",
			"the file ends within it"},
		{"no index", func(b []byte) []byte { return b[:ofType(b, typeIndex)] }, "", "the index"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := verified(t, c.hurt(bytes.Clone(whole)))
			if (c.want == "") != r.OK || !strings.Contains(list(r), c.want) {
				t.Errorf("want %q among the problems:\n%s", c.want, list(r))
			}
			if missing := strings.Join(r.Missing, "\n"); !strings.Contains(missing, c.missing) || c.missing == "" &&
				missing != "" {
				t.Errorf("want %q to be missing, got %q", c.missing, missing)
			}
		})
	}
}

// TestEveryCut cuts the recording after every byte: what is left never has a problem.
func TestEveryCut(t *testing.T) {
	t.Parallel()
	whole := consistent().write(t)
	for n := fileHeader; n < len(whole); n++ {
		r := verified(t, whole[:n])
		if !r.OK || len(r.Missing) == 0 {
			t.Fatalf("cut after %d bytes: missing %q, problems:\n%s", n, r.Missing, list(r))
		}
	}
	if _, err := Recording(bytes.NewReader(whole[:10]), 10, "x"); err == nil {
		t.Error("a file without a header could be read")
	}
}

// TestEveryBit inverts every bit: no change goes unnoticed. With the race detector it takes every seventh bit, which is
// each bit of a byte in turn.
func TestEveryBit(t *testing.T) {
	t.Parallel()
	b := consistent().write(t)
	for i := range 8 * len(b) {
		if i/8 >= 28 && i/8 < fileHeader || testing.Short() && i%7 > 0 || i%thinner > 0 {
			continue
		}
		b[i/8] ^= 1 << (i % 8)
		r, err := Recording(bytes.NewReader(b), int64(len(b)), "x")
		if err == nil && r.OK && len(r.Missing) == 0 {
			t.Fatalf("bit %d of byte %d was inverted, and no problem is reported", i%8, i/8)
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

// TestSummaries compares the recording's answers with the events of another recording, which they do not fit.
func TestSummaries(t *testing.T) {
	t.Parallel()
	b := consistent().write(t)
	for name, change := range map[string]func(*event.Event){
		"another stack":       func(e *event.Event) { e.Stack++ },
		"another size":        func(e *event.Event) { e.Size++ },
		"a temporary one":     func(e *event.Event) { e.Flags ^= event.Temporary },
		"an allocation fewer": func(e *event.Event) { e.Kind = event.Map },
		"":                    func(*event.Event) {},
	} {
		rec, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), "x")
		if err != nil {
			t.Fatal(err)
		}
		c := &Check{}
		s := newSummaries(rec, c)
		ev := newEvents(rec, newTree(rec, &Check{}, &Check{}), &Check{}, &Check{})
		n := uint64(0)
		if err := rec.Events(func(e *event.Event) bool {
			n++
			ev.paired(n, e)
			if n == 6 {
				change(e)
			}
			s.add(e, n)
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if err := s.compare(ev.peak); err != nil {
			t.Fatal(err)
		}
		if (c.Count == 0) != (name == "") {
			t.Errorf("%q: problems %q", name, c.Problems)
		}
		if c.Count = 0; name == "" {
			wrong := ev.peak
			wrong.Event++
			if err := s.compare(wrong); err != nil || c.Count != 1 {
				t.Errorf("another peak: %v, problems %q", err, c.Problems)
			}
		}
	}
}

func FuzzRecording(f *testing.F) {
	f.Add([]byte{})
	f.Add(consistent().write(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = Recording(bytes.NewReader(b), int64(len(b)), "x")
	})
}
