package recording_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
	"github.com/heaptap/heaptap/internal/tally"
)

// sieve is a file in memory that can have holes.
type sieve struct {
	disk
	gone   []bool
	refuse error
	synced int
	after  func() // is called after each step
}

func newSieve() *sieve { return &sieve{disk: disk{limit: 1 << 40}} }

func (s *sieve) Punch(off, n int64) error {
	s.Lock()
	defer s.Unlock()
	if s.refuse != nil {
		return s.refuse
	}
	if off >= int64(len(s.data)) {
		return nil
	}
	if s.synced < len(s.data) {
		return errors.New("a hole before what it is for is safe")
	}
	for len(s.gone) < len(s.data) {
		s.gone = append(s.gone, false)
	}
	for i := off; i < off+n; i++ {
		s.data[i], s.gone[i] = 0, true
	}
	s.step()
	return nil
}

func (s *sieve) Used() (int64, error) {
	s.Lock()
	defer s.Unlock()
	n := int64(len(s.data))
	for _, g := range s.gone {
		if g {
			n--
		}
	}
	return n, nil
}

func (s *sieve) Sync() error { s.Lock(); defer s.Unlock(); s.synced = len(s.data); return nil }

func (s *sieve) WriteAt(p []byte, at int64) (int, error) {
	s.Lock()
	defer s.Unlock()
	defer s.step()
	return s.disk.WriteAt(p, at)
}

func (s *sieve) step() {
	if s.after != nil {
		s.after()
	}
}

func (s *sieve) ReadAt(p []byte, at int64) (int, error) {
	s.Lock()
	defer s.Unlock()
	return bytes.NewReader(s.data).ReadAt(p, at)
}

func (s *sieve) measure() (int64, error) { s.Lock(); defer s.Unlock(); return int64(len(s.data)), nil }

