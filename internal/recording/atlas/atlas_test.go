package atlas

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// program is a random program that is recorded.
type program struct {
	t      testing.TB
	rng    *rand.Rand
	w      *recording.Writer
	path   string
	now    int64
	allocs uint64
	live   []event.Event // with their allocations' numbers as Ref
	events []event.Event
	stacks uint32
	flags  event.Flags // of allocations and deallocations
	seldom bool        // run does not begin new blocks of events
}

// newProgram begins a recording. Ids of stacks are unlike their order in the tree, and some are not in the tree.
func newProgram(t testing.TB, seed uint64, o recording.Options) *program {
	t.Helper()
	p := &program{t: t, rng: rand.New(rand.NewPCG(seed, 7)), path: filepath.Join(t.TempDir(), "a.htap")}
	w, err := recording.Create(p.path, event.Process{PID: 7, Args: []string{"a"}, Started: int64(seed)}, o)
	if err != nil {
		t.Fatal(err)
	}
	p.w = w
	w.Thread(0, event.Thread{TID: 100})
	p.stacks = uint32(1 + p.rng.IntN(30))
	for id := uint32(1); id <= p.stacks; id++ {
		w.PC(id, event.PC{Addr: uint64(id) << 4})
		w.Node(id, event.Node{Parent: uint32(p.rng.IntN(int(id))), PC: id})
	}
	return p
}

// run adds n events. Sizes are small or large, so that sums have all widths.
func (p *program) run(n int) {
	flush := 1 + p.rng.IntN(80)
	for range n {
		p.now += p.rng.Int64N(3) * p.rng.Int64N(20) * 100
		e := event.Event{Time: p.now, Kind: event.Alloc, Func: event.Malloc, Size: p.rng.Uint64N(1 << p.rng.IntN(34)),
			Stack: uint32(p.rng.IntN(int(p.stacks) + 2)), Ref: event.NoRef}
		switch k := p.rng.IntN(10); {
		case k == 9:
			e.Kind = event.Fail
		case k > 4 && len(p.live) > 0:
			i := p.rng.IntN(len(p.live))
			b := p.live[i]
			p.live = slices.Delete(p.live, i, i+1)
			e = event.Event{Time: p.now, Kind: event.Free, Func: event.FreeFunc, Size: b.Size, Stack: b.Stack,
				Ref: b.Ref, Born: b.Time}
			e.Flags = p.flags
			if k == 8 && p.flags == 0 {
				e.Flags |= event.Temporary
			}
		default:
			e.Flags = p.flags
			b := e
			b.Ref = p.allocs
			p.allocs++
			p.live = append(p.live, b)
		}
		if err := p.w.Event(&e); err != nil {
			p.t.Fatal(err)
		}
		p.events = append(p.events, e)
		if !p.seldom && p.rng.IntN(flush) == 0 {
			p.flush()
		}
	}
}

func (p *program) flush() {
	p.t.Helper()
	if err := p.w.Flush(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) open() *recording.Reader {
	p.t.Helper()
	r, err := recording.Open(p.path)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { r.Close() })
	return r
}

func (p *program) finish() *recording.Reader {
	p.t.Helper()
	if err := p.w.Finish(recording.Ending{End: p.now + p.rng.Int64N(3)*1000, Exited: true}); err != nil {
		p.t.Fatal(err)
	}
	return p.open()
}

// scan sums up events between two cuts, stack by stack.
func scan(events []event.Event, from, to uint64) map[uint32]Sums {
	m := make(map[uint32]Sums)
	for i := from; i < to; i++ {
		e := &events[i]
		s := m[e.Stack]
		switch e.Kind {
		case event.Alloc:
			s[Allocs]++
			s[Bytes] += e.Size
		case event.Free:
			s[Frees]++
			s[FreedBytes] += e.Size
			if e.Flags&event.Temporary != 0 {
				s[Temporary]++
			}
		default:
			continue
		}
		m[e.Stack] = s
	}
	return m
}

