package insight

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/owncode"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording"
)

// program is a made-up program that is being recorded: its functions are called by main, and it has one thread.
type program struct {
	t      *testing.T
	w      *recording.Writer
	now    int64
	refs   uint64
	stacks map[string]uint32
	frames map[uint32][]event.Frame
	blocks map[uint64]block
}

type block struct {
	stack uint32
	size  uint64
	born  int64
}

// run records a program, and opens the recording.
func run(t *testing.T, do func(p *program)) *query.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{PID: 7, Exe: "/bin/app"}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, w: w, stacks: map[string]uint32{}, frames: map[uint32][]event.Frame{},
		blocks: map[uint64]block{}}
	w.Thread(0, event.Thread{TID: 7, Name: "app"})
	w.Module(event.Module{ID: 1, Path: "/bin/app", Start: 1 << 20, Bias: 1 << 20, Unload: -1})
	w.PC(1, event.PC{Addr: 1<<20 + 1, Module: 1})
	w.Node(1, event.Node{PC: 1})
	p.frames[1] = []event.Frame{{Function: "main", File: "/src/app.c", Line: 1}}
	do(p)
	if err := w.Symbols(p.frames); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(recording.Ending{End: p.now, Exited: true}); err != nil {
		t.Fatal(err)
	}
	s, err := query.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.Profile.SetCode(owncode.Rules{})
	return s
}

// wait lets time pass, in ms.
func (p *program) wait(ms float64) { p.now += int64(ms * 1e6) }

func (p *program) stack(function string) uint32 {
	id, ok := p.stacks[function]
	if !ok {
		id = uint32(len(p.stacks) + 2)
		p.stacks[function] = id
		p.w.PC(id, event.PC{Addr: 1<<20 + 16*uint64(id), Module: 1})
		p.w.Node(id, event.Node{Parent: 1, PC: id})
		p.frames[id] = []event.Frame{{Function: function, File: "/src/app.c", Line: id}}
	}
	return id
}

func (p *program) event(e event.Event) {
	p.now += 100
	e.Time = recording.Quantise(p.now)
	if err := p.w.Event(&e); err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) malloc(function string, size uint64, flags ...event.Flags) uint64 {
	e := event.Event{Kind: event.Alloc, Func: event.Malloc, Stack: p.stack(function), Size: size, Ref: event.NoRef}
	for _, f := range flags {
		e.Flags |= f
	}
	p.event(e)
	p.refs++
	p.blocks[p.refs-1] = block{e.Stack, size, recording.Quantise(p.now)}
	return p.refs - 1
}

func (p *program) free(ref uint64, flags ...event.Flags) {
	b := p.blocks[ref]
	delete(p.blocks, ref)
	e := event.Event{Kind: event.Free, Func: event.FreeFunc, Stack: b.stack, Size: b.size, Ref: ref, Born: b.born}
	for _, f := range flags {
		e.Flags |= f
	}
	p.event(e)
}

// temporary allocates a block that is freed at once.
func (p *program) temporary(function string, size uint64) {
	p.free(p.malloc(function, size), event.Temporary)
}

// realloc enlarges a block, which moves.
func (p *program) realloc(function string, ref, size uint64, flags ...event.Flags) uint64 {
	p.free(ref, append(flags, event.Realloc)...)
	return p.malloc(function, size, append(flags, event.Realloc)...)
}

func (p *program) mark(name string) {
	p.w.Mark(event.Mark{Time: recording.Quantise(p.now), Name: name})
}

// serve has a server answer requests for 10 s, 1,000 in all; each has some blocks that are freed.
func (p *program) serve(request func(i int)) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		var list []uint64
		for range 1 + rng.IntN(8) {
			list = append(list, p.malloc("parse", 50+rng.Uint64N(500)))
		}
		request(i)
		for _, ref := range list {
			p.free(ref)
		}
		p.wait(10)
	}
}

