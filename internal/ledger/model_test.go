package ledger_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/tally"
)

// model counts what happens by what the world knows of it, not by what the events say: which block an event is about.
// All sums are made anew after every event.
type model struct {
	w       *world
	refs    []*block // by number of the allocation
	live    map[*block]int64
	latest  map[uint32]*block
	totals  tally.Totals
	stacks  map[uint32]*tally.Stack
	last    int64
	unknown uint64 // deallocations that ended no block of the program's
	forked  bool
	problem string
}

func (m *model) fail(e *event.Event, format string, args ...any) {
	if m.problem == "" {
		m.problem = fmt.Sprintf("event %d, %+v: ", m.totals.Events, *e) + fmt.Sprintf(format, args...)
	}
}

func (m *model) stack(id uint32) *tally.Stack {
	if m.stacks[id] == nil {
		m.stacks[id] = &tally.Stack{ID: id}
	}
	return m.stacks[id]
}

func (m *model) emit(x *ledger.Event) {
	e := &x.Event
	m.totals.Events++
	if e.Time < m.last {
		m.fail(e, "time goes back from %d", m.last)
	}
	m.last = e.Time
	switch e.Kind {
	case event.Alloc:
		b := m.w.blocks[e.Align-1]
		if b.addr != e.Addr || b.size != e.Size || b.stack != e.Stack {
			m.fail(e, "is not %v", b)
		}
		m.refs = append(m.refs, b)
		m.born(b, e)
	case event.Free:
		if e.FreeStack == 0 {
			m.fail(e, "was never made")
			return
		}
		a := m.w.acts[e.FreeStack-1]
		if a.ends == nil || m.refs[e.Ref] != a.ends || e.Thread != a.thread {
			m.fail(e, "ends %v, ought to end %+v", m.refs[e.Ref], a)
			return
		}
		if _, ok := m.live[a.ends]; !ok {
			m.fail(e, "ends %v, which is not live", a.ends)
		}
		m.died(a.ends, e)
	case event.Unmatched, event.Inherited:
		if a := m.w.acts[e.FreeStack-1]; a.ends != nil || m.forked != (e.Kind == event.Inherited) {
			m.fail(e, "ought to end %v", a.ends)
		}
		m.unknown++
	case event.Fail:
		m.totals.Failed++
		m.stack(e.Stack).Failed++
	}
	m.sum(e)
}

func (m *model) born(b *block, e *event.Event) {
	m.live[b] = e.Time
	m.latest[e.Thread] = b
	for _, c := range []*tally.Counts{&m.totals.Counts, &m.stack(b.stack).Counts} {
		if c.Allocations == 0 || b.size < c.MinSize {
			c.MinSize = b.size
		}
		c.MaxSize = max(c.MaxSize, b.size)
		c.Allocations++
		c.Bytes += b.size
		if b.size == 0 {
			c.ZeroSize++
		}
		if e.Flags&event.Realloc != 0 {
			c.Reallocations++
		}
		if e.Flags&event.InPlace != 0 {
			c.InPlace++
		}
	}
}

func (m *model) died(b *block, e *event.Event) {
	for _, c := range []*tally.Counts{&m.totals.Counts, &m.stack(b.stack).Counts} {
		c.Deallocations++
		c.FreedBytes += b.size
		c.Lifetime.Lo += uint64(e.Time - m.live[b])
		if m.latest[e.Thread] == b && e.Flags&event.Realloc == 0 {
			c.Temporary++
			c.TemporaryBytes += b.size
		}
	}
	delete(m.live, b)
}

// sum adds up all that is live.
func (m *model) sum(e *event.Event) {
	now := tally.Peak{Time: e.Time, Event: m.totals.Events}
	by := make(map[uint32][2]uint64)
	for b := range m.live {
		now.Bytes += b.size
		now.Blocks++
		by[b.stack] = [2]uint64{by[b.stack][0] + b.size, by[b.stack][1] + 1}
	}
	peak := now.Bytes > m.totals.Peak.Bytes
	if peak {
		m.totals.Peak = now
	}
	for id, s := range m.stacks {
		s.OwnPeakBytes = max(s.OwnPeakBytes, by[id][0])
		if peak {
			s.LiveAtPeakBytes, s.LiveAtPeakBlocks = by[id][0], by[id][1]
		}
	}
	m.totals.LiveBytes, m.totals.LiveBlocks = now.Bytes, now.Blocks
}

// schedules counts what the schedules had in them.
type schedules struct {
	records, late, passes int
	ledger.Counts
}

func (s *schedules) run(seed uint64) error {
	w := newWorld(seed)
	forked := seed%3 == 0
	l := ledger.New(forked)
	sum := tally.New()
	m := &model{
		w: w, live: make(map[*block]int64), latest: make(map[uint32]*block), stacks: make(map[uint32]*tally.Stack),
		forked: forked,
	}
	var kept []event.Event
	foreign := uint64(len(w.parents))
	r := &recorder{ledger: l, emit: func(e *ledger.Event) {
		kept = append(kept, e.Event)
		m.emit(e)
		sum.Add(&e.Event)
	}}
	w.run(60+int(seed%200), r)
	foreign -= uint64(len(w.parents))
	c := l.Counts()
	s.records += w.records
	s.late += r.late
	s.passes += w.passes
	s.Ties += c.Ties
	s.Inversions += c.Inversions
	s.Overflows += c.Overflows
	switch {
	case m.problem != "":
		return fmt.Errorf("%s (tick %d, %+v)", m.problem, w.tick, c)
	case c.Unseen != 0 || c.Unmatched+c.Inherited != foreign || m.unknown != foreign:
		return fmt.Errorf("%+v, %d deallocations were of foreign addresses (tick %d)", c, foreign, w.tick)
	}
	return m.compare(sum.Summary())
}

// compare compares all numbers that the model has.
func (m *model) compare(got *tally.Summary) error {
	t := got.Totals
	t.Funcs, t.Late, t.LastTime, t.Unmatched, t.Inherited = [event.FuncCount]uint64{}, 0, 0, 0, 0
	if d := cmp.Diff(m.totals, t); d != "" {
		return fmt.Errorf("totals (-want +got):\n%s", d)
	}
	for _, s := range got.Stacks {
		if d := cmp.Diff(*m.stack(s.ID), s); d != "" {
			return fmt.Errorf("stack %d (-want +got):\n%s", s.ID, d)
		}
	}
	if len(got.Stacks) != len(m.stacks) {
		return fmt.Errorf("%d stacks, want %d", len(got.Stacks), len(m.stacks))
	}
	return nil
}

// TestSchedules runs random programs of several threads under random schedules. HEAPTAP_SEEDS sets their number.
func TestSchedules(t *testing.T) {
	t.Parallel()
	seeds := uint64(5000)
	if n, err := strconv.ParseUint(os.Getenv("HEAPTAP_SEEDS"), 10, 64); err == nil {
		seeds = n
	} else if testing.Short() {
		seeds = 500
	}
	var s schedules
	for seed := range seeds {
		if err := s.run(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	t.Logf("%d seeds: %d records, %d of them late; %d addresses passed between threads; "+
		"%d ties and %d inversions put right", seeds, s.records, s.late, s.passes, s.Ties, s.Inversions)
	if s.late == 0 || s.Ties == 0 {
		t.Error("these schedules prove nothing")
	}
}