// TestModel compares atlases of random recordings with a scan of all events.
func TestModel(t *testing.T) {
	t.Parallel()
	aligned, inner, widths := 0, 0, [3]int{}
	for seed := range uint64(60) {
		p := newProgram(t, seed, recording.Options{})
		p.run([]int{1, 20, 300, 2000}[seed%4])
		r := p.finish()
		steps := []int{1, 2, 7, 40, 1000}[seed%5]
		a, err := Build(t.Context(), r, Options{Steps: steps})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if len(a.Ends()) != steps+1 {
			t.Fatalf("seed %d: %d ends of %d steps", seed, len(a.Ends()), steps)
		}
		checkMoments(t, a, p.events)
		inner += len(a.moments) - len(a.ends)
		widths[0], widths[1] = widths[0]+len(a.small.rank), widths[1]+len(a.medium.rank)
		widths[2] += len(a.large.rank)
		end := max(r.EventBlocks().End(r.EventBlocks().Len()-1), mustEnd(r))
		for i, at := range a.ends {
			m := a.moments[at]
			even := end/int64(steps)*int64(i) + end%int64(steps)*int64(i)/int64(steps)
			if away := max(m.Time-even, even-m.Time); away > end/int64(steps)/2 {
				t.Fatalf("seed %d: step %d ends %d ns from where it should", seed, i, away)
			} else if away > 0 {
				aligned++
			}
		}
		for range 30 {
			from, to := p.rng.IntN(len(a.moments)), p.rng.IntN(len(a.moments))
			checkRange(t, a, p.events, min(from, to), max(from, to))
		}
		checkTree(t, a, r)
	}
	if aligned == 0 || inner == 0 || slices.Min(widths[:]) == 0 {
		t.Errorf("%d ends between blocks, %d moments within steps, stacks by width %v", aligned, inner, widths)
	}
}

func mustEnd(r *recording.Reader) int64 {
	e, _ := r.Ending()
	return e.End
}

// checkMoments checks that events are on the right sides of moments.
func checkMoments(t *testing.T, a *Atlas, events []event.Event) {
	t.Helper()
	for i, m := range a.Moments() {
		if i > 0 && (m.Cut < a.moments[i-1].Cut || m.Time < a.moments[i-1].Time) {
			t.Fatalf("moment %d comes before the one before: %+v", i, m)
		}
		var last int64
		if m.Cut > 0 {
			last = events[m.Cut-1].Time
		}
		if last != m.Last || m.Last > m.Time || m.Cut < uint64(len(events)) && events[m.Cut].Time < m.Time {
			t.Fatalf("moment %d: %+v, and the event before is at %d", i, m, last)
		}
	}
	if m := a.moments[len(a.moments)-1]; m.Cut != uint64(len(events)) {
		t.Fatalf("the last moment is %+v of %d events", m, len(events))
	}
}

// checkRange compares what the atlas says of a range with a scan of its events.
func checkRange(t *testing.T, a *Atlas, events []event.Event, from, to int) {
	t.Helper()
	begin, end := a.moments[from].Cut, a.moments[to].Cut
	got := make(map[uint32]Sums)
	for _, c := range a.Changes(from, to) {
		if _, twice := got[c.Stack]; twice {
			t.Fatalf("stack %d comes twice", c.Stack)
		}
		got[c.Stack] = Sums{c.Allocs, c.Bytes, c.Frees, c.FreedBytes, c.Temporary}
	}
	if d := cmp.Diff(scan(events, begin, end), got); d != "" {
		t.Fatalf("changes from %d to %d (-want +got):\n%s", begin, end, d)
	}
	live := make(map[uint32][2]uint64)
	for id, s := range scan(events, 0, end) {
		if n := [2]uint64{s[Allocs] - s[Frees], s[Bytes] - s[FreedBytes]}; n != [2]uint64{} {
			live[id] = n
		}
	}
	got2 := make(map[uint32][2]uint64)
	for _, l := range a.LiveAt(to) {
		got2[l.Stack] = [2]uint64{l.Blocks, l.Bytes}
	}
	if d := cmp.Diff(live, got2); d != "" {
		t.Fatalf("live at %d (-want +got):\n%s", end, d)
	}
	best, at, now := int64(-1), uint64(0), int64(0)
	for n := uint64(0); n <= end; n++ {
		if n >= begin && now > best {
			best, at = now, n
		}
		if n < end && events[n].Kind == event.Alloc {
			now += int64(events[n].Size)
		} else if n < end && events[n].Kind == event.Free {
			now -= int64(events[n].Size)
		}
	}
	peak, ok := a.Peak(from, to)
	if m := a.moments[peak]; !a.moments[from].End || !a.moments[to].End {
		return // a peak of a part of a step need not be at a moment
	} else if !ok || m.Cut != at || m.Live != uint64(best) {
		t.Fatalf("the peak from %d to %d is %+v, %v; want %d bytes at %d", begin, end, m, ok, best, at)
	}
}

