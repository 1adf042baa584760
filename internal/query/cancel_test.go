package query

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// TestCancelledAtOnce: each question that reads events reports progress while it does, and ends with the context's
// error as soon as that is cancelled: no block of events is counted any more.
func TestCancelledAtOnce(t *testing.T) {
	t.Parallel()
	s, events := random(t, 4, 4000)
	n := uint64(len(events))
	part := &Range{n / 4, 3 * n / 4}
	type progress func(done, of uint64)
	type question func(ctx context.Context, progress progress) error
	ask := func(f func(ctx context.Context, q *Query) error, q Query) question {
		return func(ctx context.Context, progress progress) error {
			q.Progress = progress
			return f(ctx, &q)
		}
	}
	flat := func(ctx context.Context, q *Query) error { _, err := Flat(ctx, s, q); return err }
	threads := func(ctx context.Context, q *Query) error { _, err := Threads(ctx, s, q); return err }
	matrix := func(ctx context.Context, q *Query) error { _, err := Cross(ctx, s, q); return err }
	histogram := func(ctx context.Context, q *Query) error { _, err := Distribute(ctx, s, q); return err }
	narrow := func(ctx context.Context, q *Query) error { _, err := Narrow(ctx, s, q); return err }
	for name, question := range map[string]question{
		"leaked of a range": ask(flat, Query{Range: part, Metrics: []Metric{Leaked}}),
		"own peak":          ask(flat, Query{Range: part, Metrics: []Metric{OwnPeak}}),
		"time":              ask(flat, Query{Metrics: []Metric{Time}}),
		"by thread":         ask(flat, Query{By: ByThread}),
		"by size":           ask(flat, Query{By: BySizeClass}),
		"by allocator":      ask(flat, Query{By: ByAllocation}),
		"lifetime":          ask(flat, Query{Lifetimes: &Interval{Max: 1000}}),
		"freed by":          ask(flat, Query{FreedBy: []uint32{0}}),
		"size":              ask(flat, Query{Sizes: &Interval{Max: 100}}),
		"threads":           ask(threads, Query{}),
		"matrix":            ask(matrix, Query{}),
		"histogram":         ask(histogram, Query{}),
		"narrow":            ask(narrow, Query{Range: part}),
		"series": ask(func(ctx context.Context, q *Query) error { _, err := Develop(ctx, s, q, 10, 3); return err },
			Query{By: ByThread}),
		"timeline": ask(func(ctx context.Context, q *Query) error {
			s.timeline = timetravel.Timeline{}
			_, err := Timeline(ctx, s, q, 10, false)
			return err
		}, Query{}),
		"events": ask(func(ctx context.Context, q *Query) error {
			_, err := Events(ctx, s, q, func(_, _ uint64, _ *event.Event) error { return nil })
			return err
		}, Query{}),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var calls atomic.Int32
		err := question(ctx, func(done, of uint64) {
			calls.Add(1)
			if done > of {
				t.Errorf("%s: %d of %d are done", name, done, of)
			}
			cancel()
		})
		cancel()
		// The latest call may be that of the end.
		if !errors.Is(err, context.Canceled) || calls.Load() == 0 || calls.Load() > 2 {
			t.Errorf("%s: %v, and %d reports of progress", name, err, calls.Load())
		}
		if err := question(ctx, func(_, _ uint64) { t.Errorf("%s: cancelled, and it began", name) }); !errors.Is(err,
			context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCancelledOpening: the opening of a recording whose events must be counted first, or read for other reasons, ends
// with the context. The next opening is a whole one.
func TestCancelledOpening(t *testing.T) {
	t.Parallel()
	const n = 3
	for name, kind := range map[string]event.Kind{"without statistics": event.Alloc, "unmatched": event.Unmatched} {
		path := filepath.Join(t.TempDir(), "a.htap")
		w, err := recording.Create(path, event.Process{PID: 7}, recording.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w.Thread(0, event.Thread{TID: 1})
		for i := range n {
			if err := w.Event(&event.Event{Time: int64(100 * i), Kind: kind, Func: event.Malloc, Size: 8,
				Ref: event.NoRef}); err != nil {
				t.Fatal(err)
			}
		}
		if kind == event.Alloc {
			err = w.Flush()
		} else {
			err = w.Finish(recording.Ending{End: 1000, Exited: true})
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := recording.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := New(ctx, r); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		s, err := New(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Profile.Totals.Allocations + s.Profile.Totals.Unmatched; got != n {
			t.Errorf("%s: %d events", name, got)
		}
	}
}

// wide is a recording of many call stacks.
func wide(t *testing.T) *Source {
	t.Helper()
	r := newRecorder(t)
	rng := rand.New(rand.NewPCG(1, 3))
	r.w.Module(event.Module{ID: 1, Path: "/bin/app", Start: 1 << 20, Bias: 1 << 20, Unload: -1})
	r.thread(0)
	frames := make(map[uint32][]event.Frame)
	for id := uint32(1); id <= 1000; id++ {
		r.w.PC(id, event.PC{Addr: 1<<20 + 16*uint64(id), Module: 1})
		frames[id] = []event.Frame{{Function: fmt.Sprint("f", id), File: "x.c", Line: id}}
		r.w.Node(id, event.Node{Parent: rng.Uint32N(id), PC: 1 + rng.Uint32N(1000)})
	}
	for id := uint32(1); id <= 1000; id++ {
		r.now++
		ref := r.alloc(0, id, 10+rng.Uint64N(90), event.Malloc, 0)
		if id%2 == 0 {
			r.free(0, ref, event.FreeFunc, 0)
		}
	}
	return r.source(frames)
}

// countdown is a context that is cancelled when it is looked at for so many times.
type countdown struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
}

func newCountdown(t *testing.T, n int64) *countdown {
	c := &countdown{}
	c.Context, c.cancel = context.WithCancel(t.Context())
	c.left.Store(n)
	return c
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		c.cancel()
	}
	return c.Context.Err()
}

// inMemory are questions that read no events, but build forests, indexes and outlines. Their answers are comparable.
func inMemory() map[string]func(ctx context.Context, s *Source) (any, error) {
	focus := &Query{Focus: each("f[1-7]")}
	outline := func(q *Query, shape Shape, trim Trim) func(ctx context.Context, s *Source) (any, error) {
		return func(ctx context.Context, s *Source) (any, error) {
			o, err := Draw(ctx, s, q, shape, trim)
			if err != nil {
				return nil, err
			}
			return o.Tree(), nil
		}
	}
	curve := func(q *Query, text string) func(ctx context.Context, s *Source) (any, error) {
		return func(ctx context.Context, s *Source) (any, error) {
			return CurveOf(ctx, s, q, func(g *Group) bool { return strings.Contains(g.Function, text) })
		}
	}
	return map[string]func(ctx context.Context, s *Source) (any, error){
		"callees":   outline(&Query{}, Down, Trim{}),
		"callers":   outline(&Query{}, Up, Trim{Nodes: 500}),
		"below":     outline(&Query{}, Down, Trim{Below: []string{"f1", "f2"}}),
		"selected":  outline(focus, Down, Trim{}),
		"by line":   outline(&Query{By: ByLine}, Down, Trim{}),
		"own peak":  outline(&Query{Metrics: []Metric{OwnPeak}}, Down, Trim{}),
		"by thread": outline(&Query{By: ByThread}, Down, Trim{}),
		"table":     func(ctx context.Context, s *Source) (any, error) { return Flat(ctx, s, &Query{By: ByStack}) },
		"sandwich": func(ctx context.Context, s *Source) (any, error) {
			return Sandwich(ctx, s, &Query{}, func(g *Group) bool { return g.Function == "f7" }, Trim{})
		},
		"curve":             curve(&Query{}, "3"),
		"curve of a filter": curve(focus, "3"),
	}
}

// TestCancelledInMemory: a question that is cancelled anywhere ends with that error, soon, and leaves nothing that
// would change the next answer.
func TestCancelledInMemory(t *testing.T) {
	t.Parallel()
	for name, question := range inMemory() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fresh := wide(t)
			withAtlas(t, fresh, 100)
			want, err := question(t.Context(), fresh)
			if err != nil {
				t.Fatal(err)
			}
			s := wide(t)
			a := withAtlas(t, s, 100)
			cancelled := 0
			for n := int64(0); ; n++ {
				ctx := newCountdown(t, n)
				got, err := question(ctx, s)
				if ctx.left.Load() >= 0 {
					if err != nil {
						t.Fatal(err)
					}
					if !reflect.DeepEqual(got, want) {
						t.Fatal("the answer is another one")
					}
					break
				}
				if !errors.Is(err, context.Canceled) || ctx.left.Load() < -8 {
					t.Fatalf("cancelled at look %d: %v after %d more", n, err, -ctx.left.Load())
				}
				cancelled++
				if rest := n % 3; rest == 0 {
					s.UseAtlas(a)
				}
			}
			if cancelled < 4 {
				t.Errorf("the context was looked at %d times only", cancelled)
			}
		})
	}
}

// TestCancelledBesideOthers: some cancel while others wait for the same forest, index or filter.
func TestCancelledBesideOthers(t *testing.T) {
	t.Parallel()
	fresh, s := wide(t), wide(t)
	withAtlas(t, fresh, 100)
	withAtlas(t, s, 100)
	var wg sync.WaitGroup
	for name, question := range inMemory() {
		want, err := question(t.Context(), fresh)
		if err != nil {
			t.Fatal(err)
		}
		for n := range int64(6) {
			wg.Go(func() {
				if _, err := question(newCountdown(t, 3*n), s); err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", name, err)
				}
				got, err := question(t.Context(), s)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s: another answer, or %v", name, err)
				}
			})
		}
	}
	wg.Wait()
}

// TestGate: whoever waits for a gate leaves when its context is cancelled, though nobody opens it.
func TestGate(t *testing.T) {
	t.Parallel()
	g := newGate()
	if err := g.lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error)
	go func() { waits <- g.lock(ctx) }()
	cancel()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	g.unlock()
	if err := g.lock(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, of a gate that is open", err)
	}
	if err := g.lock(t.Context()); err != nil {
		t.Error(err)
	}
}
