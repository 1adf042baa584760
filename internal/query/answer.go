package query

import (
	"context"
	"regexp"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// Plan is where an answer comes from.
type Plan uint8

// The plans, of which an exact answer has the first one that suffices.
const (
	FromTally     Plan = iota // the sums of the whole run
	FromSummaries             // the sums of blocks of events
	FromEvents                // the events one by one
	FromAtlas                 // an atlas, between two of its moments; see Query.Rough
)

func (p Plan) String() string { return [...]string{"tally", "summaries", "events", "atlas"}[p] }

// Answer has what every kind of answer has.
type Answer struct {
	Plan     Plan
	Metrics  []Metric
	From, To uint64         // the range, as cuts
	Begin    int64          // time of From, ns
	Span     int64          // from Begin to To, ns; for the whole run, to the end of the process
	At       uint64         // the cut of Live and Kept
	PeakAt   uint64         // the cut of Peak, if it was requested
	Rough    bool           // From, To or At are not those of the query, but near: see Query.Rough
	Total    Values         // of everything that the query selects
	Hide     *regexp.Regexp // the frames that the query hides; nil: none
	// Runtime is what the runtime keeps of what the query selects, if leaks are wanted: it is not in Total's.
	Runtime profile.Leak
	Sampled bool // values are estimates: allocations were chosen at random
	// Estimate says from what values were estimated, with Values.Margins; nil: everything was counted.
	Estimate *Estimate
	// Missing says which events could not be read; "" if all were. Events before the damage count.
	Missing string
}

// Shown returns the recording as the answer shows it: its call stacks without the frames that the query hides.
func (a *Answer) Shown(s *Source) *profile.Profile { return hiding(s.Profile, a.Hide) }

// Shown returns the recording as answers to the query show it: its call stacks without the frames that it hides.
func (q *Query) Shown(s *Source) *profile.Profile { return hiding(s.Profile, q.Hide) }

// hiding returns the profile without frames that match an expression; nil: with all of them.
func hiding(p *profile.Profile, hide *regexp.Regexp) *profile.Profile {
	if hide == nil {
		return p
	}
	shown := *p
	shown.Hide(func(f *profile.Frame) bool { return matches(hide, f) })
	return &shown
}

// ask is a question that is being answered.
type ask struct {
	*Source
	Answer
	ctx       context.Context
	q         *Query
	whole     bool // the range is the whole recording
	stacks    *stackFilter
	blocks    *blockFilter    // nil: all blocks count
	perBlock  bool            // the answer depends on each block: what counts, or its group
	noStacks  bool            // only the groups of blocks are needed, not their stacks
	ownPeaks  bool            // own peaks are requested
	firsts    bool            // which stack of a node came first is requested
	depths    *profile.Depths // nil: not requested
	peaksHeld bool            // the cells hold their own peaks
	allPeak   uint64          // then, and if from events: the own peak of everything that is selected
	prepared  *Range          // see prepare
	moved     *moments        // of an answer from an atlas; else nil
	draw      *draw           // the blocks of events of an estimate; else nil
	funcs     funcs
	joined    *joinedFuncs // finds functions, instead of funcs; nil: funcs does
}

func newAsk(ctx context.Context, s *Source, q *Query) (*ask, error) {
	a := &ask{Source: s, ctx: ctx, q: q, stacks: s.stackFilter(q), perBlock: q.filtersBlocks() || q.By.ofBlocks() ||
		s.estimated(),
		ownPeaks: q.wants(OwnPeak, Recycling)}
	a.Metrics, a.Hide = slices.Clone(q.metrics()), q.Hide
	a.Sampled = s.Profile.Sampled()
	a.From, a.To = s.first, s.last
	if r := q.Range; r != nil {
		a.To = min(r.To, s.last)
		a.From = min(max(r.From, s.first), a.To)
	}
	a.whole = a.From == s.first && a.To == s.last
	a.At = a.To
	if q.At != nil {
		a.At = min(*q.At, s.last)
	}
	if err := a.stacks.prepare(ctx); err != nil {
		return nil, err
	}
	if err := a.approximate(); err != nil {
		return nil, err
	}
	if a.moved == nil {
		if err := a.locate(); err != nil {
			return nil, err
		}
		a.Plan = a.choose()
	}
	if q.filtersBlocks() {
		a.blocks = newBlockFilter(s, q)
	}
	if q.wants(Depth) {
		a.depths = profile.NewDepths(s.Reader.Nodes())
	}
	return a, ctx.Err()
}

// locate finds the times of the range, and the peak.
func (a *ask) locate() (err error) {
	if a.Begin, err = a.Reader.TimeAt(a.From); err != nil {
		return err
	}
	end := a.Profile.Duration
	if !a.whole {
		if end, err = a.Reader.TimeAt(a.To); err != nil {
			return err
		}
	}
	if a.whole {
		a.Begin = 0
	}
	a.Span = end - a.Begin
	if a.q.wants(Peak, PeakBlocks) {
		a.PeakAt, err = a.peakCut()
	}
	return err
}

// peakCut returns the first cut within the range at which the process had the most live bytes.
func (a *ask) peakCut() (uint64, error) {
	switch {
	case a.whole && a.Reader.Complete():
		return a.first + a.sum.Totals.Peak.Event, nil
	case a.From == a.To:
		return a.From, nil
	}
	_, cut, err := timetravel.PeakBetween(a.ctx, a.Reader, a.From, a.To)
	return cut, err
}

// choose returns the cheapest plan that has all metrics.
func (a *ask) choose() Plan {
	if a.perBlock {
		return FromEvents
	}
	plan := FromTally
	for _, m := range a.Metrics {
		info := &metricTable[m]
		need := FromEvents
		switch {
		case a.whole && info.tally:
			need = FromTally
		case info.summaries:
			need = FromSummaries
		}
		if m.ofMoment() && a.At != a.last {
			need = max(need, FromSummaries)
		}
		if m.ofSurvivors() && !a.whole && !a.hasSums(a.survivorsCut(m)) {
			need = FromEvents
		}
		plan = max(plan, need)
	}
	if plan == FromSummaries && a.whole {
		// The tally has what summaries lack; only what is live at some cut has to be looked up.
		return plan
	}
	if plan == FromSummaries && slices.ContainsFunc(a.Metrics,
		func(m Metric) bool { return !metricTable[m].summaries }) {
		return FromEvents
	}
	return plan
}

// AboutLeaks reports whether leaks are among the metrics.
func (a *Answer) AboutLeaks() bool {
	return slices.ContainsFunc(leakedMetrics, func(m Metric) bool { return slices.Contains(a.Metrics, m) })
}

// runtimes returns the stacks whose blocks are the runtime's and so do not count as leaked.
func (a *ask) runtimes() stackSet {
	if a.q.Runtime {
		return nil
	}
	return a.runtime()
}

// stack returns the stack in whose cell an event counts.
func (a *ask) stack(e *event.Event) uint32 {
	if a.noStacks {
		return 0
	}
	return e.Stack
}

// collect returns what the query selects, by stack and label. Cells may be empty.
func (a *ask) collect() (*cells, error) {
	var c cells
	var err error
	switch a.Plan {
	case FromTally:
		a.fromTally(&c)
	case FromSummaries:
		if a.whole {
			a.fromTally(&c)
		} else {
			err = a.fromChanges(&c)
		}
	case FromAtlas:
		err = a.fromChanges(&c)
	case FromEvents:
		err = a.fromSample(&c)
		if a.draw == nil && err == nil {
			err = a.fromEvents(&c)
		}
	}
	if err == nil && !a.perBlock {
		err = a.moments(&c)
	}
	if err != nil {
		return nil, err
	}
	if a.q.wants(mappingMetrics...) && a.q.MappingsKnown() && a.whole {
		a.mappings(&c)
	}
	a.sumUp(&c)
	return &c, nil
}

// sumUp drops empty cells and adds up the others.
func (a *ask) sumUp(c *cells) {
	c.keep(func(x *cell) bool {
		return (a.noStacks || a.stacks.keep(x.stack)) && (a.ownPeaks || !x.empty())
	})
	for i := range c.len() {
		x := c.get(i)
		if a.depths != nil && !a.noStacks && x.Allocations > 0 {
			x.Depth = a.depths.Of(x.stack)
		}
		a.Total.Add(&x.Values)
	}
	if a.draw != nil {
		a.Total.Margins = a.draw.marginsOfAll()
	}
}

// fromTally takes the sums of the whole run.
func (a *ask) fromTally(c *cells) {
	a.peaksHeld = true
	runtimes := a.runtimes()
	for i := range a.sum.Stacks {
		s := &a.sum.Stacks[i]
		v := &c.at(s.ID, 0).Values
		*v = Values{Allocations: s.Allocations, Bytes: s.Bytes, ZeroSize: s.ZeroSize, MinSize: s.MinSize,
			MaxSize: s.MaxSize, Slack: s.Slack, SlackCount: s.SlackCount,
			Reallocations: s.Reallocations, InPlace: s.InPlace,
			Deallocations: s.Deallocations, FreedBytes: s.FreedBytes,
			Temporary: s.Temporary, TemporaryBytes: s.TemporaryBytes, Lifetime: s.Lifetime, Untimed: s.Untimed,
			LeakedBytes: s.LeakedBytes(), LeakedBlocks: s.LeakedBlocks(), OwnPeak: s.OwnPeakBytes}
		if a.At == a.last {
			v.LiveBytes, v.LiveBlocks = s.LeakedBytes(), s.LeakedBlocks()
			v.KeptBytes, v.KeptBlocks = v.LiveBytes, v.LiveBlocks
		}
		v.PeakBytes, v.PeakBlocks = s.LiveAtPeakBytes, s.LiveAtPeakBlocks
		if runtimes.has(s.ID) {
			if a.stacks.keep(s.ID) && a.AboutLeaks() {
				a.Runtime.Add(profile.Leak{Bytes: v.LeakedBytes, Blocks: v.LeakedBlocks})
			}
			v.LeakedBytes, v.LeakedBlocks = 0, 0
		}
	}
}

// fromChanges takes the summaries of a range.
func (a *ask) fromChanges(c *cells) error {
	changes, done, err := a.changes()
	defer done()
	if err != nil {
		return err
	}
	if a.ownPeaks {
		a.peaksHeld = true
		before, err := timetravel.LiveAt(a.ctx, a.Reader, a.From)
		if err != nil {
			return err
		}
		for _, l := range before {
			c.at(l.Stack, 0).OwnPeak = l.Bytes
		}
	}
	for i := range changes {
		n := &changes[i]
		v := &c.at(n.Stack, 0).Values
		v.Allocations, v.Bytes = n.Allocs, n.Bytes
		v.Deallocations, v.FreedBytes, v.Temporary = n.Frees, n.FreedBytes, n.Temporary
		v.OwnPeak += n.Top
	}
	return nil
}

// moments adds what is live at the query's cut and at the peak, unless that is known already.
func (a *ask) moments(c *cells) error {
	counted := a.Plan == FromTally || a.Plan == FromSummaries && a.whole
	if a.q.wants(Live, LiveBlocks) && !(counted && a.At == a.last) {
		list, err := a.liveThen()
		if err != nil {
			return err
		}
		for _, l := range list {
			v := &c.at(l.Stack, 0).Values
			v.LiveBytes, v.LiveBlocks = l.Bytes, l.Blocks
		}
	}
	if a.q.wants(keptMetrics...) && !(counted && a.At == a.last) && a.hasSums(a.At) {
		list, err := a.liveOfRange(a.At)
		if err != nil {
			return err
		}
		for _, l := range list {
			v := &c.at(l.Stack, 0).Values
			v.KeptBytes, v.KeptBlocks = l.Bytes, l.Blocks
		}
	}
	if a.q.wants(leakedMetrics...) && !counted && a.hasSums(a.last) {
		list, err := a.leaks()
		if err != nil {
			return err
		}
		for _, l := range list {
			v := &c.at(l.Stack, 0).Values
			v.LeakedBytes, v.LeakedBlocks = l.Bytes, l.Blocks
		}
	}
	if a.q.wants(Peak, PeakBlocks) && !counted {
		list, err := a.liveAtPeak()
		if err != nil {
			return err
		}
		for _, l := range list {
			v := &c.at(l.Stack, 0).Values
			v.PeakBytes, v.PeakBlocks = l.Bytes, l.Blocks
		}
	}
	return nil
}