// cases are programs, and what stands out in them: rule and function.
var cases = []struct {
	name string
	do   func(p *program)
	want []string
}{
	{"nothing", func(*program) {}, nil},
	{"server", func(p *program) { p.serve(func(int) {}) }, nil},

	{"leak", func(p *program) {
		p.serve(func(i int) {
			if i%5 == 0 {
				p.malloc("create", 200)
			}
		})
	}, []string{"growth create"}},
	{"leak in one of 200 functions", func(p *program) {
		p.serve(func(i int) {
			p.free(p.malloc(fmt.Sprintf("handle%d", i%200), 1000))
			if i%200 >= 100 && i%200 < 110 {
				p.malloc("handle77", 700)
			}
		})
	}, []string{"growth handle77"}},
	{"freed at the end", func(p *program) {
		var list []uint64
		p.serve(func(i int) {
			if list = append(list, p.malloc("create", 200)); i == 990 {
				for _, ref := range list {
					p.free(ref)
				}
				list = nil
			}
		})
	}, []string{"growth create"}},
	{"a leak beside what is freed at the end", func(p *program) {
		var list []uint64
		p.serve(func(i int) {
			p.malloc("create", 60)
			if list = append(list, p.malloc("keep", 600)); i == 990 {
				for _, ref := range list {
					p.free(ref)
				}
				list = nil
			}
		})
	}, []string{"growth create", "growth keep"}},
	{"two leaks", func(p *program) {
		p.serve(func(i int) {
			p.malloc("small", 60)
			p.malloc("large", 600)
		})
	}, []string{"growth large", "growth small"}},
	{"a cache that fills", func(p *program) {
		var list []uint64
		p.serve(func(i int) {
			list = append(list, p.malloc("cache", 1000))
			if len(list) > 150 {
				p.free(list[0])
				list = list[1:]
			}
		})
	}, nil},
	{"a buffer that is flushed", func(p *program) {
		var list []uint64
		p.serve(func(i int) {
			if list = append(list, p.malloc("log", 1000)); i%90 == 89 {
				for _, ref := range list {
					p.free(ref)
				}
				list = nil
			}
		})
	}, nil},
	{"only at first", func(p *program) {
		p.serve(func(i int) {
			if i < 400 {
				p.malloc("load", 1000)
			}
		})
	}, nil},
	{"too little", func(p *program) {
		p.malloc("table", 300_000)
		p.serve(func(i int) {
			if i%25 == 0 {
				p.malloc("names", 100)
			}
		})
	}, nil},
	{"a batch program, which keeps everything", func(p *program) {
		p.serve(func(i int) { p.malloc(fmt.Sprintf("node%d", i%20), 100) })
	}, nil},
	{"a short run", func(p *program) {
		for range 1000 {
			p.malloc("read", 200)
			p.wait(.9)
		}
	}, nil},

	{"recurring", func(p *program) {
		p.malloc("table", 100_000)
		for i := range 10 {
			p.mark(fmt.Sprintf("request %d", i))
			for range 20 {
				p.free(p.malloc("work", 300))
			}
			p.malloc("session", 2000)
			p.malloc("session", 2000)
			p.wait(3)
		}
	}, []string{"recurring session"}},
	{"marks, and nothing stays", func(p *program) {
		for i := range 10 {
			p.mark(fmt.Sprintf("request %d", i))
			a := p.malloc("session", 20_000)
			p.wait(3)
			p.free(a)
		}
	}, nil},
	{"marks, and the last one frees", func(p *program) {
		var list []uint64
		for i := range 10 {
			p.mark(fmt.Sprintf("request %d", i))
			list = append(list, p.malloc("session", 20_000))
			p.wait(3)
		}
		for _, ref := range list {
			p.free(ref)
		}
	}, nil},
	{"marks, and what stays depends on the input", func(p *program) {
		for i := range 10 {
			p.mark(fmt.Sprintf("file %d", i))
			for range []int{9, 1, 4, 30, 2, 80, 1, 7, 3, 2}[i] {
				p.malloc("load", 2000)
			}
			p.wait(3)
		}
	}, nil},
	{"marks, and some leave nothing", func(p *program) {
		for i := range 10 {
			p.mark(fmt.Sprintf("phase %d", i))
			if i%2 == 0 {
				p.malloc("load", 20_000)
			}
			p.wait(3)
		}
	}, nil},

	{"small steps", func(p *program) { p.array(2000, 64, func(n uint64) uint64 { return n + 64 }) },
		[]string{"reallocations append"}},
	{"doubling", func(p *program) {
		for range 15 {
			p.array(23, 4, func(n uint64) uint64 { return 2 * n })
		}
	}, nil},
	{"in place", func(p *program) {
		a := p.malloc("append", 64)
		for n := uint64(64); n < 130_000; n += 64 {
			a = p.realloc("append", a, n, event.InPlace)
			p.wait(.05)
		}
	}, nil},
	{"small steps, seldom", func(p *program) {
		p.array(200, 64, func(n uint64) uint64 { return n + 64 })
		p.wait(5000)
	}, nil},

	{"temporaries", func(p *program) {
		for range 400_000 {
			p.temporary("format", 40)
		}
		p.wait(100)
	}, []string{"temporaries format"}},
	{"temporaries in a long run", func(p *program) {
		for range 400_000 {
			p.temporary("format", 40)
		}
		p.wait(10_000)
	}, nil},
	{"freed later", func(p *program) {
		for range 200_000 {
			a, b := p.malloc("left", 40), p.malloc("right", 40)
			p.free(a)
			p.free(b)
		}
	}, nil},
}

