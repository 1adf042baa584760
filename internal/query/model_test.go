package query

import (
	"math/bits"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
)

// model answers by going through all events, with whole stacks, exactly as the definitions say, however slow that is.
type model struct {
	s      *Source
	q      *Query
	events []event.Event
	from   uint64
	to     uint64
	at     uint64
	peak   uint64
	died   map[uint64]event.Event // by allocation
	deaths map[uint64]uint64      // by allocation: the number of the event that ended it
	born   []event.Event
	number map[int]uint64     // of the allocation, by event
	old    map[uint64]uint64  // by allocation that realloc made: the size before
	births []uint64           // by allocation: the number of its event
	known  map[uint32][]Group // by stack
}

func newModel(s *Source, events []event.Event, q *Query) *model {
	m := &model{s: s, q: q, events: events, to: uint64(len(events)), died: make(map[uint64]event.Event),
		deaths: make(map[uint64]uint64), old: make(map[uint64]uint64),
		number: make(map[int]uint64), known: make(map[uint32][]Group)}
	if q.Range != nil {
		m.from, m.to = q.Range.From, min(q.Range.To, m.to)
	}
	m.at = m.to
	if q.At != nil {
		m.at = *q.At
	}
	before := make(map[uint32]uint64) // the size of the block that is being reallocated, by thread
	for i, e := range events {
		switch e.Kind {
		case event.Alloc:
			if size, ok := before[e.Thread]; ok && e.Flags&event.Realloc != 0 {
				m.old[uint64(len(m.born))] = size
				delete(before, e.Thread)
			}
			m.number[i] = uint64(len(m.born))
			e.OldAddr = uint64(len(m.born)) // unused by allocations: the model keeps the allocation's number here
			m.born = append(m.born, e)
			m.births = append(m.births, uint64(i))
		case event.Free:
			if m.died[e.Ref], m.deaths[e.Ref] = e, uint64(i); e.Flags&event.Realloc != 0 {
				before[e.Thread] = e.Size
			}
		}
	}
	best := int64(-1)
	live := int64(0)
	for n := uint64(0); n <= m.to; n++ {
		if n >= m.from && live > best {
			best, m.peak = live, n
		}
		if n < m.to {
			switch e := &events[n]; e.Kind {
			case event.Alloc:
				live += int64(e.Size)
			case event.Free:
				live -= int64(e.Size)
			}
		}
	}
	return m
}

// each returns patterns of a filter.
func each(patterns ...string) (list []*regexp.Regexp) {
	for _, p := range patterns {
		list = append(list, regexp.MustCompile(p))
	}
	return list
}

// names returns the groups of a stack's visible frames, leaf to root; nil if the stack does not count.
func (m *model) names(stack uint32) []Group {
	list, ok := m.known[stack]
	if !ok {
		list = m.read(stack)
		m.known[stack] = list
	}
	return list
}

func (m *model) read(stack uint32) []Group {
	by := m.q.By
	if by == ByStack {
		by = ByLine
	}
	var list []Group
	focus := make([]bool, len(m.q.Focus)) // whether a frame matches, by pattern
	ignore, module := false, m.q.Modules == nil
	for _, f := range m.s.Frames(stack) {
		has := func(re *regexp.Regexp) bool {
			return re != nil && slices.ContainsFunc([]string{f.Function, f.Linkage, f.File, f.Module}, re.MatchString)
		}
		for i, p := range m.q.Focus {
			focus[i] = focus[i] || has(p)
		}
		ignore = ignore || slices.ContainsFunc(m.q.Ignore, has)
		module = module || slices.ContainsFunc(m.q.Modules, func(p string) bool { return p == f.Module })
		if !has(m.q.Hide) {
			list = append(list, groupOf(by, &f))
		}
	}
	if slices.Contains(focus, false) || ignore || !module {
		return nil
	}
	if len(list) == 0 {
		list = []Group{{By: by, Unknown: true}}
	}
	return list
}

// counts reports whether an allocation is selected.
func (m *model) counts(ref uint64) bool {
	e := &m.born[ref]
	if m.q.Threads != nil && !slices.Contains(m.q.Threads, e.Thread) {
		return false
	}
	if i := m.q.Sizes; i != nil && (e.Size < i.Min || e.Size > i.Max) {
		return false
	}
	if m.q.Regions != nil && !slices.ContainsFunc(regionsAt(m.s, ByRegionName, e.Thread, ref),
		func(g Group) bool { return slices.Contains(m.q.Regions, g.Region) }) {
		return false
	}
	if i := m.q.OldSizes; i != nil {
		if old, made := m.old[ref]; !made || old < i.Min || old > i.Max {
			return false
		}
	}
	if m.q.FreedBy != nil {
		d, freed := m.died[ref]
		if !freed || d.Func == event.FuncUnknown || !slices.Contains(m.q.FreedBy, d.Thread) {
			return false
		}
	}
	if i := m.q.Lifetimes; i != nil {
		d, freed := m.died[ref]
		if !freed {
			return i.Max == Unbounded
		}
		age := uint64(d.Time - e.Time)
		return age >= i.Min && age <= i.Max
	}
	return true
}

