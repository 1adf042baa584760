package recording_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// recorded writes events in random blocks, and reads the recording.
func recorded(t *testing.T, rng *rand.Rand, events []event.Event, p event.Process,
	o recording.Options) *recording.Reader {
	t.Helper()
	f := newSieve()
	w, err := recording.NewWriter(f, "a.htap", p, o)
	if err != nil {
		t.Fatal(err)
	}
	longest := 2 + rng.IntN(300)
	for i := range events {
		err := w.Event(&events[i])
		if err == nil && rng.IntN(longest) == 0 {
			err = w.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(recording.Ending{}); err != nil {
		t.Fatal(err)
	}
	return openSieve(t, f)
}

// TestTimeline compares the steps of random recordings with a scan of all events: of one and of several threads, with
// rare events, sampled, and folded; with each kind of precision, first and once blocks are known.
func TestTimeline(t *testing.T) {
	t.Parallel()
	rough, inexact, moved, folds := 0, 0, 0, 0
	for seed := range uint64(8 + 72/thinner) {
		rng := rand.New(rand.NewPCG(seed, 41))
		p := program{threads: 1 + rng.IntN(3), stacks: 1 + rng.IntN(600), window: 30, burst: 4,
			foreign: rng.IntN(2) == 0, lifo: .5, realloc: .1, long: .1, tick: int64(1 + rng.IntN(300)),
			odd:      rng.IntN(2) == 0,
			allFrees: rng.IntN(2) == 0, sampled: seed%4 == 1}
		about := event.Process{PID: 1}
		if p.sampled {
			about.Sampling = event.Sampling{Bytes: 1 << 10}
		}
		o := recording.Options{Addresses: rng.IntN(2) == 0}
		events := p.run(seed, 1+rng.IntN(4000))
		for i := range events { // with impossible sizes, sums would overflow
			e := &events[i]
			slack := e.Usable - e.Size
			if e.Size %= 1 << 40; e.Usable != 0 {
				e.Usable = e.Size + slack
			}
		}
		if seed%4 == 2 {
			o.Fold = recording.Fold{Keep: time.Duration(1 + rng.Int64N(events[len(events)-1].Time+1))}.ToTheByte()
		}
		r := recorded(t, rng, events, about, o)
		m := model(events)
		if p.sampled { // with their weights
			m = m[:0]
			if err := r.Events(func(e *event.Event) bool { m = append(m, *e); return true }); err != nil {
				t.Fatal(err)
			}
		}
		detail, _ := r.DetailFrom()
		if detail > 0 {
			folds++
		}
		var line timetravel.Timeline
		for question := range 30 {
			a, b := rng.Uint64N(uint64(len(m)+1)), rng.Uint64N(uint64(len(m)+1))
			from, to := min(a, b), max(a, b)
			if rng.IntN(4) == 0 {
				from, to = 0, uint64(len(m))
			}
			if question == 20 {
				if _, err := line.Prepare(t.Context(), r, func(int, int) {}); err != nil {
					t.Fatal(err)
				}
			}
			if question == 24 { // what a file keeps of it says the same
				contents := line.Append(nil, r)
				line = timetravel.Timeline{}
				if err := line.Restore(contents, r); err != nil {
					t.Fatal(err)
				}
				if n, err := line.Prepare(t.Context(), r, nil); n != 0 || err != nil {
					t.Fatalf("seed %d: %d blocks were not kept: %v", seed, n, err)
				}
			}
			n := 1 + rng.IntN(40)
			begin, end := m.timeAt(from), m.timeAt(to)+rng.Int64N(1000)*int64(rng.IntN(2))
			times := make([]int64, n+1)
			for i := range times {
				times[i] = begin + (end-begin)*int64(i)/int64(n)
			}
			want := timetravel.Precision{Least: rng.IntN(2) == 0}
			if rng.IntN(2) == 0 {
				want.Slack = (end - begin) / int64(n) / int64(2+rng.IntN(8))
			}
			if rng.IntN(3) == 0 {
				want.Blocks = 1 + rng.IntN(3)
			}
			got, isRough, err := line.Steps(t.Context(), r, from, to, times, want)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			x := m.check(t, seed, r, got, times, want, isRough)
			inexact += x.inexact
			moved += x.moved
			if isRough {
				rough++
			}
			if detail <= from && !isRough && (got[0].Cut != from || got[n].Cut != to) {
				t.Fatalf("seed %d: from %d to %d, asked for %d to %d", seed, got[0].Cut, got[n].Cut, from, to)
			}
		}
	}
	if thinner == 1 && (rough < 100 || inexact < 100 || moved < 100 || folds == 0) {
		t.Errorf("%d rough answers, %d inexact steps, %d ends that moved, %d folded recordings: the test tests little",
			rough, inexact, moved, folds)
	}
}

func (m model) timeAt(cut uint64) int64 {
	if cut == 0 {
		return 0
	}
	return m[cut-1].Time / recording.Quantum * recording.Quantum
}

type checked struct{ inexact, moved int }

// check compares steps with the events.
func (m model) check(t *testing.T, seed uint64, r *recording.Reader, got []timetravel.LevelStep, times []int64,
	want timetravel.Precision, rough bool) (x checked) {
	t.Helper()
	detail, _ := r.DetailFrom()
	for k := range got {
		g := &got[k]
		from := got[max(k-1, 0)].Cut
		var w timetravel.LevelStep
		live, blocks := int64(0), int64(0)
		most, least := int64(0), int64(math.MaxInt64)
		for n := uint64(0); n <= g.Cut; n++ {
			if n >= from {
				most, least = max(most, live), min(least, max(live, 0))
			}
			if n == g.Cut {
				break
			}
			weight, bytes := m[n].Weight()
			switch m[n].Kind {
			case event.Alloc:
				live, blocks = live+int64(bytes), blocks+int64(weight)
				if n >= from {
					w.Allocs, w.Bytes = w.Allocs+weight, w.Bytes+bytes
				}
			case event.Free:
				live, blocks = live-int64(bytes), blocks-int64(weight)
				if n >= from {
					w.Frees += weight
				}
			}
		}
		w.Time, w.Cut, w.Live, w.Blocks, w.Most, w.Least = g.Time, g.Cut, uint64(live), uint64(blocks), uint64(most),
			uint64(least)
		if w.Exact = g.Exact; !g.Exact {
			x.inexact++
			if g.Least < w.Least || g.Bytes > w.Bytes || want.Least && want.Blocks == 0 && detail <= from {
				t.Fatalf("seed %d, %+v: step %d: %+v, want %+v", seed, want, k, *g, w)
			}
			w.Least, w.Bytes = g.Least, g.Bytes
		}
		if *g != w {
			t.Fatalf("seed %d, %+v: step %d of %d to %d:\n%+v, want\n%+v", seed, want, k, from, g.Cut, *g, w)
		}
		if k == 0 || k == len(got)-1 {
			continue
		}
		away := max(g.Time-times[k], times[k]-g.Time)
		if away > 0 {
			x.moved++
		}
		if away > want.Slack && !rough {
			t.Fatalf("seed %d, %+v: step %d ends at %d instead of %d", seed, want, k, g.Time, times[k])
		}
		if g.Cut > 0 && m.timeAt(g.Cut) > g.Time || want.Slack == 0 && !rough && g.Cut < got[len(got)-1].Cut &&
			m.timeAt(g.Cut+1) <= g.Time/recording.Quantum*recording.Quantum {
			t.Fatalf("seed %d: step %d ends at %d, at event %d of %d", seed, k, g.Time, g.Cut, len(m))
		}
	}
	if !slices.IsSortedFunc(got, func(a, b timetravel.LevelStep) int { return int(a.Time - b.Time) }) {
		t.Fatalf("seed %d: times do not rise: %+v", seed, got)
	}
	return x
}

// TestLevels compares the levels of blocks at random stops with the events, also of impossible sizes.
func TestLevels(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 43))
		p := program{threads: 1 + rng.IntN(3), stacks: 1 + rng.IntN(70_000), window: 30, burst: 4, foreign: true,
			lifo: .5, realloc: .1, long: .1, tick: int64(1 + rng.IntN(300)),
			odd: true, allFrees: true, sampled: seed%4 == 1}
		about := event.Process{PID: 1}
		if p.sampled {
			about.Sampling = event.Sampling{Calls: 3}
		}
		r := recorded(t, rng, p.run(seed, 1000), about, recording.Options{Addresses: seed%2 == 0})
		blocks := r.EventBlocks()
		for i := range blocks.Len() {
			h := blocks.Head(i)
			list := make([]recording.Level, 1, h.Events+1) // before and after each event
			list[0].Time, list[0].Next = uint64(blocks.Begin(i)), uint64(blocks.Begin(i))
			if err := blocks.Decode(i, recording.AllFields, func(_, _ uint64, e *event.Event) bool {
				v := list[len(list)-1]
				n, bytes := e.Weight()
				v.Number++
				v.Live += block.Delta(e)
				v.Time = uint64(e.Time)
				list[len(list)-1].Next = v.Time
				switch e.Kind {
				case event.Alloc:
					v.Allocs, v.Bytes = v.Allocs+n, v.Bytes+bytes
				case event.Free:
					v.Frees += n
				}
				list = append(list, v)
				return true
			}); err != nil {
				t.Fatal(err)
			}
			list[h.Events].Next = list[h.Events].Time
			before, number, time := uint64(0), uint64(0), int64(0)
			if err := blocks.Levels(i, func(v *recording.Level) (uint64, int64) {
				w := list[v.Number]
				w.Most, w.Least = w.Live, w.Live
				for _, x := range list[before:v.Number] {
					w.Most, w.Least = max(w.Most, x.Live), min(w.Least, x.Live)
				}
				if *v != w {
					t.Fatalf("seed %d, block %d: %+v, want %+v", seed, i, *v, w)
				}
				if v.Number > 0 && v.Number < h.Events && v.Number < number && int64(v.Next) <= time {
					t.Fatalf("seed %d, block %d: %+v, asked for %d or %d", seed, i, *v, number, time)
				}
				for _, x := range list[before+1 : max(v.Number, before+1)] {
					if x.Number >= number || int64(x.Next) > time {
						t.Fatalf("seed %d, block %d: no stop at %d", seed, i, x.Number)
					}
				}
				before, number, time = v.Number, v.Number+1+rng.Uint64N(50), int64(v.Next)+rng.Int64N(20*p.tick+1)
				return number, time
			}); err != nil || before != h.Events {
				t.Fatal(before, err)
			}
		}
	}
}

