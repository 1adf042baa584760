package recording

import (
	"context"
	"sort"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/block"
)

// Piece is what happened in one step of a range of time, or in a part of it.
type Piece struct {
	Step    int      // its number
	First   uint64   // number of its first event
	Top     uint64   // most bytes that were live at any moment of it, its beginning and its end included
	Changes []Change // by stack; a stack comes once
}

// Bound is the end of a step: later events are in the next one, and those of that very time from Cut on, if Cut is not
// 0.
type Bound struct {
	Time int64 // ns
	Cut  uint64
}

// Steps divides the events between two cuts at bounds, which rise, and tells of the steps, in order, in one or more
// pieces for each that has events. Step 0 is up to the first of the bounds, and so on. Of a block of events that lies
// within a step, its head and its changes tell; one that is divided is decoded, once. Events that were folded are an
// error.
func (r *Reader) Steps(ctx context.Context, from, to uint64, bounds []Bound, take func(Piece)) error {
	if err := r.hasEvents(); err != nil {
		return err
	}
	d := divider{r: r, from: from, to: to, bounds: bounds, quantum: int64(r.header.quantum)}
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

// Whole moves bounds at equal steps, of which the first and the last are the ends of a range, to the nearest ends of
// blocks of events, where one is less than half a step away: of steps that end there Steps tells without decoding. The
// ends of the range stay.
func (r *Reader) Whole(bounds []Bound) {
	n := len(bounds) - 1
	if n < 2 {
		return
	}
	end := func(k int) int64 { return int64(r.events[k].head.End) * int64(r.header.quantum) }
	half := (bounds[n].Time - bounds[0].Time) / int64(n) / 2
	for i := range bounds[1:n] {
		b := &bounds[1:n][i]
		at, near := b.Time, half
		k := sort.Search(len(r.events), func(k int) bool { return end(k) >= at })
		for k := max(k-1, 0); k < len(r.events) && end(k) < at+near; k++ {
			if away := max(end(k)-at, at-end(k)); away < near {
				h := &r.events[k].head
				*b, near = Bound{end(k), h.FirstEvent + h.Events}, away
			}
		}
	}
}

// divider divides a range into steps.
type divider struct {
	r        *Reader
	from, to uint64
	bounds   []Bound
	quantum  int64
}

// past reports whether an event, by its time and number, is in a later step.
func (b *Bound) past(time int64, n uint64) bool {
	return time > b.Time || time == b.Time && b.Cut != 0 && n >= b.Cut
}

func (d *divider) step(time int64, n uint64) int {
	return sort.Search(len(d.bounds), func(i int) bool { return !d.bounds[i].past(time, n) })
}

// tasks are to be done in any order; what they return follows in this one.
func (d *divider) tasks() (list []func() ([]Piece, error)) {
	r := d.r
	for at := r.blockOf(d.from); at < len(r.events) && r.events[at].head.FirstEvent < d.to; {
		i, end, step := at, at, 0
		for ; end < len(r.events); end++ {
			s, ok := d.undivided(end)
			if !ok || end > i && s != step {
				break
			}
			step = s
		}
		if end == i {
			list = append(list, func() ([]Piece, error) { return d.divide(i) })
			at++
			continue
		}
		last := &r.events[end-1].head
		for _, p := range r.parts(r.events[i].head.FirstEvent, last.FirstEvent+last.Events) {
			list = append(list, func() ([]Piece, error) { return d.whole(p, step) })
		}
		at = end
	}
	return list
}

// undivided returns the step of a block's first event, and whether all of the block lies in the range, and in that
// step.
func (d *divider) undivided(i int) (step int, ok bool) {
	h := &d.r.events[i].head
	step = d.step(int64(h.Begin)*d.quantum, h.FirstEvent)
	return step, d.from <= h.FirstEvent && h.FirstEvent+h.Events <= d.to &&
		step == d.step(int64(h.End)*d.quantum, h.FirstEvent+h.Events-1)
}

// whole tells of one or more whole blocks.
func (d *divider) whole(p part, step int) ([]Piece, error) {
	r := d.r
	list, err := r.changes(p)
	first, blocks := p.block, 1
	if p.summary != nil {
		first, blocks = r.blockOf(p.summary.sum.FirstEvent), int(p.summary.sum.Blocks)
	}
	first = min(first, len(r.events)-1)
	end := min(first+blocks, len(r.events)) // of a forged recording, a summary's number of blocks may be anything
	out := Piece{Step: step, First: r.events[first].head.FirstEvent, Changes: list}
	for i := first; i < end; i++ {
		h := &r.events[i].head
		out.Top = max(out.Top, uint64(max(h.Live, h.Peak, 0)))
	}
	if end < len(r.events) {
		out.Top = max(out.Top, uint64(max(r.events[end].head.Live, 0)))
	}
	return []Piece{out}, err
}

// divide decodes a block.
func (d *divider) divide(i int) (list []Piece, err error) {
	r := d.r
	if r.folded(&r.events[i]) {
		return nil, r.foldedError(r.events[i].head.FirstEvent)
	}
	live := r.events[i].head.Live
	var sum Changes
	done := func() {
		if len(list) > 0 {
			list[len(list)-1].Changes = sum.List()
		}
		sum = Changes{}
	}
	var bound *Bound // of the step of the event before; nil: it is the last one
	err = r.decodeBlock(i, Times|Sizes, func(n, _ uint64, e *event.Event) bool {
		if n >= d.from && n < d.to {
			if len(list) == 0 || bound != nil && bound.past(e.Time, n) {
				step := d.step(e.Time, n)
				if bound = nil; step < len(d.bounds) {
					bound = &d.bounds[step]
				}
				done()
				list = append(list, Piece{Step: step, First: n, Top: uint64(max(live, 0))})
			}
			sum.AddEvent(e)
			live += block.Delta(e)
			last := &list[len(list)-1]
			last.Top = max(last.Top, uint64(max(live, 0)))
		} else {
			live += block.Delta(e)
		}
		return n+1 < d.to
	})
	done()
	return list, err
}