// checkTree checks that what is below a node is in a row, and that its sums are those of these stacks.
func checkTree(t *testing.T, a *Atlas, r *recording.Reader) {
	t.Helper()
	below := make(map[uint32][]uint32) // by pc, which is the node's id here
	for _, id := range a.Stacks() {
		for n := id; n != 0; {
			node, ok := r.Nodes().Get(n)
			if !ok {
				break
			}
			below[n] = append(below[n], id)
			n = node.Parent
		}
	}
	if len(a.Tree()) != len(below) {
		t.Fatalf("%d nodes, want %d", len(a.Tree()), len(below))
	}
	all := a.Changes(0, len(a.moments)-1)
	for i, n := range a.Tree() {
		if int(n.Parent) >= i {
			t.Fatalf("node %d comes before its parent", i)
		}
		if d := cmp.Diff(below[n.PC], a.stacks[n.First:n.End]); d != "" {
			t.Fatalf("below node %d (-want +got):\n%s", n.PC, d)
		}
		sums := make([]Sums, len(a.moments))
		a.Add(sums, []Ranks{n.Ranks})
		var got, want Sums
		for _, s := range sums {
			for k := range s {
				got[k] += s[k]
			}
		}
		for _, c := range all {
			if slices.Contains(below[n.PC], c.Stack) {
				for k, v := range [columns]uint64{c.Allocs, c.Bytes, c.Frees, c.FreedBytes, c.Temporary} {
					want[k] += v
				}
			}
		}
		if got != want {
			t.Fatalf("node %d: %v, want %v", n.PC, got, want)
		}
	}
}

