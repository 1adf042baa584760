// Package profiletest makes a recording for tests.
package profiletest

import (
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/tally"
)

// ServerProfile opens the recording of Server.
func ServerProfile(t *testing.T) *profile.Profile {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server.4711.htap")
	Server(t, path)
	p, err := profile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	p.Size = 2000 // depends on the packer's version
	return p
}

// sample is the recording under way.
type sample struct {
	t      testing.TB
	w      *recording.Writer
	tally  *tally.Tally
	now    int64
	allocs uint64
	events []event.Event
	pcs    uint32
	nodes  uint32
	frames map[uint32][]event.Frame
}

// fn adds an address with the frames of a function, inlined ones first.
func (s *sample) fn(module uint32, names ...event.Frame) uint32 {
	s.pcs++
	s.w.PC(s.pcs, event.PC{Addr: 0x1000*uint64(module) + 0x10*uint64(s.pcs), Module: module})
	for i := range names {
		names[i].Inlined = i < len(names)-1
	}
	if len(names) > 0 {
		s.frames[s.pcs] = names
	}
	return s.pcs
}

// stack adds a call stack, root first.
func (s *sample) stack(pcs ...uint32) uint32 {
	parent := uint32(0)
	for _, pc := range pcs {
		s.nodes++
		s.w.Node(s.nodes, event.Node{Parent: parent, PC: pc})
		parent = s.nodes
	}
	return parent
}

func (s *sample) add(e event.Event) {
	s.now += 150
	e.Time = recording.Quantise(s.now)
	s.events = append(s.events, e)
}

func (s *sample) alloc(f event.Func, stack uint32, thread uint32, size uint64) uint64 {
	s.add(event.Event{Kind: event.Alloc, Func: f, Thread: thread, Stack: stack, Size: size, Usable: (size + 23) &^ 15,
		Flags: event.HasUsable, Ref: event.NoRef})
	s.allocs++
	return s.allocs - 1
}

func (s *sample) free(thread uint32, ref uint64, flags event.Flags) {
	n := uint64(0)
	for _, a := range s.events {
		if a.Kind != event.Alloc {
			continue
		}
		if n == ref {
			s.add(event.Event{Kind: event.Free, Func: event.FreeFunc, Thread: thread, Stack: a.Stack, Size: a.Size,
				Usable: a.Usable, Flags: flags | event.HasUsable, Ref: ref, Born: a.Time, BornBy: a.Thread})
			return
		}
		n++
	}
	s.t.Fatalf("no allocation %d", ref)
}

