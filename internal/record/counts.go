package record

import (
	"cmp"
	"slices"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/records"
	"github.com/heaptap/heaptap/internal/spool"
	"github.com/heaptap/heaptap/internal/wire"
)

// writeCounts writes what the process's threads have counted, if they have. While it runs, ever more seldom: what is
// written replaces what was written before, but that stays in the file.
func (p *process) writeCounts(final bool) {
	now := time.Now()
	if !final && now.Before(p.countsNext) {
		return
	}
	if p.countsBegan.IsZero() {
		p.countsBegan = now
	}
	p.countsNext = now.Add(max(flushInterval, now.Sub(p.countsBegan)/8))
	c := event.Counts{Tick: p.order.Clock.Femtoseconds()}
	err := p.w.spool.Counts(func(n *spool.Count) {
		if n.Proc == p.slot {
			c.Rows = append(c.Rows, p.count(n))
		}
	})
	if err != nil {
		p.Note("Not all that the threads have counted could be read: %v.", err)
	}
	slices.SortStableFunc(c.Rows, func(a, b event.Count) int { return cmp.Compare(a.TID, b.TID) })
	_ = p.out.Counts(&c) // its error is seen with the next events, or at the end
}

// count translates a row.
func (p *process) count(n *spool.Count) event.Count {
	m := &records.Meanings[n.Kind]
	c := event.Count{
		TID: n.TID, Name: n.Name, Func: m.Func, Frees: n.Kind&wire.KStacked != 0, Calls: n.Calls, Failed: n.Failed,
		Bytes: n.Bytes, Usable: n.Usable, Time: p.order.Clock.Duration(n.Ticks), Timed: n.Timed}
	c.Sizes, c.Times = classes(n.Sizes[:]), classes(n.Times[:])
	return c
}

func classes(counts []uint32) (list []event.Class) {
	for i, n := range counts {
		if n != 0 {
			list = append(list, event.Class{Class: uint8(i), Calls: uint64(n)})
		}
	}
	return list
}
