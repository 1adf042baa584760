package query

import (
	"cmp"
	"context"
	"errors"
	"math/bits"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// Classes is the number of powers of two.
const Classes = 65

// Bucket sums up one class of sizes or lifetimes.
type Bucket struct {
	Count uint64
	Bytes uint64 // requested
}

// HistSteps is the number of equal steps of time in a histogram. Tables show fewer; see Histogram.Table.
const (
	HistSteps    = tableSteps * stepsOfTable
	tableSteps   = 20
	stepsOfTable = 3
)

// Histogram is the distribution of sizes and lifetimes.
type Histogram struct {
	Answer
	Sizes     [Classes]Bucket // of the allocations in the range, by SizeClass
	Lifetimes [Classes]Bucket // of the deallocations in the range, by SizeClass of nanoseconds
	// Of the allocations in the range whose usable size is known, by SizeClass of the usable size.
	Usable     [Classes]Bucket
	Freed      [Classes]Bucket            // of the deallocations in the range, by SizeClass of the requested size
	NeverFreed Bucket                     // of the allocations in the range
	Slack      [Classes]Slacks            // of the allocations in the range, by SizeClass of the requested size
	Jumps      Jumps                      // of the reallocations in the range
	Pairs      []SizePair                 // the sizes before and after reallocations, the most frequent first
	OtherPairs uint64                     // reallocations of sizes that are not in Pairs because there were too many
	Times      [HistSteps][Classes]Bucket // of the allocations in the range, by step of time and SizeClass
	// Of the deallocations in the range, by SizeClass of the requested size and of the lifetime.
	Ages   [Classes][Classes]Bucket
	Kept   [Classes]Bucket // of the blocks of NeverFreed, by SizeClass of the requested size
	Live   [Classes]Bucket // what was allocated in the range and is live at its end, likewise
	Moves  *Moves          // of the reallocations in the range
	Exact  []SizeCount     // how often each size was requested, the most frequent first
	Others uint64          // allocations of sizes that are not in Exact because there were too many
	// Margins are those of an estimate; nil: everything was counted.
	Margins *HistMargins
}

// Slacks sums up what allocators reserved beyond the requested sizes.
type Slacks struct {
	Count            uint64 // allocations whose usable size is known
	Requested, Slack uint64 // bytes of those allocations
}

// SizeCount says how often a size was requested.
type SizeCount struct {
	Size, Count uint64
	Slack       uint64 // total slack, bytes
}

// maxExact is the limit on the number of different sizes that are counted.
const maxExact = 1 << 20

// Distribute answers with histograms of the blocks that the query selects. Its grouping is ignored.
func Distribute(ctx context.Context, s *Source, q *Query) (*Histogram, error) {
	one := *q
	one.By, one.Metrics, one.Rough = ByFunction, []Metric{Bytes}, 0
	a, err := newAsk(ctx, s, &one)
	if err != nil {
		return nil, err
	}
	a.Plan = FromEvents
	d := &distribution{a: a}
	if d.refFrom, err = a.Reader.AllocsBefore(a.From); err != nil {
		return nil, err
	}
	if d.refTo, err = a.Reader.AllocsBefore(a.To); err != nil {
		return nil, err
	}
	if err := a.prepare(a.From, a.last); err != nil {
		return nil, err
	}
	if err := a.scan(a.From, a.last, recording.Times|recording.Usable, d.collect); err != nil {
		return nil, err
	}
	h := &d.Histogram
	h.sumUp()
	h.Exact, h.Jumps = d.sizes.sorted(), d.jumps.Jumps
	h.Pairs, h.OtherPairs = d.jumps.pairs.sorted(), d.jumps.pairs.others
	h.Moves = d.jumps.pairs.moves()
	a.Total.Add(&h.Total)
	h.Answer = a.Answer
	return h, nil
}

// ErrNotAtOnce says that only the events answer a question.
var ErrNotAtOnce = errors.New("the run's statistics do not answer this, only its events do")

// newAtOnce returns the question about the sums of the whole run, which must have a Spread; else, ErrNotAtOnce. It
// changes the query.
func newAtOnce(ctx context.Context, s *Source, q *Query) (*ask, error) {
	q.By, q.Rough = ByFunction, 0
	a, err := newAsk(ctx, s, q)
	if err != nil {
		return nil, err
	}
	whole := a.Plan == FromTally && len(q.Modules)+len(q.Focus)+len(q.Ignore) == 0
	if !whole || s.sum.Spread == nil || s.sum.Totals.Samples > 0 {
		return nil, ErrNotAtOnce
	}
	return a, nil
}

// Classify answers with the sizes and lifetimes of Distribute alone, at once: from the run's statistics. All other
// fields are empty, and of lifetimes, the shortest and the longest one are not known. The error is ErrNotAtOnce if the
// question is about a part of the run, or if the recording has no such statistics: samples, and what older versions
// recorded.
func Classify(ctx context.Context, s *Source, q *Query) (*Histogram, error) {
	one := *q
	one.Metrics = []Metric{Bytes}
	a, err := newAtOnce(ctx, s, &one)
	if err != nil {
		return nil, err
	}
	if _, err := a.collect(); err != nil {
		return nil, err
	}
	t, spread := &s.sum.Totals, s.sum.Spread
	h := &Histogram{Answer: a.Answer, NeverFreed: Bucket{t.LeakedBlocks(), t.LeakedBytes()}, Others: t.Allocations}
	for class := range Classes {
		h.Sizes[class] = Bucket(spread.Sizes[class])
		h.Lifetimes[class] = Bucket(spread.Lifetimes[class])
	}
	return h, nil
}

// distribution turns events into a histogram.
type distribution struct {
	Histogram
	a              *ask
	refFrom, refTo uint64 // allocations of the range
	sizes          sizes
	jumps          blockJumps
	step           timeStep // of the latest allocation
}

// sumUp derives what other fields say in more detail.
func (h *Histogram) sumUp() {
	for class := range Classes {
		h.NeverFreed.add(h.Kept[class])
		for step := range h.Times {
			h.Sizes[class].add(h.Times[step][class])
		}
		for age, b := range h.Ages[class] {
			h.Freed[class].add(b)
			h.Lifetimes[age].add(b)
		}
	}
}

// collect is a collector.
func (d *distribution) collect(recording.Stretch) (observer, func()) {
	part := &distribution{a: d.a, refFrom: d.refFrom, refTo: d.refTo}
	return part.observeBatch, func() { d.add(part) }
}

// observeBatch is an observer.
func (d *distribution) observeBatch(b *recording.Batch, counts []bool) {
	for i := range b.Events {
		n, e := b.First+uint64(i), &b.Events[i]
		if n < d.a.From || e.Kind > event.Free {
			continue
		}
		d.jumps.observe(e, counts[i] && n < d.a.To)
		if counts[i] {
			d.observe(n, b.Refs[i], e)
		}
	}
}

func (d *distribution) observe(n, ref uint64, e *event.Event) {
	if d.refFrom <= ref && ref < d.refTo {
		kept := &d.Kept[bits.Len64(e.Size)]
		move(&kept.Bytes, &kept.Count, e)
	}
	if n >= d.a.To {
		return
	}
	if d.refFrom <= ref {
		live := &d.Live[bits.Len64(e.Size)]
		move(&live.Bytes, &live.Count, e)
	}
	blocks, bytes := e.Weight()
	if e.Kind == event.Free {
		d.Total.free(e)
		d.Ages[bits.Len64(e.Size)][bits.Len64(lifetime(e))].add(Bucket{blocks, bytes})
		return
	}
	d.Total.alloc(e)
	class := bits.Len64(e.Size)
	if e.Time < d.step.from || e.Time >= d.step.to {
		d.step = d.a.timeStep(e.Time)
	}
	d.Times[d.step.number][class].add(Bucket{blocks, bytes})
	one := SizeCount{Size: e.Size, Count: blocks}
	if e.Flags&event.HasUsable != 0 && e.Usable >= e.Size {
		one.Slack = blocks * (e.Usable - e.Size)
		d.Slack[class].add(Slacks{blocks, bytes, one.Slack})
		d.Usable[bits.Len64(e.Usable)].add(Bucket{blocks, bytes + one.Slack})
	}
	d.Others += d.sizes.add(one)
}

// step returns the step of HistSteps that contains a time. Products have 128 bits: a forged recording may span
// centuries.
func (a *ask) step(time int64) int {
	switch since := time - a.Begin; {
	case time <= a.Begin || a.Span <= 0:
		return 0
	case since >= a.Span:
		return HistSteps - 1
	default:
		hi, lo := bits.Mul64(uint64(since), HistSteps)
		step, _ := bits.Div64(hi, lo, uint64(a.Span))
		return int(step)
	}
}

// timeStep is a step of HistSteps, and the times for which it is known to be theirs: finding it takes a division.
type timeStep struct {
	number   int
	from, to int64 // to excluded
}

func (a *ask) timeStep(time int64) timeStep {
	s := timeStep{number: a.step(time), from: time, to: time}
	if s.number < HistSteps-1 && time >= a.Begin {
		s.to = a.StepTime(s.number + 1)
	}
	return s
}

// StepTime returns when a step of HistSteps begins, in ns.
func (a *Answer) StepTime(step int) int64 {
	n := int64(step)
	return a.Begin + a.Span/HistSteps*n + (a.Span%HistSteps*n+HistSteps-1)/HistSteps
}

// SizesStep is the sizes of what was allocated in a step of time.
type SizesStep struct {
	From, To int64 // ns
	Sizes    [Classes]Bucket
}

// Table returns Times in the fewer, longer steps of a table.
func (h *Histogram) Table() (list [tableSteps]SizesStep) {
	for i := range list {
		first := i * stepsOfTable
		list[i].From, list[i].To = h.StepTime(first), h.StepTime(first+stepsOfTable)
		for _, sizes := range h.Times[first : first+stepsOfTable] {
			for class, b := range sizes {
				list[i].Sizes[class].add(b)
			}
		}
	}
	return list
}

// add adds the distribution of the next block of events.
func (d *distribution) add(o *distribution) {
	d.Total.Add(&o.Total)
	d.jumps.add(&o.jumps)
	for i := range Classes {
		d.Usable[i].add(o.Usable[i])
		d.Slack[i].add(o.Slack[i])
		d.Kept[i].add(o.Kept[i])
		d.Live[i].add(o.Live[i])
		for k := range Classes {
			d.Ages[i][k].add(o.Ages[i][k])
		}
		for step := range d.Times {
			d.Times[step][i].add(o.Times[step][i])
		}
	}
	d.Others += o.Others
	for _, c := range o.sizes.list {
		d.Others += d.sizes.add(c)
	}
}

func (b *Bucket) add(o Bucket) {
	b.Count += o.Count
	b.Bytes += o.Bytes
}

func (s *Slacks) add(o Slacks) {
	s.Count += o.Count
	s.Requested += o.Requested
	s.Slack += o.Slack
}

// sizes counts different sizes, in the order of their first occurrence, up to maxExact of them.
type sizes struct {
	list   []SizeCount
	places hashed // index in list plus 1
}

// add adds a size. If there are too many sizes, it returns the number of allocations that it did not add.
func (s *sizes) add(c SizeCount) (others uint64) {
	p := s.places.at(c.Size)
	switch {
	case *p != 0:
		old := &s.list[*p-1]
		old.Count += c.Count
		old.Slack += c.Slack
	case len(s.list) == maxExact:
		return c.Count
	default:
		s.list = append(s.list, c)
		*p = uint32(len(s.list))
	}
	return 0
}

// sorted returns them, the most frequent first.
func (s *sizes) sorted() []SizeCount {
	slices.SortFunc(s.list, func(a, b SizeCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Size, b.Size))
	})
	return s.list
}

// SizeQuantile returns the size that a share p of the allocations does not exceed; 0 if there are none, or too many
// different sizes.
func (h *Histogram) SizeQuantile(p float64) uint64 {
	if h.Others > 0 {
		return 0
	}
	list := slices.Clone(h.Exact)
	slices.SortFunc(list, func(a, b SizeCount) int { return cmp.Compare(a.Size, b.Size) })
	n := uint64(0)
	for _, c := range list {
		if n += c.Count; float64(n) >= p*float64(h.Total.Allocations) {
			return c.Size
		}
	}
	return 0
}
