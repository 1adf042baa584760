package query

import (
	"math"
	"math/rand/v2"

	"github.com/heaptap/heaptap/internal/recording"
)

// Sample says how an estimate is made: see Query.Estimate.
type Sample struct {
	Events uint64 // about how many events are read; a question that needs at most twice as many is answered exactly
	Seed   uint64 // which blocks of events are chosen depends on it
}

// QuickSample is a sample that is read in a tenth to some tenths of a second.
var QuickSample = Sample{Events: 32 << 18, Seed: 1}

// Estimate says from what the values of an answer were estimated.
type Estimate struct {
	Blocks, Of       int    // blocks of events that were read, and those of the range
	Events, OfEvents uint64 // in these
}

// Share is the share of the events that was read.
func (e *Estimate) Share() float64 { return float64(e.Events) / float64(max(e.OfEvents, 1)) }

// Confidence is that of the intervals of estimates.
const Confidence = 0.95

// LeastBlocks is in how many of the blocks of events that were read something must be, for its estimate to have an
// interval: fewer say too little about the others.
const LeastBlocks = 5

// leastLikeness is never 0: the index does not say all about blocks of events.
const leastLikeness = 0.5

// mostDrawn bounds how many blocks of events are read for an estimate.
const mostDrawn = 64

// mostSpread bounds in how many values all cells together count. Beyond that, estimates have no intervals.
const mostSpread = 1 << 23

// Margins are by how much estimates may be off, by metric: half the width of the interval around the estimate. NaN: not
// known.
type Margins [metricCount]float64

// estimable are the metrics that can be estimated: sums over blocks of events, to each of which a block of events adds
// what happened in it, whatever happened before and afterwards.
var estimable = [metricCount]bool{Allocations: true, Bytes: true, Deallocations: true, FreedBytes: true,
	Temporary: true, TemporaryBytes: true, ZeroSize: true, Slack: true, Reallocations: true, Churn: true}

// Estimable reports whether the metric can be estimated from some blocks of events.
func (m Metric) Estimable() bool { return estimable[m] }

// Margin returns by how much the metric's value may be off, in the metric's unit: half the width of the interval that
// has the true value in it in 95 of 100 samples. False if the value is not an estimate, or if that is not known.
func (m Metric) Margin(v *Values, span int64) (float64, bool) {
	switch {
	case v.Margins == nil || math.IsNaN(v.Margins[m]):
		return 0, false
	case m != Churn:
		return v.Margins[m], true
	case span <= 0:
		return 0, false
	}
	return v.Margins[m] / (float64(span) / 1e9), true
}

// draw is a choice of blocks of events, and what was counted in each.
//
// The blocks of the range are divided into strata of neighbours in time, and one block of each stratum is chosen at
// random. It stands for all of them, so that sums stay whole numbers. The strata are the shorter, the more the blocks
// differ from each other by what the recording's index says of them.
type draw struct {
	Estimate
	blocks  []int    // their numbers, in order
	weights []uint64 // for how many blocks each of them stands
	// By how much blocks differ from each other within each stratum, compared with how much its chosen block differs
	// from that of the stratum before, and of the next one: at most 1.
	before, after []float64
	metrics       []Metric // that are estimated
	fields        []field  // of these

	// What was counted: by cell and block those that have something, by block. values has a number for each field.
	cells  []uint32
	at     []int
	values []uint64
	all    []uint64 // everything, by block and field
}