// TestFold asks random questions about random recordings that were folded while they were written: finished ones, those
// of a recorder that was killed, and those that a reader followed. Each answer is that of the model, or an error; then
// there are answers at the cuts that the error names.
func TestFold(t *testing.T) {
	t.Parallel()
	some, coarse, refused, levels := 0, 0, 0, 0
	for seed := range uint64(3 + 29/thinner) {
		rng := rand.New(rand.NewPCG(seed, 31))
		n := 200 + rng.IntN(5000)
		p := program{threads: 1 + rng.IntN(3), stacks: 1 + rng.IntN(40), window: 30, burst: 4,
			foreign: rng.IntN(2) == 0,
			lifo:    .5, realloc: .1, long: .1, tick: int64(1 + rng.IntN(150))}
		events := model(p.run(seed, n))
		f := newSieve()
		fold := recording.Fold{Notice: func(s string) {
			if !strings.Contains(s, "more than the") {
				t.Error(s)
			}
		}}
		if seed%3 != 0 {
			fold.Keep = time.Duration(1 + rng.Int64N(events[n-1].Time))
		}
		if seed%3 != 1 {
			fold.MaxSize = int64(1000 + rng.IntN(20*n))
		}
		w, err := recording.NewWriter(f, "a.htap", event.Process{},
			recording.Options{Addresses: true, Fold: fold.ToTheByte()})
		if err != nil {
			t.Fatal(err)
		}
		follower := openSieve(t, f)
		longest := 2 + rng.IntN(40)
		if seed%4 == 0 {
			longest = 2 + rng.IntN(4) // so that there are summaries of level 2
		}
		for i := range events {
			if err := w.Event(&events[i]); err != nil {
				t.Fatal(err)
			}
			if rng.IntN(longest) == 0 {
				if rng.IntN(2) == 0 {
					w.FlushLater(nil)
				} else if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			if rng.IntN(500) == 0 {
				w.Wait()
				if _, err := follower.Refresh(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if seed%2 == 0 {
			err = w.Finish(recording.Ending{})
		} else if err = w.Flush(); err == nil {
			err = w.Abort()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := follower.Refresh(); err != nil {
			t.Fatal(err)
		}
		for i, r := range []*recording.Reader{openSieve(t, f), follower} {
			x := &inquiry{t, rng, events, r, seed*10 + uint64(i)}
			c, u := x.ask(t.Context())
			coarse += c
			refused += u
		}
		cut, at := follower.DetailFrom()
		if cut > 0 {
			some++
		}
		if last := events[n-1].Time; fold.MaxSize == 0 && cut > 0 && at+int64(fold.Keep) > last {
			t.Fatalf("seed %d: folded up to %d, of %d, although %d are to be kept", seed, at, last, fold.Keep)
		}
		for _, b := range follower.Blocks() {
			if b.Folded {
				levels = max(levels, b.Level)
			}
		}
	}
	if some < 20/thinner || coarse < 100/thinner || refused < 100/thinner || levels < 1 {
		t.Errorf("%d recordings were folded, summaries up to level %d, %d answers at boundaries, %d refusals: the "+
			"test tests little", some, levels,
			coarse, refused)
	}
}

func openSieve(t testing.TB, f *sieve) *recording.Reader {
	size, _ := f.measure()
	r, err := recording.NewReader(f, size, "a.htap")
	if err != nil {
		t.Fatal(err)
	}
	r.Grows(f.measure)
	return r
}

// inquiry compares a recording with its events.
type inquiry struct {
	t      *testing.T
	rng    *rand.Rand
	events model
	r      *recording.Reader
	seed   uint64
}

func (x *inquiry) ask(ctx context.Context) (coarse, refused int) {
	t, r, events := x.t, x.r, x.events
	n := uint64(len(events))
	d := slices.DeleteFunc(r.Damage(), func(s string) bool { return strings.HasPrefix(s, "the ending is missing") })
	if len(d) > 0 {
		t.Fatalf("seed %d: damage: %q", x.seed, d)
	}
	if first, last := r.Cuts(); first != 0 || last != n {
		t.Fatalf("seed %d: cuts %d to %d", x.seed, first, last)
	}
	detail, at := r.DetailFrom()
	if detail > 0 && at != events[detail-1].Time {
		t.Fatalf("seed %d: details from %d ns, want %d", x.seed, at, events[detail-1].Time)
	}
	count := tally.New()
	for i := range events {
		count.Add(&events[i])
	}
	sum, err := r.Tally()
	if err != nil || !reflect.DeepEqual(sum, count.Summary()) {
		t.Fatalf("seed %d: the statistics are not those of the events: %v", x.seed, err)
	}
	_, err = r.Recount()
	x.refusal(err, detail > 0, "counting anew")
	i := detail
	err = r.Events(func(e *event.Event) bool {
		if e.Time != events[i].Time || e.Ref != events[i].Ref || e.Stack != events[i].Stack ||
			e.Size != events[i].Size {
			t.Fatalf("seed %d: event %d is %+v, want %+v", x.seed, i, *e, events[i])
		}
		i++
		return true
	})
	if x.refusal(err, detail > 0, "all events"); i != n {
		t.Fatalf("seed %d: %d events, want %d", x.seed, i-detail, n-detail)
	}
	for _, b := range r.Blocks() {
		end := b.FirstEvent + b.Events
		if before, _ := r.Around(end); before != end && b.Type == "summary" && !b.Folded {
			t.Fatalf("seed %d: no answers at %d, where a summary of level %d ends", x.seed, end, b.Level)
		}
	}
	x.peak(ctx, &sum.Totals.Peak)
	for range 40 {
		a, b := x.cut(), x.cut()
		a, b = min(a, b), max(a, b)
		if x.range_(ctx, a, b) {
			if a < detail || b < detail {
				coarse++
			}
		} else {
			refused++
		}
		x.times(b, detail)
	}
	return coarse, refused
}

// cut chooses a cut, often one at which there are answers.
func (x *inquiry) cut() uint64 {
	c := x.rng.Uint64N(uint64(len(x.events)) + 1)
	if before, after := x.r.Around(c); x.rng.IntN(3) == 0 {
		return before
	} else if x.rng.IntN(2) == 0 {
		return after
	}
	return c
}

func (x *inquiry) refusal(err error, want bool, what string) {
	x.t.Helper()
	var f *recording.FoldedError
	if err != nil && !errors.As(err, &f) || want != (err != nil) {
		x.t.Fatalf("seed %d: %s: %v, want a refusal: %t", x.seed, what, err, want)
	}
}

// range_ asks about what is between two cuts, and reports whether there are answers.
func (x *inquiry) range_(ctx context.Context, a, b uint64) bool {
	t, r, events := x.t, x.r, x.events
	got, err := timetravel.Changes(ctx, r, a, b)
	var folded *recording.FoldedError
	if errors.As(err, &folded) {
		if folded.Before >= folded.After || folded.Cut == 0 ||
			!(folded.Before < a && a < folded.After || folded.Before < b && b < folded.After) {
			t.Fatalf("seed %d: changes %d to %d: %+v", x.seed, a, b, folded)
		}
		if _, err := timetravel.Changes(ctx, r, folded.Before, folded.After); err != nil {
			t.Fatalf("seed %d: no changes %d to %d either: %v", x.seed, folded.Before, folded.After, err)
		}
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := events.changes(a, b); !slices.Equal(byStack(got.List()), want) {
		t.Fatalf("seed %d: changes %d to %d:\n%+v\n%+v", x.seed, a, b, byStack(got.List()), want)
	}
	x.live(ctx, b)
	detail, _ := r.DetailFrom()
	best, at := events.highest(a, b)
	if bytes, cut, err := timetravel.PeakBetween(ctx, r, a, b); a < b {
		if errors.As(err, &folded) && at <= detail && bytes == best && cut >= at {
			err, cut = nil, at
		}
		if err != nil || bytes != best || cut != at {
			t.Fatalf("seed %d: peak between %d and %d: %d at %d, want %d at %d (%v)", x.seed, a, b, bytes, cut, best,
				at, err)
		}
	}
	steps := 1 + x.rng.IntN(20)
	levels, err := timetravel.Levels(ctx, r, a, b, steps)
	if err != nil {
		t.Fatal(err)
	}
	last := a
	for _, l := range levels {
		if top, _ := events.highest(last, l.Cut); int64(l.Bytes) != events.live(l.Cut) || l.Top < l.Bytes ||
			l.Top > top && last != a {
			t.Fatalf("seed %d: level at %d: %+v, want %d, at most %d", x.seed, l.Cut, l, events.live(l.Cut), top)
		}
		last = l.Cut
	}
	if end := blockOf(r, a) == blockOf(r, b); last != b && blockOf(r, last) != blockOf(r, b) && !end {
		t.Fatalf("seed %d: levels of %d to %d end at %d", x.seed, a, b, last)
	}
	var all recording.Changes
	last = 0
	if err := timetravel.Series(ctx, r, a, b, steps, func(cut uint64, list []recording.Change) {
		for j := range list {
			all.Add(&list[j])
		}
		if got := byStack(all.List()); cut < last || !slices.Equal(got, events.changes(0, cut)) {
			t.Fatalf("seed %d: series of %d to %d in %d steps at %d is wrong", x.seed, a, b, steps, cut)
		}
		last = cut
	}); err != nil || last != b {
		t.Fatalf("seed %d: series ends at %d, want %d: %v", x.seed, last, b, err)
	}
	i := a
	err = r.EventsBetween(ctx, a, b, func(k, _ uint64, e *event.Event) bool {
		if k != i || e.Time != events[i].Time || e.Addr != events[i].Addr {
			t.Fatalf("seed %d: event %d is %+v, want %d %+v", x.seed, k, *e, i, events[i])
		}
		i++
		return true
	})
	if x.refusal(err, a < b && a < detail, "events between"); err == nil && i != b {
		t.Fatalf("seed %d: events %d to %d end at %d", x.seed, a, b, i)
	}
	return true
}

func (x *inquiry) live(ctx context.Context, cut uint64) {
	live, err := timetravel.LiveAt(ctx, x.r, cut)
	if err != nil {
		x.t.Fatalf("seed %d: live at %d: %v", x.seed, cut, err)
	}
	var got []timetravel.Live
	for _, c := range x.events.changes(0, cut) {
		if c.Allocs != c.Frees || c.Net() != 0 {
			got = append(got, timetravel.Live{Stack: c.Stack, Blocks: c.Allocs - c.Frees, Bytes: uint64(c.Net())})
		}
	}
	slices.SortFunc(live, func(a, b timetravel.Live) int { return int(a.Stack) - int(b.Stack) })
	if !slices.Equal(got, live) {
		x.t.Fatalf("seed %d: live at %d: %+v, want %+v", x.seed, cut, live, got)
	}
}

// peak asks about the peak of the whole recording, which is known even if it is among folded events.
func (x *inquiry) peak(ctx context.Context, p *tally.Peak) {
	bytes, cut, err := timetravel.PeakBetween(ctx, x.r, 0, uint64(len(x.events)))
	if err != nil || bytes != p.Bytes || cut != p.Event {
		x.t.Fatalf("seed %d: the peak is %d at %d, want %+v: %v", x.seed, bytes, cut, *p, err)
	}
	x.live(ctx, p.Event)
	if at, err := x.r.TimeAt(p.Event); err != nil || at != p.Time {
		x.t.Fatalf("seed %d: the peak is at %d ns, want %d: %v", x.seed, at, p.Time, err)
	}
}

// times asks when a cut is, and which cut is at a time.
func (x *inquiry) times(b, detail uint64) {
	t, r, events := x.t, x.r, x.events
	at, err := r.TimeAt(b)
	if b >= detail || err == nil {
		if err != nil || b > 0 && at != events[b-1].Time {
			t.Fatalf("seed %d: time at cut %d: %d, want %d (%v)", x.seed, b, at, events[max(b, 1)-1].Time, err)
		}
	} else {
		x.refusal(err, true, "the time")
	}
	want := uint64(0)
	ns := events[x.rng.IntN(len(events))].Time + x.rng.Int64N(300) - 150
	for i := range events {
		if ns >= 0 && events[i].Time/recording.Quantum <= ns/recording.Quantum {
			want = uint64(i) + 1
		}
	}
	cut, err := r.CutAt(ns)
	if err != nil {
		before, after := r.Around(want)
		if x.refusal(err, want < detail, "the cut at a time"); cut != before && cut != after {
			t.Fatalf("seed %d: the cut near %d ns is %d, want %d or %d", x.seed, ns, cut, before, after)
		}
	} else if cut != want && !(cut < want && want < detail && events[cut].Time == events[want-1].Time) {
		t.Fatalf("seed %d: the cut at %d ns is %d, want %d", x.seed, ns, cut, want)
	}
}

func (m model) highest(a, b uint64) (best, at uint64) {
	live := m.live(a)
	top := live
	at = a
	for c := a; c < b; c++ {
		if live += block.Delta(&m[c]); live > top {
			top, at = live, c+1
		}
	}
	return uint64(top), at
}

// TestFoldCrash opens a recording that is being folded after each step of its writer.
func TestFoldCrash(t *testing.T) {
	t.Parallel()
	events := program{threads: 2, stacks: 9, window: 25, burst: 4, foreign: true, lifo: .5, realloc: .1,
		tick: 100}.run(5, 1500)
	sums := make([]*tally.Summary, len(events)+1)
	count := tally.New()
	sums[0] = count.Summary()
	for i := range events {
		count.Add(&events[i])
		sums[i+1] = count.Summary()
	}
	f := newSieve()
	steps, folded := 0, 0
	f.after = func() {
		if len(f.data) <= recording.FileHeaderLength {
			return
		}
		steps++
		r, err := recording.NewReader(bytes.NewReader(f.data), int64(len(f.data)), "a.htap")
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range r.Damage() {
			if !strings.HasPrefix(d, "the ending is missing") {
				t.Fatalf("step %d: %s", steps, d)
			}
		}
		_, last := r.Cuts()
		if sum, err := r.Tally(); err != nil || !reflect.DeepEqual(sum, sums[last]) {
			t.Fatalf("step %d: the statistics are not those of %d events: %v", steps, last, err)
		}
		if r.Folded().Cut > 0 {
			folded++
		}
	}
	w, err := recording.NewWriter(f, "a.htap", event.Process{},
		recording.Options{Fold: recording.Fold{MaxSize: 4000}.ToTheByte()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if err := w.Event(&events[i]); err != nil {
			t.Fatal(err)
		}
		if i%4 == 3 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(recording.Ending{}); err != nil {
		t.Fatal(err)
	}
	if folded < 100 || folded == steps {
		t.Errorf("of %d steps, %d were after something was folded", steps, folded)
	}
}

// TestFoldRefused: if a file system cannot punch holes, there is one notice, and everything is kept. If it fails later,
// everything is kept from then on.
func TestFoldRefused(t *testing.T) {
	t.Parallel()
	events := program{threads: 1, stacks: 3, window: 9, burst: 4, lifo: .5, tick: 100}.run(5, 1000)
	for _, at := range []int{0, 500} {
		var notices []string
		f := newSieve()
		fold := recording.Fold{Keep: 1, Notice: func(s string) { notices = append(notices, s) }}
		if at == 0 {
			f.refuse = errors.New("operation not supported")
		}
		w, err := recording.NewWriter(f, "a.htap", event.Process{}, recording.Options{Fold: fold.ToTheByte()})
		if err != nil {
			t.Fatal(err)
		}
		kept := uint64(0)
		for i := range events {
			if err := w.Event(&events[i]); err != nil {
				t.Fatal(err)
			}
			if i == at && at > 0 {
				kept, _ = openSieve(t, f).DetailFrom()
				f.refuse = errors.New("input/output error")
			}
			if i%5 == 4 {
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Finish(recording.Ending{}); err != nil {
			t.Fatal(err)
		}
		r := openSieve(t, f)
		cut, _ := r.DetailFrom()
		if at == 0 && cut != 0 || at > 0 && (kept == 0 || cut < kept || cut > kept+200) || !r.Complete() {
			t.Errorf("details from event %d on, at first %d: %q", cut, kept, r.Damage())
		}
		if len(notices) != 1 || !strings.Contains(notices[0], f.refuse.Error()+"); everything is kept") &&
			!strings.Contains(notices[0], "any more: input/output error") {
			t.Errorf("notices: %q", notices)
		}
	}
}

// TestFoldPeakAgain: the peak of a range is as high as that of the recording, but a different moment.
func TestFoldPeakAgain(t *testing.T) {
	t.Parallel()
	f := newSieve()
	w, err := recording.NewWriter(f, "a.htap", event.Process{},
		recording.Options{Fold: recording.Fold{Keep: 1}.ToTheByte()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(2000) {
		a := event.Event{Time: int64(i) * 1000, Kind: event.Alloc, Func: event.Malloc, Size: 100, Ref: event.NoRef}
		b := event.Event{Time: int64(i) * 1000, Kind: event.Free, Func: event.FreeFunc, Size: 100, Ref: i, Born: a.Time}
		if err := errors.Join(w.Event(&a), w.Event(&b)); err != nil {
			t.Fatal(err)
		}
		if i%10 == 9 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(recording.Ending{}); err != nil {
		t.Fatal(err)
	}
	r := openSieve(t, f)
	_, from := r.Around(1)
	_, from = r.Around(from + 1)
	_, to := r.Around(from + 1)
	bytes, cut, err := timetravel.PeakBetween(t.Context(), r, from, to)
	var folded *recording.FoldedError
	if !errors.As(err, &folded) || bytes != 100 || cut <= from || cut > to {
		t.Errorf("the peak between %d and %d: %d at %d, %v", from, to, bytes, cut, err)
	}
	if bytes, cut, err = timetravel.PeakBetween(t.Context(), r, 0, to); err != nil || bytes != 100 || cut != 1 {
		t.Errorf("the peak up to %d: %d at %d, %v", to, bytes, cut, err)
	}
}

// TestFoldSize: the file stays within its bound, and no more is folded than necessary.
func TestFoldSize(t *testing.T) {
	t.Parallel()
	events := program{threads: 2, stacks: 9, window: 25, burst: 4, foreign: true, lifo: .5, realloc: .1,
		tick: 100}.run(5, 12000)
	const limit = 80_000
	f := newSieve()
	w, err := recording.NewWriter(f, "a.htap", event.Process{},
		recording.Options{Fold: recording.Fold{MaxSize: limit, Notice: func(s string) { t.Error(s) }}.ToTheByte()})
	if err != nil {
		t.Fatal(err)
	}
	folded := 0
	for i := range events {
		if err := w.Event(&events[i]); err != nil {
			t.Fatal(err)
		}
		if i%50 != 49 {
			continue
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(f.gone, true) {
			folded++
			if used, _ := f.Used(); used > limit || used < limit*3/4 {
				t.Fatalf("after %d events, the file takes %d bytes; %d are its bound", i+1, used, limit)
			}
		}
	}
	if folded < 20 {
		t.Errorf("folded %d times: the test tests little", folded)
	}
}
