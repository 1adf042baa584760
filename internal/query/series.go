package query

import (
	"context"
	"sort"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// Series says how groups developed over a range, in steps of equal time. Where events were folded, a step ends at the
// last cut before that time at which there are answers.
type Series struct {
	Answer
	Times []int64     // at the end of each step, ns; the first is the beginning of the range
	Cuts  []uint64    // events before the end of each step
	Top   []uint64    // most live bytes of all groups together at one moment of the step; the first: at its end
	Rows  []SeriesRow // the requested groups, in that order
	Rest  SeriesRow   // all others
	All   SeriesRow
}

// SeriesRow is one group's development.
type SeriesRow struct {
	Group
	Points []Point // one for each of Times; the first has no allocations
}

// Point has what happened in a step and what was live at its end.
type Point struct {
	Live, LiveBlocks   uint64 // at the end of the step
	Allocations, Bytes uint64 // in the step
	Deallocations      uint64

	// Least is the fewest live bytes in the step, its beginning included. The halves of a reallocation at one call
	// stack count as one event. Answered from summaries, it is only the fewest between these. All does not have it.
	Least uint64
}

// follow adds what comes next in the step. Live and Least are changes since the beginning here.
func (p *Point) follow(o *Point) {
	p.lower(int64(p.Live + o.Least))
	p.add(o)
}

func (p *Point) lower(change int64) { p.Least = uint64(min(int64(p.Least), change)) }

func (p *Point) add(o *Point) {
	p.Live += o.Live
	p.LiveBlocks += o.LiveBlocks
	p.Allocations += o.Allocations
	p.Bytes += o.Bytes
	p.Deallocations += o.Deallocations
}

// Develop answers with the development of the top groups over n steps: the top by the first metric, by self where
// groups are frames. top 0: only the whole.
func Develop(ctx context.Context, s *Source, q *Query, n, top int) (*Series, error) {
	return develop(ctx, s, q, n, top, shortStep, false, q.Metrics)
}

// DevelopRoughly is Develop with steps of only approximately equal time if the recording is large: they end between
// blocks of events, which then need not be decoded. Times has the exact times.
func DevelopRoughly(ctx context.Context, s *Source, q *Query, n, top int) (*Series, error) {
	return develop(ctx, s, q, n, top, shortStep, true, q.Metrics)
}

// develop answers from events if steps have fewer than short of them. With roughly, steps may have only approximately
// equal time if that avoids decoding. Rows are the top groups by the first of each list of metrics in rank.
func develop(ctx context.Context, s *Source, q *Query, n, top int, short uint64, roughly bool, rank ...[]Metric) (
	*Series, error) {
	return developRows(ctx, s, q, n, top, short, roughly, func(a *ask, out *Series) (*choice, error) {
		return a.chooseRows(out, top, rank)
	})
}

// developRows is develop with rows that choose adds; top is how many these may be.
func developRows(ctx context.Context, s *Source, q *Query, n, top int, short uint64, roughly bool,
	choose func(*ask, *Series) (*choice, error)) (*Series, error) {
	exact := *q
	exact.Rough = 0
	q = &exact
	a, err := newAsk(ctx, s, q)
	if err != nil {
		return nil, err
	}
	out := &Series{}
	if m := s.Reader.Merged(); m != nil {
		return a.developMerged(out, m, max(n, 1), top)
	}
	a.times(out, max(n, 1))
	if top <= 0 && a.stacks == nil && !a.q.filtersBlocks() {
		return a.developProcess(out, roughly)
	}
	a.noStacks = q.By.ofBlocks()
	c, err := choose(a, out)
	if err != nil {
		return nil, err
	}
	// Summaries have the maximum within a step only for all stacks together.
	detail, _ := s.Reader.DetailFrom()
	if a.perBlock || a.stacks != nil || a.From >= detail && (a.To-a.From)/uint64(max(n, 1)) < short {
		err = a.developEvents(out, c)
	} else {
		err = a.developChanges(out, c, roughly)
	}
	if err != nil {
		return nil, err
	}
	out.All.Points = make([]Point, len(out.Times))
	for _, r := range append(out.Rows, out.Rest) {
		var live, blocks uint64
		for t := range r.Points {
			p := &r.Points[t] // holds the changes in live bytes until here
			p.Least += live
			live, blocks = live+p.Live, blocks+p.LiveBlocks
			p.Live, p.LiveBlocks = live, blocks
			out.All.Points[t].add(p)
		}
	}
	out.Answer = a.Answer
	return out, nil
}

// shortStep is the mean number of events in a step from which on summaries are cheaper.
const shortStep = 1 << 18

// times divides the range into steps of equal time.
func (a *ask) times(out *Series, n int) {
	out.Times = stepTimes(a.Begin, a.Span, n)
	out.Cuts, out.Top = make([]uint64, n+1), make([]uint64, n+1)
	out.Cuts[0], out.Cuts[n] = a.From, a.To
}

// cuts finds where the steps end.
func (a *ask) cuts(out *Series) error {
	for i := 1; i < len(out.Cuts)-1; i++ {
		cut, err := a.Reader.CutAt(out.Times[i])
		if err != nil && !folded(err) { // if folded, the cut is near the time
			return err
		}
		out.Cuts[i] = min(max(cut, a.From), a.To)
	}
	return nil
}

func (a *ask) developChanges(out *Series, c *choice, roughly bool) error {
	a.Plan = FromSummaries
	bounds := make([]timetravel.Bound, len(out.Times))
	for i, t := range out.Times {
		bounds[i].Time = t
	}
	if roughly && a.To-a.From > uint64(len(out.Times)-1)*recording.BlockEvents {
		timetravel.Align(a.Reader, bounds)
	}
	for i := range bounds {
		out.Times[i] = bounds[i].Time
	}
	before, err := timetravel.LiveAt(a.ctx, a.Reader, a.From)
	if err != nil {
		return err
	}
	for _, l := range before {
		p := c.point(l.Stack, 0, 0)
		p.add(&Point{Live: l.Bytes, LiveBlocks: l.Blocks})
		out.Top[0] += l.Bytes
	}
	if detail, _ := a.Reader.DetailFrom(); a.From >= detail {
		err = a.stepsOfPieces(out, c, bounds)
	} else {
		err = a.stepsBetweenCuts(out, c)
	}
	if err != nil {
		return err
	}
	level := out.Top[0] // in a step without events, the level stays
	for i := range out.Top {
		if i > 0 && out.Cuts[i] == out.Cuts[i-1] {
			out.Top[i] = level
			continue
		}
		level = c.live(i)
	}
	return nil
}

// stepsOfPieces decodes each block of events at most once.
func (a *ask) stepsOfPieces(out *Series, c *choice, bounds []timetravel.Bound) error {
	last := len(out.Cuts) - 1
	at := 1 // steps before this one have a cut at their end
	err := timetravel.Steps(a.ctx, a.Reader, a.From, a.To, bounds[1:last], func(p timetravel.Piece) {
		for ; at <= p.Step; at++ {
			out.Cuts[at] = p.First
		}
		out.Top[p.Step+1] = max(out.Top[p.Step+1], p.Top)
		for i := range p.Changes {
			c.change(p.Step+1, &p.Changes[i])
		}
	})
	for ; at < last; at++ {
		out.Cuts[at] = a.To
	}
	return err
}

// stepsBetweenCuts does the same for folded events: steps end at the last cut before their time at which there are
// answers.
func (a *ask) stepsBetweenCuts(out *Series, c *choice) error {
	if err := a.cuts(out); err != nil {
		return err
	}
	for i := 1; i < len(out.Cuts); i++ {
		if out.Cuts[i] == out.Cuts[i-1] {
			continue
		}
		changes, err := timetravel.Changes(a.ctx, a.Reader, out.Cuts[i-1], out.Cuts[i])
		if err != nil {
			return err
		}
		list := changes.List()
		for k := range list {
			c.change(i, &list[k])
		}
		timetravel.Release(changes)
		out.Top[i], _, err = timetravel.PeakBetween(a.ctx, a.Reader, out.Cuts[i-1], out.Cuts[i])
		if err != nil && !folded(err) { // if folded, only the moment is not known
			return err
		}
	}
	return nil
}

func (a *ask) developEvents(out *Series, c *choice) error {
	a.Plan = FromEvents
	d := &developing{ask: a, out: out, rows: c, begin: a.first}
	if !a.perBlock {
		d.begin = a.From
		before, err := timetravel.LiveAt(a.ctx, a.Reader, a.From)
		if err != nil {
			return err
		}
		for _, l := range before {
			if a.stacks.keep(l.Stack) {
				c.point(l.Stack, 0, 0).add(&Point{Live: l.Bytes, LiveBlocks: l.Blocks})
				d.level += int64(l.Bytes)
			}
		}
		out.Top[0] = uint64(d.level)
	}
	if err := a.prepare(d.begin, a.To); err != nil {
		return err
	}
	if err := a.scan(d.begin, a.To, recording.Times, d.collect); err != nil {
		return err
	}
	d.upTo(len(out.Cuts)-1, a.To)
	return nil
}

// developing joins what the blocks of events did in each step.
type developing struct {
	*ask
	out   *Series
	rows  *choice
	begin uint64
	step  int   // current step; 0: before the range
	level int64 // live bytes of everything that is selected
}

// blockStep is what a block of events did within one step. Its level begins at 0.
type blockStep struct {
	step   int
	first  uint64 // event
	level  level
	points []stackPoint
}

type stackPoint struct {
	stack, label uint32
	Point
}

// point returns the point of a stack; cells has its index in points plus 1.
func (b *blockStep) point(cells *places, stack, label uint32) *Point {
	at := cells.at(stack, label)
	if *at == 0 {
		b.points = append(b.points, stackPoint{stack: stack, label: label})
		*at = uint32(len(b.points))
	}
	return &b.points[*at-1].Point
}

// collect is a collector.
func (d *developing) collect(b recording.Stretch) (observer, func()) {
	label := d.labeler(b)
	var list []*blockStep
	var p *blockStep
	var cells places // of p
	var labels []uint32
	last := len(d.out.Times) - 1
	observe := func(b *recording.Batch, counts []bool) {
		labels = label(b, labels)
		for i := range b.Events {
			n, e := b.First+uint64(i), &b.Events[i]
			if n < d.begin {
				continue
			}
			if p == nil || n >= d.From && (p.step == 0 || p.step < last && e.Time > d.out.Times[p.step]) {
				p = d.next(p, &cells, n, e.Time)
				list = append(list, p)
			}
			if counts[i] {
				p.observe(p.point(&cells, d.stack(e), labels[i]), e)
			}
		}
	}
	return observe, func() {
		for _, p := range list {
			d.add(p)
		}
	}
}

// next begins what comes after p, which may be nil, at an event. cells is empty then.
func (d *developing) next(p *blockStep, cells *places, n uint64, time int64) *blockStep {
	step := 0
	if n >= d.From { // the first step that ends after the event
		step = 1 + sort.Search(len(d.out.Times)-2, func(i int) bool { return d.out.Times[i+1] >= time })
	}
	if p != nil {
		for i := range p.points {
			*cells.at(p.points[i].stack, p.points[i].label) = 0
		}
	}
	return &blockStep{step: step, first: n}
}

// observe counts an event at its point.
func (b *blockStep) observe(point *Point, e *event.Event) {
	b.level.move(e, true)
	move(&point.Live, &point.LiveBlocks, e)
	if e.Kind == event.Alloc || e.Flags&event.Realloc == 0 {
		point.lower(int64(point.Live))
	}
	weight, bytes := e.Weight()
	switch {
	case b.step == 0:
	case e.Kind == event.Alloc:
		point.Allocations += weight
		point.Bytes += bytes
	default:
		point.Deallocations += weight
	}
}

// upTo advances to a step. The steps before it end before event n.
func (d *developing) upTo(step int, n uint64) {
	for d.step < step {
		if d.step > 0 {
			d.out.Cuts[d.step] = n
		}
		d.step++
		d.out.Top[d.step] = uint64(d.level)
	}
}

// add adds what comes next.
func (d *developing) add(p *blockStep) {
	d.upTo(p.step, p.first)
	top := &d.out.Top[p.step]
	*top = max(*top, uint64(max(d.level+p.level.most, 0)))
	d.level += p.level.now
	if p.step == 0 {
		*top = uint64(d.level)
	}
	for i := range p.points {
		x := &p.points[i]
		d.rows.point(x.stack, x.label, p.step).follow(&x.Point)
	}
}

// choice finds the row of a block's stack and label.
type choice struct {
	out     *Series
	f       *forest
	frames  bool
	byNode  bool          // whole stacks: those with the same text are one node
	numbers map[int32]int // by node or group
	rows    places
	sum     uint64 // running sum of live
	upTo    int
}

// newChoice returns a choice without rows.
func (a *ask) newChoice(out *Series) *choice {
	out.Rest.Points = make([]Point, len(out.Times))
	return &choice{out: out, f: newForest(a, &cells{}, false), frames: !a.q.By.ofBlocks(), byNode: a.q.By == ByStack,
		numbers: make(map[int32]int)}
}

// chooseRows chooses the rows of the top groups by the first of each list of metrics.
func (a *ask) chooseRows(out *Series, top int, rank [][]Metric) (*choice, error) {
	c := a.newChoice(out)
	if top <= 0 {
		return c, nil
	}
	for _, m := range rank {
		q := *a.q
		q.Metrics = m
		table, err := Flat(a.ctx, a.Source, &q)
		if err != nil {
			return nil, err
		}
		if a.q.By.Nests() {
			table.SortSelf()
		}
		for _, r := range table.Rows[:min(top, len(table.Rows))] {
			if r.Self.empty() {
				break
			}
			c.add(r.Group)
		}
	}
	return c, nil
}

// add adds a group's row, unless there is one.
func (c *choice) add(g Group) {
	n := int32(0)
	if c.byNode {
		n = c.f.leaf(g.Stack, 0, true)
	} else {
		n = c.f.id(g)
	}
	if _, there := c.numbers[n]; !there {
		c.numbers[n] = len(c.out.Rows)
		c.out.Rows = append(c.out.Rows, SeriesRow{Group: g, Points: make([]Point, len(c.out.Times))})
	}
}

// point returns the point of a stack and a label at a step.
func (c *choice) point(stack, label uint32, step int) *Point {
	if len(c.numbers) == 0 {
		return &c.out.Rest.Points[step]
	}
	place := c.rows.at(stack, label) // 1: Rest, else the row's number plus 2
	if *place == 0 {
		n := int32(0)
		switch {
		case c.byNode:
			n = c.f.leaf(stack, label, true)
		case c.frames:
			n = c.f.self(stack)
		default:
			n = c.f.group[c.f.leaf(stack, label, false)]
		}
		*place = 1
		if row, ok := c.numbers[n]; ok {
			*place = uint32(row) + 2
		}
	}
	if *place == 1 {
		return &c.out.Rest.Points[step]
	}
	return &c.out.Rows[*place-2].Points[step]
}

// change adds what happened at a stack in a step.
func (c *choice) change(step int, n *recording.Change) {
	c.point(n.Stack, 0, step).follow(&Point{Live: n.Bytes - n.FreedBytes, LiveBlocks: n.Allocs - n.Frees,
		Allocations: n.Allocs, Bytes: n.Bytes, Deallocations: n.Frees, Least: uint64(min(n.Net(), 0))})
}

// live sums up the changes up to a step. Steps must be asked for in order.
func (c *choice) live(step int) uint64 {
	for ; c.upTo <= step; c.upTo++ {
		c.sum += c.out.Rest.Points[c.upTo].Live
		for i := range c.out.Rows {
			c.sum += c.out.Rows[i].Points[c.upTo].Live
		}
	}
	return c.sum
}
