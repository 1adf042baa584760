package query

import (
	"bytes"
	"context"
	"errors"
	"math/bits"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// TestDevelop compares every step of random series with the model's.
func TestDevelop(t *testing.T) {
	t.Parallel()
	plans := make(map[Plan]int)
	for seed := range uint64(80) {
		rng := rand.New(rand.NewPCG(seed, 4))
		s, events := random(t, seed, []int{0, 1, 60, 200}[seed%4])
		q := randomQuery(rng, s, uint64(len(events)))
		q.At, q.Metrics = nil, []Metric{Bytes}
		steps, top := 1+rng.IntN(9), rng.IntN(4)
		got, err := develop(t.Context(), s, q, steps, top, seed%3/2*shortStep, seed%2 == 0)
		if err != nil {
			t.Fatal(err)
		}
		plans[got.Plan]++
		if len(got.Times) != steps+1 || len(got.Cuts) != steps+1 || len(got.Rows) > top {
			t.Fatalf("seed %d: %d steps, %d rows; asked for %d and %d", seed, len(got.Times), len(got.Rows), steps, top)
		}
		if !slices.IsSorted(got.Times) {
			t.Fatalf("seed %d: %v", seed, got.Times)
		}
		m := newModel(s, events, q)
		for i, cut := range got.Cuts {
			// All events up to the time, and none after it.
			if i > 0 && i < steps && (cut > m.from && events[cut-1].Time > got.Times[i]/100*100 || cut < m.to &&
				events[cut].Time <= got.Times[i]/100*100) {
				t.Fatalf("seed %d: the cut at %d ns is %d", seed, got.Times[i], cut)
			}
			part := *q
			part.Range = &Range{got.Cuts[max(i-1, 0)], cut}
			pm := newModel(s, events, &part)
			point := func(in func(uint64, *event.Event) bool) Point {
				v := pm.values(in)
				return Point{Live: v.LiveBytes, LiveBlocks: v.LiveBlocks, Allocations: v.Allocations, Bytes: v.Bytes,
					Deallocations: v.Deallocations}
			}
			all := point(func(_ uint64, b *event.Event) bool { return m.names(b.Stack) != nil })
			if d := cmp.Diff(all, got.All.Points[i]); d != "" {
				t.Fatalf("seed %d, %+v: all at %d:\n%s", seed, q, cut, d)
			}
			most := all.Live
			if i > 0 {
				most = pm.values(func(_ uint64, b *event.Event) bool { return m.names(b.Stack) != nil }).OwnPeak
			}
			if got.Top[i] != most {
				t.Fatalf("seed %d, %+v: most live in step %d of %v: %d, want %d", seed, q, i, got.Cuts, got.Top[i],
					most)
			}
			sum := got.Rest.Points[i]
			sum.Least = 0
			for k := range got.Rows {
				p := &got.Rows[k].Points[i]
				if p.Least > p.Live || i > 0 && p.Least > got.Rows[k].Points[i-1].Live {
					t.Fatalf("seed %d: at %d, %d live bytes, the least %d", seed, cut, p.Live, p.Least)
				}
				sum.add(p)
				if q.By == ByStack {
					continue
				}
				g := got.Rows[k].Group
				want := point(func(_ uint64, b *event.Event) bool { l := m.of(b); return len(l) > 0 && l[0] == g })
				want.Least = p.Least
				if d := cmp.Diff(want, *p); d != "" {
					t.Fatalf("seed %d, %+v: %+v at %d:\n%s", seed, q, g, cut, d)
				}
			}
			if sum != all {
				t.Fatalf("seed %d: the rows and the rest are %+v, all is %+v", seed, sum, all)
			}
		}
	}
	for _, p := range []Plan{FromSummaries, FromEvents} {
		if plans[p] < 5 {
			t.Errorf("only %d series came from the %s", plans[p], p)
		}
	}
}

// TestFolded: where old events were folded, questions that sums can answer are answered, and others get an error that
// says so.
func TestFolded(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	r.w.Abort()
	w, err := recording.Create(r.path, event.Process{PID: 7}, recording.Options{Fold: recording.Fold{Keep: 1}})
	if err != nil {
		t.Fatal(err)
	}
	r.w = w
	frames := r.code()
	for id := uint32(1); id <= 12; id++ {
		r.w.Node(id, event.Node{Parent: (id - 1) % 4, PC: id})
	}
	th := r.thread(0)
	rng := rand.New(rand.NewPCG(1, 1))
	var kept []uint64
	for len(r.events) < 400_000 {
		r.now += 100 + rng.Int64N(900)
		ref := r.alloc(th, 1+rng.Uint32N(12), rng.Uint64N(1<<40), event.Malloc, 0)
		if rng.IntN(3) > 0 {
			kept = append(kept, ref)
		} else if len(kept) > 0 {
			i := rng.IntN(len(kept))
			r.free(th, kept[i], event.FreeFunc, 0)
			kept = append(kept[:i], kept[i+1:]...)
		}
		if len(r.events)%10_000 == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := r.source(frames)
	detail, _ := s.Reader.DetailFrom()
	if detail == 0 {
		t.Skip("nothing was folded: the file system cannot give disk back")
	}
	whole, err := Flat(t.Context(), s, &Query{Metrics: []Metric{Allocations, Bytes, Live, Peak, Leaked}})
	if err != nil || whole.Total.Allocations != uint64(len(r.allocs)) {
		t.Errorf("the whole: %d allocations, want %d: %v", whole.Total.Allocations, len(r.allocs), err)
	}
	series, err := Develop(t.Context(), s, &Query{By: ByFunction, Metrics: []Metric{Bytes}}, 50, 3)
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(s, r.events, &Query{})
	for i, cut := range series.Cuts {
		live := uint64(0)
		for k := range r.events[:cut] {
			if e := &r.events[k]; e.Kind == event.Alloc {
				live += e.Size
			} else {
				live -= e.Size
			}
		}
		if series.All.Points[i].Live != live {
			t.Errorf("at %d of %d: %d live, want %d", cut, m.to, series.All.Points[i].Live, live)
		}
	}
	_, err = Flat(t.Context(), s, &Query{By: ByThread})
	if !folded(err) {
		t.Errorf("by thread: %v", err)
	}
	late, err := Flat(t.Context(), s, &Query{By: ByThread, Range: &Range{detail, Unbounded}})
	if err != nil || late.Total.Allocations == 0 {
		t.Errorf("by thread from %d on: %+v, %v", detail, late, err)
	}
}

// TestClassify: the statistics of a run and its events have the same classes; of a part of it, there are none.
func TestClassify(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		s, events := random(t, seed, []int{0, 1, 60, 300}[seed%4])
		h, err := Classify(t.Context(), s, &Query{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := Distribute(t.Context(), s, &Query{})
		if err != nil {
			t.Fatal(err)
		}
		sums := func(h *Histogram) []any {
			t := &h.Total
			return []any{h.Sizes, h.Lifetimes, h.NeverFreed, t.Allocations, t.Bytes, t.Deallocations, t.FreedBytes,
				t.MinSize, t.MaxSize, t.Lifetime}
		}
		if d := cmp.Diff(sums(want), sums(h)); d != "" || h.Plan != FromTally {
			t.Errorf("program %d: from the %v (-events +statistics): %s", seed, h.Plan, d)
		}
		for _, q := range []*Query{{Range: &Range{0, uint64(len(events)) / 2}}, {Threads: []uint32{0}},
			{Focus: []*regexp.Regexp{regexp.MustCompile(".")}}, {Sizes: &Interval{0, 9}}} {
			if h, err := Classify(t.Context(), s, q); !errors.Is(err, ErrNotAtOnce) && len(events) > 1 {
				t.Errorf("program %d, %+v: %v, %v", seed, q, h, err)
			}
		}
	}
}

// TestSumThreads: the statistics of a run and its events say the same of threads; of a part of it, there are none.
func TestSumThreads(t *testing.T) {
	t.Parallel()
	metrics := []Metric{Allocations, Bytes, Live, Temporary}
	byThread := func(rows []Row) map[uint32][4]uint64 {
		m := make(map[uint32][4]uint64)
		for _, r := range rows {
			v := &r.Total
			m[r.Thread] = [4]uint64{v.Allocations, v.Bytes, v.LiveBytes, v.Temporary}
		}
		return m
	}
	for seed := range uint64(40) {
		s, events := random(t, seed, []int{0, 1, 60, 300}[seed%4])
		got, err := SumThreads(t.Context(), s, &Query{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := Threads(t.Context(), s, &Query{Metrics: metrics})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(byThread(want.Threads.Rows), byThread(got.Threads.Rows)); d != "" {
			t.Errorf("program %d: threads (-events +statistics): %s", seed, d)
		}
		if d := cmp.Diff(want.Matrix.Cells, got.Matrix.Cells); d != "" || got.Threads.Plan != FromTally {
			t.Errorf("program %d: matrix from the %v (-events +statistics): %s", seed, got.Threads.Plan, d)
		}
		if d := cmp.Diff(want.Freed, got.Freed); d != "" {
			t.Errorf("program %d: freed (-events +statistics): %s", seed, d)
		}
		for _, q := range []*Query{{Range: &Range{0, uint64(len(events)) / 2}}, {Threads: []uint32{0}},
			{Ignore: []*regexp.Regexp{regexp.MustCompile(".")}}, {FreedBy: []uint32{1}}} {
			if a, err := SumThreads(t.Context(), s, q); !errors.Is(err, ErrNotAtOnce) && len(events) > 1 {
				t.Errorf("program %d, %+v: %v, %v", seed, q, a, err)
			}
		}
	}
}

// TestManyThreads: of more than 64 threads, the statistics tell 63 apart, and an answer the 64 that count most.
func TestManyThreads(t *testing.T) {
	t.Parallel()
	for _, threads := range []int{63, 64, 65, 150} {
		rng := rand.New(rand.NewPCG(uint64(threads), 1))
		r := newRecorder(t)
		frames := r.code()
		r.w.Node(1, event.Node{PC: 0})
		list := make([]uint32, threads)
		for i := range list {
			list[i] = r.thread(0)
			r.alloc(list[i], 1, 1, event.Malloc, 0)
		}
		for range 3000 {
			r.now += 100
			ref := r.alloc(list[rng.IntN(threads)], 1, uint64(rng.IntN(100)), event.Malloc, 0)
			if rng.IntN(4) > 0 {
				r.free(list[rng.IntN(threads)], ref, event.FreeFunc, 0)
			}
		}
		s := r.source(frames)
		got, err := SumThreads(t.Context(), s, &Query{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := Threads(t.Context(), s, &Query{Metrics: got.Threads.Metrics})
		if err != nil {
			t.Fatal(err)
		}
		told := threads <= 64
		if slices.Contains(got.Threads.Metrics, Live) != told {
			t.Errorf("%d threads: metrics %v", threads, got.Threads.Metrics)
		}
		if d := cmp.Diff(want.Freed, got.Freed); d != "" || len(got.Threads.Rows) != threads {
			t.Errorf("%d threads: freed (-events +statistics): %s", threads, d)
		}
		sums := &crossings{}
		for _, c := range want.Matrix.Cells {
			if c.Allocated >= 63 && !told {
				c.Allocated = OtherThreads
			}
			if c.Freed >= 63 && !told {
				c.Freed = OtherThreads
			}
			sums.add(c)
		}
		sortCrossings(sums.list)
		if d := cmp.Diff(sums.list, got.Matrix.Cells); d != "" {
			t.Errorf("%d threads: matrix (-events +statistics): %s", threads, d)
		}
		checkCapped(t, want.Matrix, min(threads, 64))
		checkCapped(t, got.Matrix, min(threads, 64))
	}
}

// checkCapped: a capped matrix has the same sums, so many threads on each side, and the others as one.
func checkCapped(t *testing.T, m *Matrix, most int) {
	t.Helper()
	var by, freed = make(map[uint32]uint64), make(map[uint32]uint64)
	for _, c := range m.Cells {
		by[c.Allocated] += c.Bytes
		freed[c.Freed] += c.Bytes
	}
	all, seen := uint64(0), make(map[[2]uint32]bool)
	capped := make(map[uint32]uint64)
	for _, c := range m.Capped(most) {
		all += c.Blocks
		capped[c.Allocated] += c.Bytes
		if key := [2]uint32{c.Allocated, c.Freed}; seen[key] {
			t.Errorf("twice: %+v", c)
		} else {
			seen[key] = true
		}
	}
	if all != m.Total.Deallocations || len(capped) > most+1 {
		t.Errorf("%d blocks by %d threads, want %d by %d", all, len(capped), m.Total.Deallocations, most)
	}
	for thread, bytes := range by {
		if of, ok := capped[thread]; ok && thread != OtherThreads && of != bytes {
			t.Errorf("thread %d: %d bytes, want %d", thread, of, bytes)
		} else if !ok && len(capped) <= most {
			t.Errorf("thread %d is one of the others, which are not there", thread)
		}
	}
}

func TestDistributeAndCross(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 5))
		s, events := random(t, seed, []int{0, 1, 60, 300}[seed%4])
		q := randomQuery(rng, s, uint64(len(events)))
		h, err := Distribute(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		x, err := Cross(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		m := newModel(s, events, q)
		want := &Histogram{Answer: h.Answer, Moves: &Moves{}}
		exact := make(map[uint64]SizeCount)
		cross := make(map[[2]uint32]Bucket)
		ref := uint64(0)
		var sizes []uint64
		for n := range events {
			e, n := &events[n], uint64(n)
			in := n >= m.from && n < m.to && m.names(e.Stack) != nil
			switch e.Kind {
			case event.Alloc:
				if in && m.counts(ref) {
					sizes = append(sizes, e.Size)
					want.Sizes[bits.Len64(e.Size)].add(Bucket{1, e.Size})
					step := 0 // the last one that has begun
					for step+1 < HistSteps && h.StepTime(step+1) <= e.Time && h.Span > 0 {
						step++
					}
					want.Times[step][bits.Len64(e.Size)].add(Bucket{1, e.Size})
					c := exact[e.Size]
					c.Size, c.Count = e.Size, c.Count+1
					if e.Flags&event.HasUsable != 0 {
						c.Slack += e.Usable - e.Size
						want.Usable[bits.Len64(e.Usable)].add(Bucket{1, e.Usable})
						k := &want.Slack[bits.Len64(e.Size)]
						k.Count++
						k.Requested += e.Size
						k.Slack += e.Usable - e.Size
					}
					exact[e.Size] = c
					modelJump(&want.Jumps, want.Moves, events[m.from:n+1])
					died, freed := m.deaths[ref]
					if !freed || died >= m.to {
						want.Live[bits.Len64(e.Size)].add(Bucket{1, e.Size})
					}
					if !freed {
						want.NeverFreed.add(Bucket{1, e.Size})
						want.Kept[bits.Len64(e.Size)].add(Bucket{1, e.Size})
					}
				}
				ref++
			case event.Free:
				if in && m.counts(e.Ref) {
					want.Freed[bits.Len64(e.Size)].add(Bucket{1, e.Size})
					want.Lifetimes[bits.Len64(uint64(e.Time-e.Born))].add(Bucket{1, e.Size})
					want.Ages[bits.Len64(e.Size)][bits.Len64(uint64(e.Time-e.Born))].add(Bucket{1, e.Size})
					b := cross[[2]uint32{e.BornBy, e.Thread}]
					b.add(Bucket{1, e.Size})
					cross[[2]uint32{e.BornBy, e.Thread}] = b
				}
			}
		}
		for i, c := range h.Exact {
			if exact[c.Size] != c || i > 0 && h.Exact[i-1].Count < c.Count {
				t.Fatalf("seed %d: size %+v, want %+v", seed, c, exact[c.Size])
			}
		}
		if len(h.Exact) != len(exact) {
			t.Fatalf("seed %d: %d sizes, want %d", seed, len(h.Exact), len(exact))
		}
		slices.Sort(sizes)
		if len(sizes) > 0 && (h.SizeQuantile(.5) != sizes[(len(sizes)-1)/2] ||
			h.SizeQuantile(1) != sizes[len(sizes)-1]) {
			t.Errorf("seed %d: median %d, want %d", seed, h.SizeQuantile(.5), sizes[(len(sizes)-1)/2])
		}
		reallocations := uint64(0)
		for _, p := range h.Pairs {
			reallocations += p.Count
		}
		if reallocations != h.Jumps.Count() {
			t.Errorf("seed %d: %d reallocations in pairs, %d in all", seed, reallocations, h.Jumps.Count())
		}
		checkHeat(t, h)
		h.Exact, h.Pairs = nil, nil
		if d := cmp.Diff(want, h, sameExpressions); d != "" {
			t.Fatalf("seed %d, %+v:\n%s", seed, q, d)
		}
		for _, c := range x.Cells {
			if (cross[[2]uint32{c.Allocated, c.Freed}] != Bucket{c.Blocks, c.Bytes}) {
				t.Fatalf("seed %d: %+v, want %+v", seed, c, cross[[2]uint32{c.Allocated, c.Freed}])
			}
		}
		if len(x.Cells) != len(cross) {
			t.Fatalf("seed %d: %d pairs of threads, want %d", seed, len(x.Cells), len(cross))
		}
	}
}

// TestGrowth: of stacks that grow without end, grow at the start only, go up and down, or shrink, only the first is
// suspected.
func TestGrowth(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	frames := r.code()
	for id, pc := range []uint32{0, 1, 2, 3, 6} {
		if id > 0 {
			r.w.Node(uint32(id), event.Node{PC: pc})
		}
	}
	th := r.thread(0)
	var shrinking []uint64
	for range 600 {
		shrinking = append(shrinking, r.alloc(th, 4, 100, event.Malloc, 0))
	}
	var saw []uint64
	for i := range 600 {
		r.now += 1e7 // 6 s in all
		r.alloc(th, 1, 50, event.Malloc, 0)
		if i < 150 {
			r.alloc(th, 2, 1000, event.Malloc, 0)
		}
		saw = append(saw, r.alloc(th, 3, 5000, event.Malloc, 0))
		if i%50 == 49 {
			for _, ref := range saw {
				r.free(th, ref, event.FreeFunc, 0)
			}
			saw = nil
		}
		r.free(th, shrinking[i], event.FreeFunc, 0)
	}
	s := r.source(frames)
	for _, short := range []uint64{0, shortStep} { // from summaries, from events
		list, err := growth(t.Context(), s, &Query{By: ByFunction}, short)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 1 || list[0].Function != "b" || list[0].Confidence < .98 || list[0].End != 600*50 ||
			list[0].Slope < 4900 || list[0].Slope > 5100 { // 50 bytes every 10 ms
			t.Errorf("%+v", list)
		}
	}
}

// TestDeep: recursion of 5,000 frames with an allocation at every tenth level, in every shape.
func TestDeep(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	frames := r.code()
	const depth, every = 5000, 10
	const bytes = 8 * depth / every
	th := r.thread(0)
	for id := uint32(1); id <= depth; id++ {
		r.w.Node(id, event.Node{Parent: id - 1, PC: 1})
		if id%every == 0 {
			r.now += 100
			r.alloc(th, id, 8, event.Malloc, 0)
		}
	}
	s := r.source(frames)
	q := &Query{Metrics: []Metric{Bytes, OwnPeak}}
	table, err := Flat(t.Context(), s, q)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 1 || table.Rows[0].Total.Bytes != bytes || table.Rows[0].Total.OwnPeak != bytes {
		t.Errorf("%+v", table.Rows)
	}
	for name, shape := range map[string]func(context.Context, *Source, *Query, Trim) (*Tree, error){"down": TopDown,
		"up": BottomUp} {
		tree, err := shape(t.Context(), s, &Query{}, Trim{})
		if err != nil {
			t.Fatal(err)
		}
		n, levels := tree.Root, 0
		for ; len(n.Children) == 1; n = n.Children[0] {
			levels++
		}
		if levels != depth || tree.Root.Total.Bytes != bytes {
			t.Errorf("%s: %d levels, %d bytes", name, levels, tree.Root.Total.Bytes)
		}
	}
}

// TestDamaged: copies of a recording that were cut short or changed give an answer or an error.
func TestDamaged(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	frames := r.code()
	th := r.thread(0)
	for id := uint32(1); id <= 9; id++ {
		r.w.Node(id, event.Node{Parent: id / 2, PC: id})
	}
	for i := range 100 {
		ref := r.alloc(th, uint32(i%10), uint64(i), event.Malloc, 0)
		if i%3 > 0 {
			r.free(th, ref, event.FreeFunc, 0)
		}
		if i%20 == 0 {
			if err := r.w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.source(frames)
	whole, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	opened := 0
	for i := range 120 {
		b := slices.Clone(whole)
		if i%2 == 0 {
			b = b[:len(b)*i/120]
		} else {
			b[i*7919%len(b)] ^= 0x55
		}
		rd, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), "x")
		if err != nil {
			continue
		}
		s, err := New(t.Context(), rd)
		if err != nil {
			continue
		}
		opened++
		for _, q := range []*Query{{}, {By: ByThread, Metrics: Metrics()},
			{Range: &Range{5, 100}, Metrics: []Metric{Leaked, OwnPeak}}} {
			_, _ = Flat(t.Context(), s, q)
			_, _ = BottomUp(t.Context(), s, q, Trim{})
			_, _ = Develop(t.Context(), s, q, 10, 3)
			_, _ = Timeline(t.Context(), s, q, 1+i%20, i%3 == 0)
			_, _ = Distribute(t.Context(), s, q)
		}
	}
	if opened < 60 {
		t.Errorf("only %d copies could be opened", opened)
	}
}

// TestCancelled: a question can be cancelled.
func TestCancelled(t *testing.T) {
	t.Parallel()
	s, _ := random(t, 3, 200)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Flat(ctx, s, &Query{By: ByThread}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	calls := 0
	q := &Query{By: ByThread, Progress: func(done, total uint64) {
		if done > total {
			t.Errorf("%d of %d", done, total)
		}
		calls++
	}}
	if _, err := Flat(t.Context(), s, q); err != nil || calls == 0 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// TestConcurrent: a Source answers several questions at once.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	s, _ := random(t, 4, 250)
	want, err := Flat(t.Context(), s, &Query{By: ByLine, Metrics: Metrics()})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got, err := Flat(t.Context(), s, &Query{By: ByLine, Metrics: Metrics()})
			if err != nil || !cmp.Equal(want, got) {
				t.Errorf("the answer differs: %v", err)
			}
			if _, err := BottomUp(t.Context(), s, &Query{Sizes: &Interval{1, 99}}, Trim{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestProcesses: a question about other processes has an empty answer.
func TestProcesses(t *testing.T) {
	t.Parallel()
	s, _ := random(t, 3, 200)
	for pid, want := range map[int]bool{7: true, 8: false} {
		table, err := Flat(t.Context(), s, &Query{Processes: []int{pid}})
		if err != nil || (table.Total.Bytes > 0) != want || (len(table.Rows) > 0) != want {
			t.Errorf("process %d: %d bytes, %v", pid, table.Total.Bytes, err)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, m := range Metrics() {
		if got, ok := ParseMetric(m.String()); !ok || got != m || m.Text() == "" {
			t.Errorf("metric %s", m)
		}
	}
	for _, name := range Groupings() {
		if b, ok := ParseBy(name); !ok || b.String() != name {
			t.Errorf("grouping %s", name)
		}
	}
	if _, ok := ParseMetric("size"); ok {
		t.Error("ParseMetric accepts size")
	}
	for class, want := range map[uint8][2]uint64{0: {0, 0}, 1: {1, 1}, 4: {8, 15}, 64: {1 << 63, 1<<64 - 1}} {
		if lo, hi := SizeClass(class); lo != want[0] || hi != want[1] || bits.Len64(lo) != int(class) ||
			bits.Len64(hi) != int(class) {
			t.Errorf("class %d is %d to %d", class, lo, hi)
		}
	}
	for _, c := range []struct {
		pattern, module string
		want            bool
	}{{"libc", "/lib/libc.so.6", true}, {"libc", "/lib/libcrypto.so.3", false}, {"libc*", "/lib/libcrypto.so.3", true},
		{"/lib/libc.so.6", "/lib/libc.so.6", true}, {"*", "", false}, {"app", "/bin/app", true}, {"[", "/bin/app",
			false}} {
		if got := matchModule(c.pattern, c.module); got != c.want {
			t.Errorf("module %q matches %q: %v", c.module, c.pattern, got)
		}
	}
}