// values goes through the events for one group; in says whether a block belongs to it.
func (m *model) values(in func(ref uint64, born *event.Event) bool) (v Values) {
	var level, most int64
	ref := uint64(0)
	last, owed := make(map[uint32]int64), make(map[uint32]float64)
	old := make(map[uint32]uint64)
	for n := range m.events {
		e, n := &m.events[n], uint64(n)
		if n == m.from {
			most = level
		}
		if h := m.s.Reader.Health(); n >= m.from && n < m.to {
			owed[e.Thread] += map[bool]float64{true: h.AllocCost,
				false: h.FreeCost}[e.Kind == event.Alloc || e.Kind == event.Fail]
		}
		var r uint64
		switch e.Kind {
		case event.Alloc:
			r = ref
			ref++
		case event.Free:
			r = e.Ref
			if e.Flags&event.Realloc != 0 {
				old[e.Thread] = e.Size
			}
		default:
			continue
		}
		b := &m.born[r]
		hit := m.counts(r) && in(r, b)
		size := int64(e.Size)
		if e.Kind == event.Free {
			size = -size
		}
		if hit && n < m.to {
			if level += size; n >= m.from {
				most = max(most, level)
			}
		}
		if hit && n < m.at {
			v.LiveBytes += uint64(size)
			v.LiveBlocks += uint64(min(1, max(-1, 2*int64(1-e.Kind)-1)))
		}
		if hit && n >= m.from && n < m.at && m.birth(r) >= m.from && m.birth(r) < m.to {
			v.KeptBytes += uint64(size)
			v.KeptBlocks += uint64(min(1, max(-1, 2*int64(1-e.Kind)-1)))
		}
		if hit && n < m.peak {
			v.PeakBytes += uint64(size)
			v.PeakBlocks += uint64(min(1, max(-1, 2*int64(1-e.Kind)-1)))
		}
		if n < m.from || n >= m.to {
			continue
		}
		if e.Kind == event.Alloc {
			t, ok := last[e.Thread]
			if !ok {
				t = m.s.Reader.Threads()[e.Thread].Start
				if m.from > 0 {
					t = max(t, m.events[m.from-1].Time)
				}
			}
			last[e.Thread] = e.Time
			gap := max(0, e.Time-t)
			out := min(gap, int64(owed[e.Thread]+1e-6))
			owed[e.Thread] = min(owed[e.Thread]-float64(out), 100)
			if !hit {
				continue
			}
			v.Time += uint64(gap - out)
			v.MinSize = e.Size
			if v.Allocations > 0 {
				v.MinSize = min(v.MinSize, v.MaxSize)
			}
			v.Allocations++
			v.Depth = max(v.Depth, m.depth(e.Stack))
			v.Bytes += e.Size
			if e.Size == 0 {
				v.ZeroSize++
			}
			if e.Flags&event.HasUsable != 0 {
				v.Slack += e.Usable - e.Size
				v.SlackCount++
			}
			if e.Flags&event.Realloc != 0 {
				v.Reallocations++
				if e.Flags&event.InPlace != 0 {
					v.InPlace++
				} else {
					v.Copied += min(e.Size, old[e.Thread])
				}
			}
			if _, freed := m.died[r]; !freed {
				v.LeakedBytes += e.Size
				v.LeakedBlocks++
			}
		} else if hit {
			v.Deallocations++
			v.FreedBytes += e.Size
			v.Lifetime.Lo += uint64(e.Time - b.Time)
			if e.Flags&event.Temporary != 0 {
				v.Temporary++
				v.TemporaryBytes += e.Size
			}
		}
	}
	if m.from >= uint64(len(m.events)) {
		most = level
	}
	// Minima and maxima, by sorting.
	var sizes, ages []uint64
	for n := m.from; n < m.to; n++ {
		e := &m.events[n]
		switch {
		case e.Kind == event.Alloc:
			r := m.number[int(n)]
			if m.counts(r) && in(r, &m.born[r]) {
				sizes = append(sizes, e.Size)
			}
		case e.Kind == event.Free && m.counts(e.Ref) && in(e.Ref, &m.born[e.Ref]):
			ages = append(ages, uint64(e.Time-e.Born))
		}
	}
	v.MinSize, v.MaxSize = 0, 0
	if len(sizes) > 0 {
		v.MinSize, v.MaxSize = slices.Min(sizes), slices.Max(sizes)
	}
	if len(ages) > 0 {
		v.MinLifetime, v.MaxLifetime = slices.Min(ages), slices.Max(ages)
	}
	v.OwnPeak = uint64(most)
	return v
}