// TestTimelineCancelled: a cancelled question ends with the context's error, also while blocks are decoded.
func TestTimelineCancelled(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	events := program{threads: 1, stacks: 3, window: 30, tick: 100}.run(1, 3000)
	r := recorded(t, rng, events, event.Process{}, recording.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var line timetravel.Timeline
	_, err := line.Prepare(ctx, r, func(int, int) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	_, last := r.Cuts()
	end, _ := r.TimeAt(last)
	if _, _, err := line.Steps(ctx, r, 0, last, []int64{0, end / 2, end}, timetravel.Precision{}); !errors.Is(err,
		context.Canceled) {
		t.Fatal(err)
	}
}

// FuzzRestore: whatever a file of levels has, it is refused, or a timeline can be asked anything.
func FuzzRestore(f *testing.F) {
	events := (&program{threads: 1, stacks: 5, window: 30, burst: 4, lifo: .5, tick: 5}).run(1, 300)
	w := newSieve()
	out, err := recording.NewWriter(w, "a.htap", event.Process{PID: 1}, recording.Options{})
	for i := range events {
		if err == nil {
			err = out.Event(&events[i])
		}
		if err == nil && i%50 == 49 {
			err = out.Flush()
		}
	}
	if err == nil {
		err = out.Finish(recording.Ending{})
	}
	if err != nil {
		f.Fatal(err)
	}
	r := openSieve(f, w)
	var line timetravel.Timeline
	if _, err := line.Prepare(f.Context(), r, nil); err != nil {
		f.Fatal(err)
	}
	whole := line.Append(nil, r)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, contents []byte) {
		var line timetravel.Timeline
		_ = line.Restore(contents, r)
		_, last := r.Cuts()
		end := events[len(events)-1].Time
		for _, n := range []int64{1, 40} {
			times := make([]int64, n+1)
			for i := range times {
				times[i] = end * int64(i) / n
			}
			if _, _, err := line.Steps(t.Context(), r, 0, last, times, timetravel.Precision{Least: true}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