// array enlarges an array n times.
func (p *program) array(n int, size uint64, next func(uint64) uint64) {
	a := p.malloc("append", size)
	for range n {
		p.wait(float64(size) / copyRate / 1e6)
		size = next(size)
		a = p.realloc("append", a, size)
	}
	p.free(a)
}

// TestRules: each program shows what it is made to show, and nothing else.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := run(t, c.do)
			list, err := Find(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range list {
				x := &list[i]
				got = append(got, string(x.Rule)+" "+x.Place.Function)
				t.Logf("%s: %s%s [%s] %s", x.SavesText(false), x.Place.Name, Sentence(x.Says, false),
					Sentence(x.Basis, false), strings.Join(x.Show.Command(), " "))
				check(t, s, x)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q stand out, want %q", got, c.want)
			}
		})
	}
}

// check checks that a finding is complete, and that its question shows what it says.
func check(t *testing.T, s *query.Source, x *Finding) {
	t.Helper()
	if x.Place.File != "/src/app.c" || x.Place.Line == 0 || x.Stack == 0 || x.Stacks == 0 || x.Saves <= 0 ||
		x.Share <= 0 || x.Share > 1 || x.Confidence <= 0 || x.Confidence > 1 || len(x.Says) == 0 || len(x.Basis) == 0 {
		t.Errorf("incomplete: %+v", x)
	}
	if x.Show.Focus != "^"+x.Place.Function+"$" || x.Show.Page == "" {
		t.Errorf("shown by %+v", x.Show)
	}
	sum := uint64(0)
	metric, ok := query.ParseMetric(x.Show.Metric)
	if !ok {
		t.Fatalf("no metric %s", x.Show.Metric)
	}
	list, err := query.Flat(t.Context(), s, &query.Query{Metrics: []query.Metric{query.Leaked, query.Live, metric}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Rows {
		if list.Rows[i].Function == x.Place.Function {
			sum, _ = metric.Integer(&list.Rows[i].Self)
		}
	}
	switch {
	case strings.Contains(Sentence(x.Says, false), "Freed only when the program ends"):
		return
	case sum == 0:
		t.Errorf("%s has nothing of %s", x.Place.Name, metric)
	}
	if x.Unit == query.ByteCount && sum > 0 && (x.Saves > float64(sum) || x.Saves < .8*float64(sum)) {
		t.Errorf("a fix saves %v of %d bytes", x.Saves, sum)
	}
}

// TestMappings: what is mapped stands out if it is more than the heap.
func TestMappings(t *testing.T) {
	t.Parallel()
	s := run(t, func(p *program) {
		p.malloc("heap", 1000)
		p.malloc("store", 1) // so that the recording has its call stack
	})
	store := uint32(3)
	for _, c := range []struct {
		mapped, live, slack uint64
		want                int
	}{
		{64 << 20, 10 << 20, 5 << 20, 1},
		{64 << 20, 40 << 20, 30 << 20, 0},
		{6 << 20, 1 << 20, 0, 0},
	} {
		s.Profile.ResidentSets = []profile.ResidentSet{{Time: 5, Bytes: c.mapped + c.live + c.slack,
			Parts: []event.ResidentPart{{Time: 5, Kind: event.ResidentMapping, Stack: store, Bytes: c.mapped},
				{Time: 5, Kind: event.ResidentLive, Bytes: c.live},
				{Time: 5, Kind: event.ResidentSlack, Bytes: c.slack}}}}
		list, err := Find(t.Context(), s)
		if err != nil || len(list) != c.want {
			t.Errorf("%+v: %+v, %v", c, list, err)
		}
		for _, x := range list {
			if x.Rule != Mappings || x.Place.Function != "store" || x.Saves != float64(c.mapped) ||
				x.Show.Focus != "^store$" {
				t.Errorf("%+v", x)
			}
		}
	}
}

// TestUnreturned: free memory stands out if it stays after the peak, is more than what is live, and one function freed
// it.
func TestUnreturned(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	type reading struct{ ms, free, live, other uint64 } // MB
	// A program has 40 MB at 100 ms, of which it frees 7 blocks of 8 until 200 ms; it ends after 1 s.
	fragmented := func(names ...string) *query.Source {
		return run(t, func(p *program) {
			var list []uint64
			for i := range 640 {
				list = append(list, p.malloc(names[i%len(names)], mb/16))
			}
			p.wait(100)
			for i, ref := range list {
				if i/len(names)%8 != 0 {
					p.free(ref)
				}
			}
			p.wait(900)
		})
	}
	stays := []reading{{50, 0, 40, 5}, {250, 35, 5, 5}, {500, 34, 5, 5}, {700, 34, 5, 5}, {900, 34, 5, 5}}
	names := make([]string, 10)
	for i := range names {
		names[i] = fmt.Sprintf("load%d", i)
	}
	for _, c := range []struct {
		name     string
		s        *query.Source
		readings []reading
		free     float64 // 0: nothing stands out
	}{
		{"stays", fragmented("load"), stays, 34 * mb},
		{"no readings", fragmented("load"), nil, 0},
		{"one reading", fragmented("load"), stays[1:2], 0},
		{"only at the end", fragmented("load"),
			[]reading{{250, 0, 40, 5}, {500, 0, 40, 5}, {900, 34, 5, 5}, {950, 34, 5, 5}}, 0},
		{"returned in the end", fragmented("load"), append(slices.Clone(stays), reading{920, 1, 5, 5}), 0},
		{"returned as it ended", fragmented("load"), append(slices.Clone(stays), reading{950, 1, 0, 5}), 34 * mb},
		{"used again", fragmented("load"),
			[]reading{{250, 34, 5, 5}, {500, 34, 5, 5}, {700, 9, 30, 5}, {900, 9, 30, 5}}, 0},
		{"half of the heap", fragmented("load"), []reading{{250, 9, 10, 0}, {500, 9, 10, 0}, {900, 9, 10, 0}}, 0},
		{"little", fragmented("load"), []reading{{250, 7, 1, 0}, {500, 7, 1, 0}, {900, 7, 1, 0}}, 0},
		{"small beside the rest", fragmented("load"),
			[]reading{{250, 34, 5, 200}, {500, 34, 5, 200}, {900, 34, 5, 200}}, 0},
		{"many functions", fragmented(names...), stays, 0},
	} {
		for _, r := range c.readings {
			at := int64(r.ms * 1e6)
			c.s.Profile.ResidentSets = append(c.s.Profile.ResidentSets, profile.ResidentSet{Time: at,
				Bytes: (r.free + r.live + r.other) * mb, Parts: []event.ResidentPart{
					{Time: at, Kind: event.ResidentSlack, Bytes: r.free * mb},
					{Time: at, Kind: event.ResidentLive, Bytes: r.live * mb}}})
		}
		list, err := Find(t.Context(), c.s)
		if err != nil || (len(list) != 0) != (c.free != 0) {
			t.Errorf("%s: %+v, %v", c.name, list, err)
		}
		for _, x := range list {
			said := Sentence(x.Says, false)
			if x.Rule != Unreturned || x.Place.Function != "load" || x.Saves != c.free || x.Measured ||
				x.Show.Focus != "^load$" || !strings.Contains(said, "freed 36.7 MB of 41.9 MB") ||
				!strings.Contains(said, "from 250 ms on") ||
				!strings.Contains(said, "5.24 MB in 80 blocks") {
				t.Errorf("%s: %s %+v", c.name, said, x)
			}
		}
	}
}

// TestBusiest: a burst is where the allocations are.
func TestBusiest(t *testing.T) {
	t.Parallel()
	b := &bursts{times: []int64{0, 10, 20, 30, 40}, rows: map[uint32][]query.Point{
		1: {{}, {Allocations: 1}, {Allocations: 50}, {Allocations: 40}, {Allocations: 1}},
		2: {{}, {Allocations: 8}, {}, {}, {}},
	}}
	if got := b.busiest([]uint32{1, 2}); got != (burst{10, 30, .9}) {
		t.Errorf("%+v", got)
	}
	if got := b.busiest([]uint32{3}); got != (burst{}) {
		t.Errorf("%+v", got)
	}
}

// TestExact: sentences with numbers in full, and with few digits.
func TestExact(t *testing.T) {
	t.Parallel()
	parts := says(value(29300, Rate), ", ", value(120_000, Bytes), " in ", blocks(1200), " at ",
		value(1.5e9, Moment), ", ", value(.375, Share), "; ", value(100.0/60, Rate), "; ", value(.01, Rate))
	const rest = ", 37.5 %; 6.00 kB per hour; 36 B per hour"
	for exact, want := range map[bool]string{
		false: "29.3 kB per second, 120 kB in 1,200 blocks at 1.50 s" + rest,
		true:  "29.3 kB per second, 120,000 B in 1,200 blocks at 1,500,000,000 ns" + rest,
	} {
		if got := Sentence(parts, exact); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
