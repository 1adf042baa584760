package insight

import (
	"cmp"
	"slices"

	"github.com/heaptap/heaptap/internal/query"
)

// What the work of an allocator costs: estimates, of which a machine may need twice as much or half.
const (
	pairCost = 30. // ns for a malloc and a free of a block that stays in the thread's cache
	copyRate = 8.  // bytes per ns
)

const (
	// leastTime is the least share of the run that a fix would save. Compilers, interpreters and databases, which
	// allocate all the time, spend up to 1 % on what the rules look for.
	leastTime = .02
	// leastCost is the least that a fix would save, in ns: in a shorter run, nobody notices.
	leastCost = 10e6
	// burstTime and burstSaves are the same of a burst: the share of the time that it takes, and ns.
	burstTime, burstSaves = .1, 50e6
	// burstParts is the number of parts of the run that are looked at for bursts.
	burstParts = 60
	// slowGrowth is the factor by which a reallocation enlarges a block on average, at most: an array that doubles its
	// capacity, or takes half as much more, is copied less than thrice in all.
	slowGrowth = 1.4
	// exactCopies is the most events that are read to see what reallocations have copied.
	exactCopies = 50_000_000
)

// temporaries finds functions whose blocks are freed at once, so often that it takes time.
func (f *finder) temporaries() error {
	if f.p.Sampled() || f.p.Duration <= 0 {
		return nil
	}
	run := float64(f.p.Duration)
	enough := max(leastCost, min(leastTime*run, burstSaves))
	type temporary struct {
		n, bytes, allocations uint64
		stacks                []uint32
	}
	list := newGroups[temporary](f)
	for i := range f.p.Stacks {
		s := &f.p.Stacks[i]
		if cost := float64(s.Temporary) * pairCost; cost < enough/100 {
			continue
		}
		t := list.add(s.ID, float64(s.Temporary))
		t.n, t.bytes, t.allocations = t.n+s.Temporary, t.bytes+s.TemporaryBytes, t.allocations+s.Allocations
		t.stacks = append(t.stacks, s.ID)
	}
	list.list = slices.DeleteFunc(list.list, func(g *group[temporary]) bool {
		return float64(g.of.n)*pairCost < enough
	})
	if len(list.list) == 0 {
		return nil
	}
	bursts, err := f.bursts()
	if err != nil {
		return err
	}
	for _, g := range list.list {
		cost := float64(g.of.n) * pairCost
		b := bursts.busiest(g.of.stacks)
		span := float64(b.to - b.from)
		within := b.share * cost / max(span, 1)
		if share := cost / run; share < leastTime && (within < burstTime || cost < burstSaves) {
			continue
		}
		x := g.finding(Temporaries)
		x.Saves, x.Unit, x.Share, x.Confidence = cost, query.Nanoseconds, min(cost/run, 1), .6
		x.Says = says(" frees ", value(float64(g.of.n)/float64(max(g.of.allocations, 1)), Share),
			" of its blocks at once: ", value(float64(g.of.n), Count), " of ",
			value(float64(g.of.bytes)/float64(max(g.of.n, 1)), Bytes), " on average")
		if span > 0 && span < .8*run {
			x.Says = says(x.Says, ", most of them from ", f.moment(b.from), " to ", f.moment(b.to))
			x.Show.From, x.Show.To = b.from, b.to
		}
		x.Says = says(x.Says, ". A buffer that is kept would save about ", value(cost, Time),
			" of a processor's time.")
		x.Basis = says("the blocks are counted; ", value(pairCost, Time),
			" for each malloc and free are an estimate")
		x.Show.Page, x.Show.Metric, x.Show.Focus = "flame", query.Temporary.String(), g.focus()
		f.list = append(f.list, x)
	}
	return nil
}

// bursts says how many blocks call stacks allocated in each part of the run.
type bursts struct {
	times []int64
	rows  map[uint32][]query.Point
}

// bursts looks at the call stacks with most temporary blocks.
func (f *finder) bursts() (*bursts, error) {
	b := &bursts{rows: make(map[uint32][]query.Point)}
	if f.s.Reader.Merged() != nil {
		return b, nil
	}
	q := query.Query{By: query.ByStack, Metrics: []query.Metric{query.Temporary}}
	t, err := query.DevelopRoughly(f.ctx, f.s, &q, burstParts, 64)
	if err != nil {
		return nil, err
	}
	b.times = t.Times
	for i := range t.Rows {
		b.rows[t.Rows[i].Stack] = t.Rows[i].Points
	}
	return b, nil
}