// newDraw divides n blocks, of which the first one has that number, into about m strata. differs says by how much each
// block differs from the one before; nil: not at all.
func newDraw(first, n, m int, differs []float64, seed uint64) *draw {
	d := &draw{}
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	lengths := lengthsOf(n, m, differs)
	sum, from := 0.0, 0
	var within []float64 // by stratum: how much its blocks differ
	for i := range n {
		sum += lengths[i]
		next := 0.0 // so much of the next block belongs to the boundary before it
		if i+1 < n {
			next = lengths[i+1]
		}
		if i+1 < n && math.Floor(sum*float64(m)+1e-9) == math.Floor((sum+next)*float64(m)+1e-9) {
			continue
		}
		d.blocks = append(d.blocks, first+from+rng.IntN(i+1-from))
		d.weights = append(d.weights, uint64(i+1-from))
		w := 0.0
		if from < i {
			w = total(differs, from+1, i+1) * float64(i+1-from) / float64(i-from)
		}
		within = append(within, w)
		from = i + 1
	}
	for i, w := range within {
		d.before, d.after = append(d.before, 0), append(d.after, 0)
		if i > 0 {
			between := total(differs, d.blocks[i-1]-first+1, d.blocks[i]-first+1)
			d.before[i], d.after[i-1] = likeness(w, between), likeness(within[i-1], between)
		}
	}
	d.Blocks, d.Of = len(d.blocks), n
	return d
}

// total is the sum of a part of a list; 0 for a nil list.
func total(list []float64, from, to int) (sum float64) {
	if list != nil {
		for _, x := range list[from:to] {
			sum += x
		}
	}
	return sum
}

// likeness is the share of a difference between two blocks that may be found within a stratum, too.
func likeness(within, between float64) float64 {
	if within >= between {
		return 1
	}
	return max(within/between, leastLikeness)
}

// lengthsOf returns how much each of n blocks adds to the length of a stratum, a sum of 1: one half is equal for all,
// the other one in proportion to how they differ from the block before, up to the length of a stratum.
func lengthsOf(n, m int, differs []float64) []float64 {
	list := make([]float64, n)
	sum, used := 0.0, 0.0
	for _, x := range differs {
		sum += x
	}
	for i, x := range differs {
		if sum > 0 {
			list[i] = min(x/sum/2, 1/float64(m))
			used += list[i]
		}
	}
	for i := range list {
		list[i] += (1 - used) / float64(n)
	}
	return list
}

// estimate decides whether the question is answered from some blocks of events, and chooses these.
func (a *ask) estimate() {
	s := a.q.Estimate
	if s == nil || a.Plan != FromEvents || a.Sampled || a.q.filtersPairs() || a.q.By == ByAllocation ||
		a.Reader.NeedEvents() != nil || a.From >= a.To {
		return
	}
	for _, m := range a.Metrics {
		if !m.Estimable() {
			return
		}
	}
	d := a.newDraw(s)
	if d == nil {
		return
	}
	d.metrics = a.Metrics
	for _, m := range d.metrics {
		d.fields = append(d.fields, fieldsOf[m][0])
	}
	d.all = make([]uint64, len(d.blocks)*len(d.fields))
	a.draw, a.Estimate = d, &d.Estimate
}

// newDraw chooses blocks of events of the range; nil: the whole range is read as fast, or cannot be read.
func (a *ask) newDraw(s *Sample) *draw {
	blocks := a.Reader.EventBlocks()
	first := blocks.At(a.From)
	end := min(blocks.At(a.To-1)+1, blocks.Len())
	n, events := end-first, a.To-a.From
	if n < 1 || events <= 2*s.Events || blocks.Folded(first) {
		return nil
	}
	m := int(min(float64(s.Events)*float64(n)/float64(events), mostDrawn))
	if m < 2*LeastBlocks || n < 2*m {
		return nil
	}
	d := newDraw(first, n, m, a.differences(first, n), s.Seed)
	for i := first; i < end; i++ {
		d.OfEvents += blocks.Head(i).Events
	}
	for _, i := range d.blocks {
		d.Events += blocks.Head(i).Events
	}
	return d
}

