package query

import "github.com/heaptap/heaptap/internal/event"

// peaks finds own peaks. A group's is not the sum of its stacks': they need not have been at their peaks at the same
// moment. So the levels of all groups are followed from event to event, unless each group is of one stack only.
type peaks struct {
	a     *ask
	c     *cells
	f     *forest
	slots func(n int32) []int32 // numbers of the values that a block at a node counts in
	out   []*uint64             // by that number
	list  [][]int32             // slots of each cell, once they were asked for
}

func newPeaks(a *ask, c *cells, f *forest, slots func(n int32) []int32) *peaks {
	return &peaks{a: a, c: c, f: f, slots: slots}
}

// want says where the own peak with the next number goes.
func (p *peaks) want(v *uint64) { p.out = append(p.out, v) }

// find fills in all that is wanted, and the answer's total.
func (p *peaks) find() error {
	if !p.a.ownPeaks {
		return nil
	}
	p.want(&p.a.Total.OwnPeak)
	all := int32(len(p.out) - 1)
	p.list = make([][]int32, len(p.c.list))
	done, err := p.held(all)
	if done || err != nil {
		return err
	}
	p.a.Plan = FromEvents
	level := make([]int64, len(p.out))
	most := make([]int64, len(p.out))
	move := func(cell int, by int64, count bool) {
		for _, s := range p.of(cell, all) {
			level[s] += by
			if count && level[s] > most[s] {
				most[s] = level[s]
			}
		}
	}
	p.c.index()
	begin := p.a.From
	if p.a.perBlock {
		begin = p.a.first
	} else {
		before, err := p.a.Reader.LiveAt(p.a.ctx, begin)
		if err != nil {
			return err
		}
		for _, l := range before {
			if i := *p.c.places.at(l.Stack, 0); i != 0 {
				move(int(i-1), int64(l.Bytes), false)
			}
		}
		copy(most, level)
	}
	started := begin == p.a.From
	err = p.a.blocksBetween(begin, p.a.To, func(n uint64, e *event.Event, label uint32, _ uint64) {
		if !started && n >= p.a.From {
			started = true
			copy(most, level)
		}
		i := int(*p.c.places.at(p.a.stack(e), label)) - 1
		switch {
		case i < 0:
		case e.Kind == event.Alloc:
			move(i, int64(e.Size), started)
		default:
			move(i, -int64(e.Size), false)
		}
	})
	if err != nil {
		return err
	}
	if !started {
		copy(most, level)
	}
	for i, v := range p.out {
		*v = uint64(max(most[i], 0))
	}
	return nil
}

// held takes the own peaks of the stacks; false if a group is of several. That of all stacks is the process's peak.
func (p *peaks) held(all int32) (bool, error) {
	if !p.a.peaksHeld {
		return false, nil
	}
	stacks := make([]int, len(p.out))
	for i := range p.c.list {
		for _, s := range p.of(i, all) {
			if stacks[s]++; stacks[s] > 1 && (s != all || p.a.stacks != nil) {
				return false, nil
			}
			*p.out[s] = p.c.list[i].OwnPeak
		}
	}
	if p.a.stacks != nil {
		return true, nil
	}
	if p.a.whole {
		*p.out[all] = p.a.sum.Totals.Peak.Bytes
		return true, nil
	}
	bytes, _, err := p.a.Reader.PeakBetween(p.a.ctx, p.a.From, p.a.To)
	if p.a.From == p.a.To {
		bytes = 0
		for i := range p.c.list {
			bytes += p.c.list[i].OwnPeak
		}
	}
	*p.out[all] = bytes
	return true, err
}

// of are the numbers of all values that a cell counts in.
func (p *peaks) of(cell int, all int32) []int32 {
	if p.list[cell] == nil {
		p.list[cell] = append(p.slots(p.f.cells[cell]), all)
	}
	return p.list[cell]
}