// birth is the number of the event that made an allocation.
func (m *model) birth(ref uint64) uint64 { return m.births[ref] }

func (m *model) depth(stack uint32) (n uint64) {
	for stack != 0 {
		node, ok := m.s.Reader.Nodes().Get(stack)
		if !ok {
			break
		}
		n, stack = n+1, node.Parent
	}
	return n
}

// groups returns all groups that blocks can be in.
func (m *model) groups() (list []Group) {
	seen := make(map[Group]bool)
	for i := range m.born {
		for _, g := range m.of(&m.born[i]) {
			if !seen[g] {
				seen[g] = true
				list = append(list, g)
			}
		}
	}
	return list
}

// of returns the groups of a block, leaf to root.
func (m *model) of(b *event.Event) []Group {
	names := m.names(b.Stack)
	if names == nil {
		return nil
	}
	switch m.q.By {
	case ByThread:
		return []Group{{By: ByThread, Thread: b.Thread}}
	case BySizeClass:
		return []Group{{By: BySizeClass, Class: uint8(bits.Len64(b.Size))}}
	case ByAllocation:
		return []Group{{By: ByAllocation, Func: b.Func}}
	case ByRegion, ByRegionName:
		return regionsAt(m.s, m.q.By, b.Thread, b.OldAddr)
	}
	return names
}

// only keeps the values of the metrics, so that answers that have more compare equal.
func only(v Values, metrics []Metric) map[string]float64 {
	out := make(map[string]float64)
	for _, m := range metrics {
		out[m.String()] = m.Of(&v, 1e9)
	}
	return out
}

func randomQuery(rng *rand.Rand, s *Source, n uint64) *Query {
	q := &Query{By: By(rng.IntN(int(byCount)))}
	if rng.IntN(2) == 0 {
		a, b := rng.Uint64N(n+1), rng.Uint64N(n+1)
		q.Range = &Range{min(a, b), max(a, b)}
	}
	if rng.IntN(4) == 0 {
		at := rng.Uint64N(n + 1)
		q.At = &at
	}
	if rng.IntN(5) == 0 {
		q.Threads = []uint32{0}
	}
	if rng.IntN(5) == 0 {
		a := rng.Uint64N(300)
		q.Sizes = &Interval{a, a + rng.Uint64N(500)}
	}
	switch rng.IntN(8) {
	case 0:
		a := rng.Uint64N(9000)
		q.Lifetimes = &Interval{a, a + rng.Uint64N(30000)}
	case 1:
		q.Lifetimes = &Interval{rng.Uint64N(9000), Unbounded}
	case 2:
		q.Lifetimes = &Interval{Unbounded, Unbounded} // never freed
	case 3:
		q.OldSizes = &Interval{100, 100 + rng.Uint64N(600)}
	}
	if rng.IntN(6) == 0 {
		q.FreedBy = []uint32{uint32(rng.IntN(2))}
	}
	if rng.IntN(12) == 0 {
		q.Regions = []string{"load", "a/b"}[:1+rng.IntN(2)]
	}
	if rng.IntN(6) == 0 {
		q.Modules = []string{"/bin/app"}
	}
	patterns := []string{"^a$", "b|c", "x\\.c", "libwork", "^[defg]$", "."}
	some := func() string { return patterns[rng.IntN(len(patterns))] }
	for _, p := range []*[]*regexp.Regexp{&q.Focus, &q.Ignore} {
		switch rng.IntN(10) {
		case 0:
			*p = each(some())
		case 1:
			*p = each(some(), some())
		}
	}
	if rng.IntN(5) == 0 {
		q.Hide = regexp.MustCompile(some())
	}
	switch rng.IntN(4) {
	case 0:
		q.Metrics = Metrics()
	case 1: // what summaries can answer
		for _, m := range Metrics() {
			if metricTable[m].summaries && m != OwnPeak && m != Recycling {
				q.Metrics = append(q.Metrics, m)
			}
		}
	case 2: // what the tally can answer
		for _, m := range Metrics() {
			if metricTable[m].tally && m != OwnPeak && m != Recycling {
				q.Metrics = append(q.Metrics, m)
			}
		}
	default:
		q.Metrics = []Metric{Metric(rng.IntN(int(metricCount)))}
	}
	return q
}

