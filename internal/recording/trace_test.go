package recording_test

import (
	"math/rand/v2"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// shape describes a synthetic program.
type program struct {
	threads  int
	stacks   int     // different call stacks
	skew     float64 // how much a few stacks prevail
	window   int     // blocks alive at once, about
	burst    int     // events of one thread before another one goes on
	foreign  bool    // threads free one another's blocks
	repeat   float64 // how often the next allocation follows the program's cycle instead of chance
	lifo     float64 // how often the latest block is freed first
	realloc  float64
	long     float64 // share of blocks that live until the end
	tick     int64   // ns between events, about
	odd      bool    // everything that is rare, too
	allFrees bool    // deallocations have stacks
	sampled  bool    // of three allocations one is
}

var programs = map[string]program{
	"loop": {threads: 1, stacks: 1, window: 8, repeat: 1, tick: 40},
	"cc1plus": {threads: 1, stacks: 20000, skew: 1.3, window: 20000, lifo: .6, realloc: .02, long: .15, repeat: .4,
		tick: 150},
	"python":   {threads: 1, stacks: 400, skew: 1.2, window: 3000, repeat: .95, lifo: .8, long: .01, tick: 60},
	"threads4": {threads: 4, stacks: 200, skew: 1.2, window: 2000, burst: 24, foreign: true, repeat: .7, tick: 60},
}

// run makes n events as a ledger would.
func (p program) run(seed uint64, n int) []event.Event {
	r := rand.New(rand.NewPCG(seed, 7))
	type block struct {
		at  int // index of its event
		ref uint64
	}
	type stack struct {
		fn    event.Func
		size  uint64
		fixed bool
	}
	stacks := make([]stack, p.stacks+1)
	for i := range stacks {
		stacks[i] = stack{event.Malloc, uint64(16 + r.IntN(500)), r.IntN(4) > 0}
		switch r.IntN(8) {
		case 0:
			stacks[i].fn = event.New
		case 1:
			stacks[i].fn = event.Calloc
		}
	}
	zipf := rand.NewZipf(r, max(p.skew, 1.01), 1, uint64(p.stacks-1))
	cycle := make([]uint32, 64)
	for i := range cycle {
		cycle[i] = uint32(zipf.Uint64()) + 1
	}
	heap := allocator{freed: map[uint64][]uint64{}}
	live := make([][]block, p.threads)
	last := make([]uint64, p.threads)
	for i := range last {
		last[i] = event.NoRef
	}
	out := make([]event.Event, 0, n+4)
	var now int64
	var allocs uint64
	pos := 0
	add := func(e event.Event) {
		now += r.Int64N(2*p.tick + 1)
		if r.IntN(500) == 0 {
			now += r.Int64N(100_000)
		}
		e.Time = recording.Quantise(now)
		out = append(out, e)
	}
	alloc := func(th int, flags event.Flags) {
		pos++
		id := cycle[pos%len(cycle)]
		if r.Float64() >= p.repeat {
			id = uint32(zipf.Uint64()) + 1
		}
		s := stacks[id]
		size := s.size
		if !s.fixed || p.stacks == 1 {
			size = uint64(16 + (pos*37)%497)
			if r.Float64() >= p.repeat {
				size = uint64(r.IntN(512))
			}
		}
		e := event.Event{Kind: event.Alloc, Func: s.fn, Thread: uint32(th), Stack: id, Size: size, Ref: event.NoRef,
			Flags: flags}
		if flags&event.Realloc != 0 {
			e.Func = event.ReallocFunc
		}
		if r.IntN(1000) > 0 {
			e.Flags |= event.HasUsable
			e.Usable = max(24, (size+8+15)&^15-8)
			if r.IntN(11) == 0 {
				e.Usable += 16
			}
		}
		e.Addr = heap.alloc(r, e.Size)
		if p.odd {
			p.oddities(r, &e)
		}
		if (p.sampled || p.odd) && pos%3 == 0 && e.Kind == event.Alloc {
			e.Flags |= event.Sampled
		}
		add(e)
		if e.Kind == event.Alloc {
			live[th] = append(live[th], block{len(out) - 1, allocs})
			last[th] = allocs
			allocs++
		}
	}
	free := func(th, of, i int, flags event.Flags) {
		l := live[of]
		b := l[i]
		copy(l[i:], l[i+1:])
		live[of] = l[:len(l)-1]
		was := &out[b.at]
		fn := event.FreeFunc
		if was.Func == event.New {
			fn = event.Delete
		}
		e := event.Event{Kind: event.Free, Func: fn, Thread: uint32(th), Stack: was.Stack, Size: was.Size,
			Usable: was.Usable, Flags: flags | was.Flags&(event.HasUsable|event.Sampled), Ref: b.ref, Addr: was.Addr,
			Born: was.Time, BornBy: was.Thread}
		heap.free(was.Size, was.Addr)
		if last[th] == b.ref && flags == 0 && e.Flags&event.Sampled == 0 {
			e.Flags |= event.Temporary
		}
		if p.allFrees {
			e.FreeStack = uint32(1 + r.IntN(p.stacks))
		}
		add(e)
	}
	th := 0
	for len(out) < n {
		if p.burst > 0 && r.IntN(p.burst) == 0 {
			th = r.IntN(p.threads)
		}
		of := th
		if p.foreign {
			of = (th + p.threads/2) % p.threads
		}
		if k := len(live[of]); k > p.window/p.threads || k > 0 && r.IntN(3) == 0 && p.window > 8 {
			i := k - 1
			switch {
			case p.window <= 8:
				i = 0
			case r.Float64() >= p.lifo:
				i = k - 1 - int(float64(k)*r.Float64()*r.Float64())
			}
			i = max(i, 0)
			if r.Float64() < p.realloc {
				free(th, of, i, event.Realloc)
				alloc(th, event.Realloc|event.Flags(r.IntN(2))*event.InPlace)
				continue
			}
			if r.Float64() < p.long {
				alloc(th, 0)
				continue
			}
			free(th, of, i, 0)
		}
		alloc(th, 0)
		if p.odd && r.IntN(10) == 0 {
			add(p.other(r, th))
		}
	}
	return out[:n]
}

// allocator mostly hands out what was freed last; otherwise it takes new memory.
type allocator struct {
	freed map[uint64][]uint64 // by size in units of 16 bytes
	top   uint64
}

func (h *allocator) alloc(r *rand.Rand, size uint64) uint64 {
	switch l := h.freed[size/16]; {
	case r.IntN(50) == 0: // elsewhere, not always aligned
		return 0x7f00_0000_0000 + uint64(r.IntN(1<<24))*8
	case len(l) > 0:
		i := max(0, len(l)-1-int(r.ExpFloat64()*2))
		addr := l[i]
		h.freed[size/16] = append(l[:i], l[i+1:]...)
		return addr
	}
	h.top += (size+16)&^15 + 16
	return 0x5500_0000_0000 + h.top
}

func (h *allocator) free(size, addr uint64) { h.freed[size/16] = append(h.freed[size/16], addr) }

// oddities changes an allocation into one of the rare ones.
func (p program) oddities(r *rand.Rand, e *event.Event) {
	switch r.IntN(20) {
	case 0:
		e.Align = 1 << r.IntN(20)
		e.Func = event.PosixMemalign
	case 1:
		e.Func, e.Count = event.Calloc, uint64(r.IntN(100))
	case 2:
		e.Size = r.Uint64() >> r.IntN(40)
		e.Usable = 0
		e.Flags &^= event.HasUsable
	case 3:
		*e = event.Event{Kind: event.Fail, Func: event.Malloc, Thread: e.Thread, Stack: e.Stack, Size: ^uint64(0),
			Ref: event.NoRef}
	case 4:
		*e = event.Event{Kind: event.Map, Func: event.Mremap, Thread: e.Thread, Stack: e.Stack, Size: 1 << 20,
			Addr: 0x7f00_0000_0000, OldAddr: 0x7f00_1000_0000, OldSize: 4096, Ref: event.NoRef}
	case 5:
		e.Flags |= event.HasUsable
		e.Usable = e.Size + uint64(r.IntN(100_000))
	case 6:
		e.Flags |= event.HasUsable
		e.Usable = e.Size - min(e.Size, 5)
	case 7:
		e.Stack = 0
	case 8:
		e.Flags |= event.Late
	}
}

func (p program) other(r *rand.Rand, th int) event.Event {
	e := event.Event{Kind: event.Unmatched, Func: event.FreeFunc, Thread: uint32(th), Addr: r.Uint64() >> 16,
		Ref: event.NoRef}
	switch r.IntN(4) {
	case 0:
		e.Kind = event.Inherited
		e.Addr = 0
	case 1:
		e.Kind = event.Inherited
		e.Addr = 0
		e.Stack, e.Size, e.Born, e.BornBy, e.Ref = 3, 100, 500, 1, 12
		e.FreeStack = 2
	case 2:
		e.Kind = event.Unrecorded
	}
	return e
}

// programEvents makes n events of a program with threads, reallocs and blocks that threads free for one another.
func programEvents(seed uint64, n int) []event.Event {
	return program{threads: 3, stacks: 9, window: 25, burst: 4, foreign: seed%2 == 0, lifo: .5, realloc: .15, long: .1,
		tick: 100}.run(seed, n)
}

// oddEvents makes n events, with all rare kinds among them.
func oddEvents(seed uint64, n int) []event.Event {
	return program{threads: 3, stacks: 6, window: 10, burst: 3, lifo: .5, realloc: .1, tick: 100, odd: true,
		allFrees: true}.run(seed, n)
}