// differences returns by how much n blocks of events differ from the one before: by their events, the share of
// allocations in these, and by how many call stacks and threads they have.
func (a *ask) differences(first, n int) []float64 {
	blocks := a.Reader.EventBlocks()
	type features [4]float64
	of := func(i int) features {
		h := blocks.Head(i)
		return features{float64(h.Events), float64(h.Allocs) / float64(max(h.Events, 1)), float64(h.Stacks),
			float64(h.Threads)}
	}
	var most features
	for i := range n {
		for k, x := range of(first + i) {
			most[k] = max(most[k], x)
		}
	}
	list := make([]float64, n)
	for i := 1; i < n; i++ {
		x, y := of(first+i-1), of(first+i)
		for k := range x {
			if most[k] > 0 {
				list[i] += math.Abs(x[k]-y[k]) / most[k]
			}
		}
	}
	return list
}

// scanDrawn passes the events of the blocks that were chosen to a collector. It reports whether all could be read.
func (a *ask) scanDrawn(d *draw, f recording.Fields, collect collector) (whole bool, err error) {
	err = a.Reader.ScanBlocks(a.ctx, d.blocks, a.To, f|recording.Sizes, a.pass(a.From, a.To, a.counter, collect))
	if err != nil && a.ctx.Err() == nil && !folded(err) {
		return false, nil
	}
	return err == nil, err
}

// fromSample counts the events of the blocks that were chosen, if any were. If one of them is damaged, there is no
// estimate: what can be read before the damage counts.
func (a *ask) fromSample(c *cells) error {
	d := a.draw
	if d == nil {
		return nil
	}
	k, err := a.newCount(c)
	if err == nil {
		err = a.prepare(k.begin, k.end)
	}
	if err != nil {
		return err
	}
	block := 0
	k.taken = func(s *blockCount) {
		for i := range s.c.len() {
			x := s.c.get(i)
			number := c.number(x.stack, x.label)
			d.take(number, block, &x.Values)
			x.Values.multiply(d.weights[block])
			c.get(int(number)).Values.Add(&x.Values)
		}
		block++
	}
	whole, err := a.scanDrawn(d, k.fields(), k.collect)
	if err != nil {
		return err
	}
	if !whole {
		a.draw, a.Estimate = nil, nil
		*c = cells{}
	}
	return nil
}

// take notes what was counted in a block.
func (d *draw) take(cell uint32, block int, v *Values) {
	d.cells, d.at = push(d.cells, cell), push(d.at, block)
	for k, f := range d.fields {
		n := fieldTable[f].get(v)
		d.values = push(d.values, n)
		d.all[block*len(d.fields)+k] += n
	}
}

// multiply makes the sums those of w equal blocks of events.
func (v *Values) multiply(w uint64) {
	for m, ok := range estimable {
		if ok && Metric(m) != Churn {
			f := &fieldTable[fieldsOf[m][0]]
			f.set(v, w*f.get(v))
		}
	}
}

// marginColumns are the margins of groups, by metric.
type marginColumns struct {
	metrics []Metric
	cols    [][]float64
}

// of returns the margins of a group.
func (c *marginColumns) of(group int) *Margins {
	if c == nil {
		return nil
	}
	list := noMargins()
	for k, m := range c.metrics {
		list[m] = c.cols[k][group]
	}
	return list
}

func noMargins() *Margins {
	var list Margins
	for m := range list {
		list[m] = math.NaN()
	}
	return &list
}

// marginPlace is where the margins of a group are wanted.
type marginPlace struct {
	*marginColumns
	group int32
}

// wantMargins gives sums margins, which are not known yet, and appends their places.
func (s *Sums) wantMargins(d *draw, list []marginPlace) []marginPlace {
	s.margins = &marginColumns{metrics: d.metrics}
	for range d.metrics {
		col := make([]float64, s.Len())
		for i := range col {
			col[i] = math.NaN()
		}
		s.margins.cols = append(s.margins.cols, col)
	}
	for i := range s.Len() {
		list = append(list, marginPlace{s.margins, int32(i)})
	}
	return list
}

