package recording

import (
	"context"
	"sort"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/event"
)

// Piece is what happened in one step of a range of time, or in a part of it.
type Piece struct {
	Step    int      // its number
	First   uint64   // number of its first event
	Top     uint64   // most bytes that were live at any moment of it, its beginning and its end included
	Changes []Change // by stack; a stack comes once
}

// Steps divides the events between two cuts at times (ns, rising) and tells of the steps, in order, in one or more pieces for each
// that has events. Step 0 is up to the first of the times, and so on. Of a block of events that lies within a step, its head and its
// changes tell; one that is divided is decoded, once. Events that were folded are an error.
func (r *Reader) Steps(ctx context.Context, from, to uint64, times []int64, take func(Piece)) error {
	if err := r.hasEvents(); err != nil {
		return err
	}
	d := divider{r: r, from: from, to: to}
	for _, t := range times {
		d.bounds = append(d.bounds, uint64(max(t, 0))/uint64(r.header.quantum))
	}
	tasks := d.tasks()
	return ahead(ctx, len(tasks), func(i int, _ *atomic.Bool) (func(), error) {
		list, err := tasks[i]()
		if err != nil {
			return nil, err
		}
		return func() {
			for _, p := range list {
				take(p)
			}
		}, nil
	})
}

// Whole moves the times (ns, rising) between the first and the last one to the nearest ones that divide no block of events, where there
// is one that is less than a third of a step away: steps that end there are told of without decoding.
func (r *Reader) Whole(times []int64) {
	q := int64(r.header.quantum)
	var ends []int64
	for i := range r.events {
		if i+1 == len(r.events) || r.events[i+1].head.begin > r.events[i].head.end {
			ends = append(ends, int64(r.events[i].head.end)*q)
		}
	}
	for i := 1; i+1 < len(times); i++ {
		near := min(times[i]-times[i-1], times[i+1]-times[i]) / 3
		k := sort.Search(len(ends), func(k int) bool { return ends[k] >= times[i] })
		best := times[i]
		for _, k := range []int{k - 1, k} {
			if k >= 0 && k < len(ends) && max(ends[k]-times[i], times[i]-ends[k]) < near {
				best, near = ends[k], max(ends[k]-times[i], times[i]-ends[k])
			}
		}
		times[i] = best
	}
}

// divider divides a range into steps.
type divider struct {
	r        *Reader
	from, to uint64
	bounds   []uint64 // in units of time: an event later than n of them is in step n
}

func (d *divider) step(time uint64) int {
	return sort.Search(len(d.bounds), func(i int) bool { return d.bounds[i] >= time })
}

// tasks are to be done in any order; what they return follows in this one.
func (d *divider) tasks() (list []func() ([]Piece, error)) {
	r := d.r
	for at := r.blockOf(d.from); at < len(r.events) && r.events[at].head.firstEvent < d.to; {
		i, end, step := at, at, 0
		for ; end < len(r.events) && d.undivided(end); end++ {
			if s := d.step(r.events[end].head.begin); end == i {
				step = s
			} else if s != step {
				break
			}
		}
		if end == i {
			list = append(list, func() ([]Piece, error) { return d.divide(i) })
			at++
			continue
		}
		last := &r.events[end-1].head
		for _, p := range r.parts(r.events[i].head.firstEvent, last.firstEvent+last.events) {
			list = append(list, func() ([]Piece, error) { return d.whole(p, step) })
		}
		at = end
	}
	return list
}

// undivided reports whether all of a block lies in the range, and in one step.
func (d *divider) undivided(i int) bool {
	h := &d.r.events[i].head
	return d.from <= h.firstEvent && h.firstEvent+h.events <= d.to && d.step(h.begin) == d.step(h.end)
}

// whole tells of one or more whole blocks.
func (d *divider) whole(p part, step int) ([]Piece, error) {
	r := d.r
	list, err := r.changes(p)
	first, blocks := p.block, 1
	if p.summary != nil {
		first, blocks = r.blockOf(p.summary.sum.firstEvent), int(p.summary.sum.blocks)
	}
	first = min(first, len(r.events)-1)
	end := min(first+blocks, len(r.events)) // of a forged recording, a summary's number of blocks may be anything
	out := Piece{Step: step, First: r.events[first].head.firstEvent, Changes: list}
	for i := first; i < end; i++ {
		h := &r.events[i].head
		out.Top = max(out.Top, uint64(max(h.live, h.peak, 0)))
	}
	if end < len(r.events) {
		out.Top = max(out.Top, uint64(max(r.events[end].head.live, 0)))
	}
	return []Piece{out}, err
}

// divide decodes a block.
func (d *divider) divide(i int) (list []Piece, err error) {
	r := d.r
	if r.folded(&r.events[i]) {
		return nil, r.foldedError(r.events[i].head.firstEvent)
	}
	n, live := r.events[i].head.firstEvent, r.events[i].head.live
	var sum Changes
	done := func() {
		if len(list) > 0 {
			list[len(list)-1].Changes = sum.list
		}
		sum = Changes{}
	}
	bound := uint64(0) // no event up to it is in another step than the one before
	err = r.decodeBlock(i, func(e *event.Event) bool {
		if n >= d.from && n < d.to {
			if time := uint64(e.Time) / uint64(r.header.quantum); len(list) == 0 || time > bound {
				step := d.step(time)
				if bound = ^uint64(0); step < len(d.bounds) {
					bound = d.bounds[step]
				}
				done()
				list = append(list, Piece{Step: step, First: n, Top: uint64(max(live, 0))})
			}
			sum.event(e)
			live += delta(e)
			last := &list[len(list)-1]
			last.Top = max(last.Top, uint64(max(live, 0)))
		} else {
			live += delta(e)
		}
		n++
		return n < d.to
	})
	done()
	return list, err
}