// TestFlat asks random questions about random programs and compares with the model.
func TestFlat(t *testing.T) {
	t.Parallel()
	plans := make(map[Plan]int)
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := []int{0, 1, 30, 120, 250}[seed%5]
		s, events := random(t, seed, n)
		for range 25 {
			q := randomQuery(rng, s, uint64(len(events)))
			got, err := Flat(t.Context(), s, q)
			if err != nil {
				t.Fatalf("seed %d, %+v: %v", seed, q, err)
			}
			plans[got.Plan]++
			m := newModel(s, events, q)
			rows := make(map[Group]Row)
			for _, r := range got.Rows {
				if _, twice := rows[r.Group]; twice {
					t.Fatalf("seed %d: %+v comes twice", seed, r.Group)
				}
				rows[r.Group] = r
			}
			if q.By == ByStack {
				m.compareStacks(t, seed, got)
			} else {
				for _, g := range m.groups() {
					self := m.values(func(_ uint64,
						b *event.Event) bool {
						l := m.of(b)
						return len(l) > 0 && l[0] == g
					})
					total := m.values(func(_ uint64, b *event.Event) bool { return slices.Contains(m.of(b), g) })
					if d := cmp.Diff(only(self, got.Metrics), only(rows[g].Self, got.Metrics)); d != "" {
						t.Fatalf("seed %d, %s, %+v: self of %+v:\n%s", seed, got.Plan, q, g, d)
					}
					if d := cmp.Diff(only(total, got.Metrics), only(rows[g].Total, got.Metrics)); d != "" {
						t.Fatalf("seed %d, %s, %+v: total of %+v:\n%s", seed, got.Plan, q, g, d)
					}
				}
			}
			all := m.values(func(_ uint64, b *event.Event) bool { return m.names(b.Stack) != nil })
			if d := cmp.Diff(only(all, got.Metrics), only(got.Total, got.Metrics)); d != "" {
				t.Fatalf("seed %d, %s, %+v: all:\n%s", seed, got.Plan, q, d)
			}
			m.sums(t, seed, got)
			for i := 1; i < len(got.Rows); i++ {
				if got.Metrics[0].compare(&got.Rows[i-1].Total, &got.Rows[i].Total) < 0 {
					t.Fatalf("seed %d: rows are not in order of %s", seed, got.Metrics[0])
				}
			}
		}
	}
	for _, p := range []Plan{FromTally, FromSummaries, FromEvents} {
		if plans[p] < 10 {
			t.Errorf("only %d questions were answered from %s", plans[p], p)
		}
	}
}

// sums checks that selves sum up to the whole.
func (m *model) sums(t *testing.T, seed uint64, got *Table) {
	t.Helper()
	var sum Values
	for i := range got.Rows {
		sum.Add(&got.Rows[i].Self)
	}
	for _, metric := range got.Metrics {
		if metric.Sums() && metric.Of(&sum, 1e9) != metric.Of(&got.Total, 1e9) {
			t.Fatalf("seed %d: %s of all rows is %v, of the whole %v", seed, metric, metric.Of(&sum, 1e9),
				metric.Of(&got.Total, 1e9))
		}
	}
}

// compareStacks compares whole stacks; the groups are the texts of the frames.
func (m *model) compareStacks(t *testing.T, seed uint64, got *Table) {
	t.Helper()
	rows := make(map[string]Row)
	for _, r := range got.Rows {
		rows[read(m.names(r.Stack))] = r
	}
	if len(rows) != len(got.Rows) {
		t.Fatalf("seed %d: stacks with equal texts are in different rows", seed)
	}
	for i := range m.born {
		names := m.names(m.born[i].Stack)
		if names == nil {
			continue
		}
		want := m.values(func(_ uint64, b *event.Event) bool { return slices.Equal(m.names(b.Stack), names) })
		if d := cmp.Diff(only(want, got.Metrics), only(rows[read(names)].Self, got.Metrics)); d != "" {
			t.Fatalf("seed %d, %s, %+v: %v:\n%s", seed, got.Plan, m.q, names, d)
		}
	}
}

func read(names []Group) string {
	s := ""
	for _, g := range names {
		s += g.Function + "\x00" + g.File + "\x00" + g.Module + string(rune(g.Line)) + string(rune(g.Offset)) + "\n"
	}
	return s
}
