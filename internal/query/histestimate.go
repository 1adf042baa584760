package query

import (
	"context"
	"math"

	"github.com/heaptap/heaptap/internal/recording"
)

// HistMargins are by how much the numbers of blocks of an estimated Histogram may be off, by class: half the width of
// the interval. NaN: not known.
type HistMargins struct{ Sizes, Lifetimes [Classes]float64 }

// EstimateSizes answers as Distribute, from some blocks of events, as the query says. What needs other events than
// those of a block is not in it: what is live or was never freed, and reallocations. The error is ErrNotAtOnce if the
// question cannot be estimated, or if Distribute reads about as much.
func EstimateSizes(ctx context.Context, s *Source, q *Query) (*Histogram, error) {
	one := *q
	one.By, one.Metrics, one.Rough = ByFunction, []Metric{Bytes}, 0
	a, err := newAsk(ctx, s, &one)
	if err != nil {
		return nil, err
	}
	a.Plan = FromEvents
	if a.estimate(); a.draw == nil {
		return nil, ErrNotAtOnce
	}
	if err := a.prepare(a.From, a.To); err != nil {
		return nil, err
	}
	d := &drawnDistribution{distribution: distribution{a: a}, draw: a.draw}
	whole, err := a.scanDrawn(a.draw, recording.Times|recording.Usable, d.collect)
	if err != nil {
		return nil, err
	}
	if !whole {
		return nil, ErrNotAtOnce
	}
	h := &d.Histogram
	h.sumUp()
	h.Exact = d.sizes.sorted()
	h.Margins = d.margins()
	a.Total.Add(&h.Total)
	h.Answer = a.Answer
	return h, nil
}

// leastOfClass is in how many of the blocks that were read a class must be, for its estimate to have an interval: a
// histogram has many classes that are in a few blocks only, and how these vary is skewed.
const leastOfClass = 2 * LeastBlocks

// drawnDistribution turns the events of the blocks that were chosen into a histogram of all.
type drawnDistribution struct {
	distribution
	draw   *draw
	block  int
	counts [2][Classes][]float32 // of sizes and lifetimes, by class and block
}

// collect is a collector of a block.
func (d *drawnDistribution) collect(recording.Stretch) (observer, func()) {
	part := &distribution{a: d.a, refFrom: math.MaxUint64} // what is live is not asked
	return part.observeBatch, func() {
		part.sumUp()
		for class := range Classes {
			for i, n := range [2]uint64{part.Sizes[class].Count, part.Lifetimes[class].Count} {
				list := &d.counts[i][class]
				if n > 0 && *list == nil {
					*list = make([]float32, len(d.draw.blocks))
				}
				if n > 0 {
					(*list)[d.block] = float32(n)
				}
			}
		}
		part.multiply(d.draw.weights[d.block])
		d.add(part)
		d.block++
	}
}

// multiply makes the sums those of w equal blocks of events.
func (d *distribution) multiply(w uint64) {
	d.Total.multiply(w)
	for class := range Classes {
		d.Usable[class].multiply(w)
		d.Slack[class] = Slacks{w * d.Slack[class].Count, w * d.Slack[class].Requested, w * d.Slack[class].Slack}
		for age := range Classes {
			d.Ages[class][age].multiply(w)
		}
		for step := range d.Times {
			d.Times[step][class].multiply(w)
		}
	}
	d.Others *= w
	for i := range d.sizes.list {
		c := &d.sizes.list[i]
		c.Count, c.Slack = w*c.Count, w*c.Slack
	}
}

func (b *Bucket) multiply(w uint64) { b.Count, b.Bytes = w*b.Count, w*b.Bytes }

// margins returns those of the classes.
func (d *drawnDistribution) margins() *HistMargins {
	m := &HistMargins{}
	for i, to := range [2]*[Classes]float64{&m.Sizes, &m.Lifetimes} {
		for class, list := range d.counts[i] {
			to[class] = math.NaN()
			in := 0
			for _, n := range list {
				if n > 0 {
					in++
				}
			}
			if in < leastOfClass {
				continue
			}
			if margin, ok := d.draw.margin(list); ok {
				to[class] = margin
			}
		}
	}
	return m
}