// burst is the part of the run in which some call stacks allocated most: from the first to the last step in which they
// allocated at least half as much as in the busiest one.
type burst struct {
	from, to int64
	share    float64 // of their allocations that are in it
}

func (b *bursts) busiest(stacks []uint32) (x burst) {
	counts := make([]float64, len(b.times))
	all := 0.
	for _, s := range stacks {
		for i, p := range b.rows[s] {
			counts[i] += float64(p.Allocations)
			all += float64(p.Allocations)
		}
	}
	if all == 0 {
		return x
	}
	rate := func(i int) float64 { return counts[i] / float64(max(b.times[i]-b.times[i-1], 1)) }
	most := 0.
	for i := 1; i < len(counts); i++ {
		most = max(most, rate(i))
	}
	first, last := 0, 0
	for i := 1; i < len(counts); i++ {
		if rate(i) >= most/2 {
			if first == 0 {
				first = i
			}
			last = i
		}
	}
	x.from, x.to = b.times[first-1], b.times[last]
	for i := first; i <= last; i++ {
		x.share += counts[i] / all
	}
	return x
}

// reallocations finds functions that enlarge blocks in small steps, so that they are copied again and again.
func (f *finder) reallocations() error {
	if f.p.Sampled() || f.p.Duration <= 0 {
		return nil
	}
	run := float64(f.p.Duration)
	enough := max(leastTime*run, leastCost) * copyRate // bytes
	type moved struct {
		n, larger, copied float64 // reallocations that moved the block, the bytes of the new blocks, and of the old
		time              float64 // since the allocations before: a bound of what copying took
		stacks            []uint32
	}
	list := newGroups[moved](f)
	for i := range f.p.Stacks {
		s := &f.p.Stacks[i]
		n := float64(s.Reallocations - min(s.InPlace, s.Reallocations))
		larger := float64(s.Bytes) * n / float64(max(s.Allocations, 1))
		if larger < enough/100 {
			continue
		}
		m := list.add(s.ID, larger)
		m.n, m.larger, m.copied = m.n+n, m.larger+larger, m.copied+larger
		m.stacks = append(m.stacks, s.ID)
	}
	list.list = slices.DeleteFunc(list.list, func(g *group[moved]) bool { return g.of.larger < enough })
	if len(list.list) == 0 {
		return nil
	}
	measured := f.s.Reader.Merged() == nil && f.p.Totals.Events <= exactCopies
	if measured {
		t, err := query.Stacks(f.ctx, f.s, &query.Query{Metrics: []query.Metric{query.Copied, query.Time}})
		if err != nil {
			return err
		}
		rows := make(map[uint32]*query.StackRow)
		for i := range t.Rows {
			rows[t.Rows[i].Stack] = &t.Rows[i]
		}
		for _, g := range list.list {
			g.of.copied = 0
			for _, s := range g.of.stacks {
				if r := rows[s]; r != nil {
					g.of.copied += float64(r.Copied)
					g.of.time += float64(r.Time)
				}
			}
		}
	}
	slices.SortStableFunc(list.list, func(a, b *group[moved]) int { return cmp.Compare(b.of.copied, a.of.copied) })
	for _, g := range list.list {
		cost := g.of.copied / copyRate
		if measured {
			cost = min(cost, g.of.time)
		}
		if cost < enough/copyRate || measured && g.of.larger > slowGrowth*g.of.copied {
			continue
		}
		x := g.finding(Reallocations)
		x.Saves, x.Unit, x.Share, x.Confidence = cost, query.Nanoseconds, min(cost/run, 1), .7
		steps, atMost := " times in small steps", ""
		if !measured {
			steps, atMost, x.Confidence = " times", "at most ", .4
		}
		x.Says = says(" enlarges blocks by realloc ", value(g.of.n, Count), steps, ", and copies ", atMost,
			value(g.of.copied, Bytes), ". Doubling the capacity instead would save about ", value(cost, Time),
			" of a processor's time.")
		x.Basis = says("the bytes are measured; ", value(copyRate*1e9, Rate), " is an estimate")
		if !measured {
			x.Basis = says("estimated from the sizes of the blocks, and ", value(copyRate*1e9, Rate))
		}
		x.Show = Question{Page: "flame", Metric: query.Copied.String(), Focus: g.focus()}
		f.list = append(f.list, x)
	}
	return nil
}