// spread fills in margins. slots returns in which of them a cell counts, by its chain.
func (d *draw) spread(outs []marginPlace, ofCell []int32, slots func(chain int32) []int32) {
	fields, blocks := len(d.fields), len(d.blocks)
	if len(outs)*fields*blocks > mostSpread {
		return
	}
	list, sum := make([][]int32, len(ofCell)), 0 // slots of each cell, once they are known
	all := make([]float32, len(outs)*fields*blocks)
	for i, cell := range d.cells {
		if list[cell] == nil {
			list[cell] = slots(ofCell[cell])
			if sum += len(list[cell]); sum > mostSpread {
				return
			}
		}
		for k, v := range d.values[i*fields : (i+1)*fields] {
			if v == 0 {
				continue
			}
			for _, s := range list[cell] {
				all[(int(s)*fields+k)*blocks+d.at[i]] += float32(v)
			}
		}
	}
	for i, o := range outs {
		for k := range fields {
			at := (i*fields + k) * blocks
			if margin, ok := d.margin(all[at : at+blocks]); ok {
				o.cols[k][o.group] = margin
			}
		}
	}
}

// marginsOfAll returns the margins of everything that is selected.
func (d *draw) marginsOfAll() *Margins {
	list, values := noMargins(), make([]float32, len(d.blocks))
	for k, m := range d.metrics {
		for block := range values {
			values[block] = float32(d.all[block*len(d.fields)+k])
		}
		if margin, ok := d.margin(values); ok {
			list[m] = margin
		}
	}
	return list
}

// margin returns half the width of the interval of the sum of which these are the values in the blocks that were read;
// false if it is in too few of them.
//
// From how much a block differs from its neighbours among those that were read follows how much the other blocks of its
// stratum may differ from it. A stratum that was read as a whole adds nothing to the variance (the finite-population
// correction). Where a program goes from one phase to the next, this says more than the truth, but never nothing, as
// would two blocks of one stratum that happen to be of the same phase. The degrees of freedom are those of
// Satterthwaite: few if few strata make up the variance.
func (d *draw) margin(values []float32) (float64, bool) {
	in := 0
	for _, x := range values {
		if x > 0 {
			in++
		}
	}
	if in < LeastBlocks {
		return 0, false
	}
	var sum, squares float64
	for i, w := range d.weights {
		before, after := d.before[i], d.after[i]
		if 2*in < len(values) { // the index is about all events, of which these are few
			before, after = 1, 1
		}
		before, after = d.half(values, i, before), d.half(values, i+1, after)
		if i > 0 && i+1 < len(values) { // with both, each counts for one half
			before, after = before/2, after/2
		}
		v := float64(w) * float64(w-1) * (before + after)
		sum += v
		squares += v * v
	}
	if sum == 0 {
		return 0, true
	}
	return studentQuantile(min(sum*sum/squares, float64(in-1))) * math.Sqrt(sum), true
}

// half returns half the squared difference of the value in a block from that in the one before, of which only a share
// counts; 0 if there is no such block.
func (d *draw) half(values []float32, i int, share float64) float64 {
	if i == 0 || i == len(values) {
		return 0
	}
	diff := (float64(values[i]) - float64(values[i-1])) * share
	return diff * diff / 2
}

// studentQuantiles are the quantiles of Student's distribution that 95 % of its values do not exceed in size, by
// degrees of freedom.
var studentQuantiles = []struct{ freedom, quantile float64 }{{1, 12.706}, {2, 4.303}, {3, 3.182}, {4, 2.776},
	{5, 2.571}, {6, 2.447}, {8, 2.306}, {10, 2.228}, {15, 2.131}, {20, 2.086}, {30, 2.042}, {60, 2.000},
	{math.Inf(1), 1.960}}

// studentQuantile returns one of them, between those of the list in proportion to the inverse of the degrees.
func studentQuantile(freedom float64) float64 {
	list := studentQuantiles
	for i, high := range list[1:] {
		if low := list[i]; freedom <= high.freedom {
			at := (1/low.freedom - 1/max(freedom, 1)) / (1/low.freedom - 1/high.freedom)
			return low.quantile + at*(high.quantile-low.quantile)
		}
	}
	return list[len(list)-1].quantile
}
