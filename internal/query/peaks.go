package query

import (
	"errors"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// peaks determines own peaks. A group's own peak is not the sum of those of its stacks, which may be at different
// moments. So the levels of all groups are followed from event to event, unless each group has one stack only.
type peaks struct {
	watch
	a     *ask
	c     *cells
	nodes []int32               // of the cells: chains of a forest, or other numbers
	slots func(n int32) []int32 // numbers of the values in which a block there counts
	out   []*uint64             // by that number
	list  [][]int32             // slots of each cell, once determined
	sum   int                   // of their lengths
}

// maxSlots limits in how many values all cells together count. It is far beyond trees of usual depth: a cell counts in
// one value for each frame of its stack.
const maxSlots = 1 << 26

// errDeep says that the call stacks are too many and too deep for own peaks.
var errDeep = errors.New("the call stacks are too many and too deep for the own peak of each group: ask for other " +
	"metrics, or for top --by stack")

func newPeaks(a *ask, c *cells, nodes []int32, slots func(n int32) []int32) *peaks {
	return &peaks{watch: watch{ctx: a.ctx}, a: a, c: c, nodes: nodes, slots: slots}
}

// want requests the own peak of the next number, to be stored in v.
func (p *peaks) want(v *uint64) { p.out = append(p.out, v) }

// find determines everything that was requested, and the answer's total.
func (p *peaks) find() error {
	if !p.a.ownPeaks {
		return nil
	}
	p.want(&p.a.Total.OwnPeak)
	all := int32(len(p.out) - 1)
	p.list = make([][]int32, p.c.len())
	done, err := p.held(all)
	if done || err != nil {
		return err
	}
	p.a.Plan = FromEvents
	return p.follow(all)
}

// held takes the own peaks that the cells hold; false if a group has several cells. The own peak of all stacks is the
// process's peak.
func (p *peaks) held(all int32) (bool, error) {
	if !p.a.peaksHeld {
		return false, nil
	}
	single := make([]bool, len(p.out))
	for i := range p.c.len() {
		slots, err := p.of(i, all)
		if err != nil {
			return false, err
		}
		for _, s := range slots {
			if s != all && single[s] {
				return false, nil
			}
			single[s] = true
			*p.out[s] = p.c.get(i).OwnPeak
		}
	}
	switch {
	case p.a.Plan == FromEvents:
		*p.out[all] = p.a.allPeak
		return true, nil
	case p.a.stacks != nil:
		return p.c.len() < 2, nil
	case p.a.whole:
		*p.out[all] = p.a.sum.Totals.Peak.Bytes
		return true, nil
	}
	bytes, _, err := timetravel.PeakBetween(p.a.ctx, p.a.Reader, p.a.From, p.a.To)
	if p.a.From == p.a.To {
		bytes = 0
		for i := range p.c.len() {
			bytes += p.c.get(i).OwnPeak
		}
	}
	*p.out[all] = bytes
	return true, err
}

// levels are the levels of all groups.
type levels []level

func (l levels) begin() {
	for i := range l {
		l[i].most = l[i].now
	}
}

// move calls level.move for several levels.
func (l levels) move(list []int32, e *event.Event, counts bool) {
	_, bytes := e.Weight()
	switch by := int64(bytes); {
	case e.Kind == event.Free:
		for _, i := range list {
			l[i].now -= by
		}
	case counts:
		for _, i := range list {
			v := &l[i]
			v.now += by
			v.most = max(v.most, v.now)
		}
	default:
		for _, i := range list {
			l[i].now += by
		}
	}
}

// merge finds values in which the same cells count, as with a program's outermost functions: they share one level. It
// returns the level of each value and the number of levels. The lists of the cells hold levels afterwards.
func (p *peaks) merge() (of []int32, n int, err error) {
	of = make([]int32, len(p.out))
	next := int32(1)
	split := make(map[int32]int32) // separates values in which the cell counts from the others
	for _, list := range p.list {
		if err := p.err(); err != nil {
			return nil, 0, err
		}
		clear(split)
		for _, s := range list {
			to, ok := split[of[s]]
			if !ok {
				to = next
				split[of[s]] = to
				next++
			}
			of[s] = to
		}
	}
	number := map[int32]int32{0: 0} // level 0: no cell counts
	for i, v := range of {
		if _, ok := number[v]; !ok {
			number[v] = int32(len(number))
		}
		of[i] = number[v]
	}
	for i, list := range p.list {
		levels := make([]int32, 0, len(list))
		for _, s := range list {
			levels = append(levels, of[s])
		}
		slices.Sort(levels)
		p.list[i] = slices.Compact(levels)
	}
	return of, len(number), nil
}

// follow goes through the events. Levels begin at 0 in each block of events.
func (p *peaks) follow(all int32) error {
	a := p.a
	p.c.index()
	for i := range p.c.len() {
		if _, err := p.of(i, all); err != nil {
			return err
		}
	}
	of, n, err := p.merge()
	if err != nil {
		return err
	}
	sum, began := make(levels, n), false
	begin := a.From
	if a.perBlock {
		begin = a.first
	} else {
		before, err := timetravel.LiveAt(a.ctx, a.Reader, begin)
		if err != nil {
			return err
		}
		for _, l := range before {
			if i := p.c.find(l.Stack, 0); i >= 0 {
				for _, s := range p.list[i] {
					sum[s].now += int64(l.Bytes)
				}
			}
		}
	}
	if err := a.prepare(begin, a.To); err != nil {
		return err
	}
	err = a.scan(begin, a.To, 0, func(b recording.Stretch) (observer, func()) {
		label := a.labeler(b)
		part := make(levels, n)
		before := b.First < a.From && begin < a.From
		in := !before
		var labels []uint32
		observe := func(b *recording.Batch, counts []bool) {
			labels = label(b, labels)
			for i := range b.Events {
				n, e := b.First+uint64(i), &b.Events[i]
				if e.Kind > event.Free {
					continue
				}
				if !counts[i] || n < begin {
					continue
				}
				if !in && n >= a.From {
					in = true
					part.begin()
				}
				if i := p.c.find(a.stack(e), labels[i]); i >= 0 {
					part.move(p.list[i], e, in)
				}
			}
		}
		return observe, func() {
			within := b.First+b.Events > a.From
			if within && !in {
				part.begin()
			}
			if within && !began {
				began = true
				sum.begin()
			}
			for i := range sum {
				sum[i].follow(part[i], before, within)
			}
		}
	})
	if err != nil {
		return err
	}
	if !began {
		sum.begin()
	}
	for i, v := range p.out {
		*v = uint64(max(sum[of[i]].most, 0))
	}
	return nil
}

// of returns the numbers of all values in which a cell counts.
func (p *peaks) of(cell int, all int32) ([]int32, error) {
	if err := p.err(); err != nil {
		return nil, err
	}
	if p.list[cell] == nil {
		p.list[cell] = append(p.slots(p.nodes[cell]), all)
		if p.sum += len(p.list[cell]); p.sum > maxSlots {
			return nil, errDeep
		}
	}
	return p.list[cell], nil
}