// Server writes a small recording that has an example of everything that a report shows.
func Server(t testing.TB, path string) {
	t.Helper()
	w, err := recording.Create(path, event.Process{PID: 4711, Exe: "/usr/bin/server", Dir: "/srv", Host: "build7",
		Args: []string{"server", "--port", "8080", "two words"}, Env: []string{"MALLOC_ARENA_MAX=2"}, Arch: "amd64",
		Recorder: "0.1.0", Agent: 1}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &sample{t: t, w: w, tally: tally.New(), frames: make(map[uint32][]event.Frame)}
	w.Thread(0, event.Thread{TID: 4711, Name: "server"})
	w.Thread(1, event.Thread{TID: 4712, Name: "worker", Start: 2000})
	w.Module(event.Module{ID: 1, Path: "/usr/bin/server", BuildID: []byte{0xab, 0xcd}, Start: 0x1000, End: 0x2000,
		Bias: 0x1000, Unload: -1})
	w.Module(event.Module{ID: 2, Path: "/lib/x86_64-linux-gnu/libc.so.6", Start: 0x2000, End: 0x3000, Bias: 0x2000,
		Unload: -1})
	w.Module(event.Module{ID: 3, Path: "/lib/x86_64-linux-gnu/libstdc++.so.6", Start: 0x3000, End: 0x4000, Bias: 0x3000,
		Unload: -1})
	w.Module(event.Module{ID: 4, Path: "/lib64/ld-linux-x86-64.so.2", Start: 0x4000, End: 0x5000, Bias: 0x4000,
		Unload: -1})
	w.Module(event.Module{ID: 5, Path: "/usr/lib/plugin.so", Start: 0x5000, End: 0x6000, Bias: 0x5000, Loaded: 1500,
		Unload: 90000})
	start := s.fn(1, event.Frame{Function: "_start"})
	libc := s.fn(2, event.Frame{Function: "__libc_start_main@@GLIBC_2.34"})
	main := s.fn(1, event.Frame{Function: "main", File: "/src/server/main.cc", Line: 12})
	parse := s.fn(1,
		event.Frame{Function: "std::vector<std::__cxx11::basic_string<char, std::char_traits<char>, " +
			"std::allocator<char> >, std::allocator<std::__cxx11::basic_string<char, std::char_traits<char>, " +
			"std::allocator<char> > > >::push_back(std::__cxx11::basic_string<char, std::char_traits<char>, " +
			"std::allocator<char> >&&)", File: "/usr/include/c++/12/bits/stl_vector.h", Line: 1287},
		event.Frame{Function: "(anonymous namespace)::Parser::parse(std::istream&)",
			Linkage: "_ZN12_GLOBAL__N_16Parser5parseERSi", File: "/src/server/parser.cc", Line: 88})
	rec := s.fn(1, event.Frame{Function: "walk(Node const*)", File: "/src/server/walk.cc", Line: 31})
	plugin := s.fn(5)
	clone := s.fn(2, event.Frame{Function: "clone3"})
	thread := s.fn(2, event.Frame{Function: "start_thread"})
	worker := s.fn(1, event.Frame{Function: "worker_main", File: "/src/server/worker.cc", Line: 7})
	pool := s.fn(3, event.Frame{Function: "_GLOBAL__sub_I_eh_alloc.cc"})
	loader := s.fn(4, event.Frame{Function: "_dl_init"})

	inParse := s.stack(start, libc, main, parse)
	sameParse := s.stack(start, libc, main, parse) // a second node of the same stack
	deep := s.stack(start, libc, main, rec, rec, rec, rec, parse)
	inPlugin := s.stack(start, libc, main, plugin)
	inWorker := s.stack(clone, thread, worker)
	inPool := s.stack(loader, pool)

	s.alloc(event.Malloc, inPool, 0, 72704)
	kept := s.alloc(event.New, inParse, 0, 4000)
	s.alloc(event.New, sameParse, 0, 100)
	for range 20 {
		s.free(0, s.alloc(event.Malloc, deep, 0, 32), event.Temporary)
	}
	for range 5 {
		s.alloc(event.Malloc, inWorker, 1, 1000)
	}
	a := s.alloc(event.Malloc, inPlugin, 0, 5000)
	s.free(0, a, event.Realloc)
	a = s.alloc(event.ReallocFunc, inPlugin, 0, 9000)
	s.events[len(s.events)-1].Flags |= event.Realloc | event.InPlace
	s.free(1, a, 0)
	s.free(1, kept, 0)
	s.alloc(event.Calloc, inWorker, 1, 0)
	s.add(event.Event{Kind: event.Fail, Func: event.Malloc, Stack: inParse, Size: 1 << 50, Ref: event.NoRef})
	s.add(event.Event{Kind: event.Map, Func: event.Mmap, Stack: inParse, Addr: 0x7f0000000000, Size: 1 << 20,
		Ref: event.NoRef})
	s.add(event.Event{Kind: event.Inherited, Func: event.FreeFunc, Ref: event.NoRef})
	w.Sample(event.Sample{Time: 0, RSS: 1 << 20, Virtual: 8 << 20, Swap: 0, PSS: -1, MinorFaults: 10,
		SystemFree: 1 << 30})
	w.Sample(event.Sample{Time: 10000, RSS: 3 << 20, Virtual: 9 << 20, Swap: 0, PSS: -1, MinorFaults: 90,
		SystemFree: 1 << 29})
	w.Mark(event.Mark{Name: "loaded", Time: 5000, Cut: 3})
	w.Mark(event.Mark{Name: "loaded", Time: 6000, Cut: event.NoCut, Source: event.FromTimer})
	for i := range s.events {
		s.tally.Add(&s.events[i])
	}
	if err := w.Events(s.events); err != nil {
		t.Fatal(err)
	}
	if err := w.Symbols(s.frames); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(recording.Ending{End: 1_234_567_800, Exited: true, Status: "exit status 0",
		Tally: s.tally}); err != nil {
		t.Fatal(err)
	}
}