// TestUnderway: a recording that is being written has an atlas of its events so far.
func TestUnderway(t *testing.T) {
	t.Parallel()
	p := newProgram(t, 1, recording.Options{})
	p.run(500)
	p.flush()
	r := p.open()
	for range 2 {
		a, err := Build(t.Context(), r, Options{})
		if err != nil {
			t.Fatal(err)
		}
		checkMoments(t, a, p.events)
		checkRange(t, a, p.events, 0, len(a.moments)-1)
		p.run(500)
		p.flush()
		if _, err := r.Refresh(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnavailable: recordings that have no atlas say why.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	empty := newProgram(t, 1, recording.Options{}).finish()
	_, err := Build(t.Context(), empty, Options{})
	var u *UnavailableError
	if !errors.As(err, &u) || err.Error() != "a.htap has no atlas: it has no events" {
		t.Errorf("%v", err)
	}
	p := newProgram(t, 2, recording.Options{})
	p.run(1000)
	r := p.finish()
	_, err = Build(t.Context(), r, Options{Bytes: 100})
	if !errors.As(err, &u) || !errors.Is(err, errTooLarge) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Build(ctx, r, Options{Progress: func(done, total uint64) {
		if done > total/2 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || errors.As(err, &u) {
		t.Errorf("%v", err)
	}
}

// TestDamaged: where events are damaged, there is an atlas if summaries say what happened, else there is none.
func TestDamaged(t *testing.T) {
	t.Parallel()
	p := newProgram(t, 3, recording.Options{})
	for range 6 {
		p.run(200)
		p.flush()
	}
	r := p.finish()
	whole, err := os.ReadFile(p.path)
	if err != nil {
		t.Fatal(err)
	}
	with, without := 0, 0
	for _, b := range r.Blocks() {
		if b.Events == 0 || b.Level > 0 || b.Size < 100 {
			continue
		}
		for _, at := range []int64{b.Offset + 5, b.Offset + b.Size - 3} {
			damaged := slices.Clone(whole)
			damaged[at] ^= 0xff
			path := filepath.Join(t.TempDir(), "b.htap")
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			d, err := recording.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			var u *UnavailableError
			switch a, err := Build(t.Context(), d, Options{Steps: 9}); {
			case err == nil:
				checkRange(t, a, p.events, 0, len(a.moments)-1)
				with++
			case errors.As(err, &u):
				without++
			default:
				t.Errorf("byte %d: %v", at, err)
			}
		}
	}
	if with == 0 || without == 0 {
		t.Errorf("%d times there was an atlas, %d times there was none", with, without)
	}
}

// TestFewerSteps: with less memory, there are fewer steps, and the rest is the same.
func TestFewerSteps(t *testing.T) {
	t.Parallel()
	p := newProgram(t, 5, recording.Options{})
	p.run(4000)
	r := p.finish()
	whole, err := Build(t.Context(), r, Options{})
	if err != nil {
		t.Fatal(err)
	}
	limit := whole.Size() / 5
	a, err := Build(t.Context(), r, Options{Bytes: limit})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(a.Ends()) - 1; n > 500 || n < 31 || a.Size() > 2*limit {
		t.Errorf("%d steps in %d bytes, of at most %d", n, a.Size(), limit)
	}
	checkMoments(t, a, p.events)
	for i := range a.ends[1:] {
		checkRange(t, a, p.events, a.ends[i], a.ends[i+1])
	}
}

// TestFolded: where events were folded, steps end where there are answers, and the peak of a range is known or is not.
func TestFolded(t *testing.T) {
	t.Parallel()
	known, unknown, within := 0, 0, 0
	for seed := range uint64(2) {
		p := newProgram(t, seed, recording.Options{Fold: recording.Fold{Keep: 4 * time.Millisecond}})
		p.seldom = true
		for range 40 {
			p.run(1500) // a folded block gives at least a page back
			p.flush()
		}
		r := p.finish()
		detail, _ := r.DetailFrom()
		if detail == 0 {
			t.Fatal("nothing was folded")
		}
		a, err := Build(t.Context(), r, Options{Steps: 100})
		if err != nil {
			t.Fatal(err)
		}
		checkMoments(t, a, p.events)
		for _, i := range a.Ends() {
			if before, _ := r.Around(a.moments[i].Cut); before != a.moments[i].Cut {
				t.Fatalf("a step ends at %d, where there is no answer", a.moments[i].Cut)
			}
		}
		for range 100 {
			from, to := a.ends[p.rng.IntN(len(a.ends))], a.ends[p.rng.IntN(len(a.ends))]
			if from > to {
				from, to = to, from
			}
			if a.moments[from].Cut < detail && a.moments[to].Cut > 0 {
				within++
			}
			if _, ok := a.Peak(from, to); ok {
				known++
				checkRange(t, a, p.events, from, to)
				continue
			}
			unknown++
			want, got := scan(p.events, a.moments[from].Cut, a.moments[to].Cut), make(map[uint32]Sums)
			for _, c := range a.Changes(from, to) {
				got[c.Stack] = Sums{c.Allocs, c.Bytes, c.Frees, c.FreedBytes, c.Temporary}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatal(d)
			}
		}
	}
	if known == 0 || unknown == 0 || within == 0 {
		t.Errorf("the peak was known %d times, %d times not; %d ranges had folded events", known, unknown, within)
	}
}

// TestSampled: samples count as what they stand for.
func TestSampled(t *testing.T) {
	t.Parallel()
	p := newProgram(t, 4, recording.Options{})
	p.flags = event.Sampled
	p.w.Sampling(event.Sampling{Calls: 3})
	p.run(1000)
	r := p.finish()
	a, err := Build(t.Context(), r, Options{Steps: 50})
	if err != nil {
		t.Fatal(err)
	}
	allocs := uint64(0)
	for range 30 {
		from, to := p.rng.IntN(len(a.moments)), p.rng.IntN(len(a.moments))
		from, to = min(from, to), max(from, to)
		sum, err := timetravel.Changes(t.Context(), r, a.moments[from].Cut, a.moments[to].Cut)
		if err != nil {
			t.Fatal(err)
		}
		want, got := make(map[uint32]recording.Change), make(map[uint32]recording.Change)
		for _, c := range sum.List() {
			c.Top = 0
			want[c.Stack] = c
		}
		for _, c := range a.Changes(from, to) {
			got[c.Stack] = c
			allocs = max(allocs, c.Allocs)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	}
	if allocs < 100 {
		t.Errorf("%d allocations of a stack, of 1000 sampled events", allocs)
	}
}

func TestAround(t *testing.T) {
	t.Parallel()
	a := &Atlas{moments: []Moment{{End: true}, {Cut: 5, Time: 8}, {Cut: 10, Time: 20, End: true},
		{Cut: 10, Time: 30, End: true}, {Cut: 20, Time: 40, End: true}}, ends: []int{0, 2, 3, 4}}
	got := ""
	for _, cut := range []uint64{0, 5, 10, 15, 20, 21} {
		before, after, ok := a.Around(cut)
		got += fmt.Sprintln(cut, before, after, ok)
	}
	for _, time := range []int64{-1, 0, 10, 11, 20, 26, 41} {
		got += fmt.Sprintln(time, a.Nearest(time))
	}
	want := "0 0 0 true\n5 0 2 true\n10 2 2 true\n15 3 4 true\n20 4 4 true\n21 0 0 false\n" +
		"-1 0\n0 0\n10 2\n11 2\n20 2\n26 3\n41 4\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
