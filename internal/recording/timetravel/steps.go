package timetravel

import (
	"context"
	"sort"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/inorder"
)

// Piece is what happened in one step of a range of time, or in a part of that step.
type Piece struct {
	Step    int                // its number
	First   uint64             // number of its first event
	Top     uint64             // most bytes that were live at any moment of it, its beginning and its end included
	Changes []recording.Change // one for each stack
}

// Bound is the end of a step. Events after Time are in the next step. If Cut is not 0, so are the events at Time from
// Cut on.
type Bound struct {
	Time int64 // ns
	Cut  uint64
}

// Steps divides the events between two cuts at bounds, which rise. Step 0 ends at the first bound, step 1 at the second
// one, and so on. take gets one or more pieces for each step that has events, in order. A block of events that lies
// within a step is not decoded: its head and its changes are enough. One that a bound divides is decoded, once. If
// events of the range were folded, the error is a *recording.FoldedError.
func Steps(ctx context.Context, r *recording.Reader, from, to uint64, bounds []Bound, take func(Piece)) error {
	if err := r.NeedEvents(); err != nil {
		return err
	}
	d := divider{blocks: r.EventBlocks(), from: from, to: to, bounds: bounds}
	tasks := d.tasks()
	return inorder.Do(ctx, len(tasks), func(i int, _ *atomic.Bool) (func(), error) {
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

// Align moves bounds to the nearest ends of blocks of events, where one is less than half a step away: Steps need not
// decode events at such a bound. The bounds are at equal distances; the first and the last one, which are the ends of
// the range, stay.
func Align(r *recording.Reader, bounds []Bound) {
	n := len(bounds) - 1
	if n < 2 {
		return
	}
	blocks := r.EventBlocks()
	half := (bounds[n].Time - bounds[0].Time) / int64(n) / 2
	for i := range bounds[1:n] {
		b := &bounds[1:n][i]
		at, near := b.Time, half
		k := sort.Search(blocks.Len(), func(k int) bool { return blocks.End(k) >= at })
		for k := max(k-1, 0); k < blocks.Len() && blocks.End(k) < at+near; k++ {
			end := blocks.End(k)
			if away := max(end-at, at-end); away < near {
				*b, near = Bound{end, blocks.Cut(k)}, away
			}
		}
	}
}

// divider divides a range into steps.
type divider struct {
	blocks   *recording.EventBlocks
	from, to uint64
	bounds   []Bound
}

// past reports whether an event, by its time and number, is in a later step.
func (b *Bound) past(time int64, n uint64) bool {
	return time > b.Time || time == b.Time && b.Cut != 0 && n >= b.Cut
}

// step returns the step of an event, by its time and number.
func (d *divider) step(time int64, n uint64) int {
	return sort.Search(len(d.bounds), func(i int) bool { return !d.bounds[i].past(time, n) })
}

// tasks returns what is to be done, in the order of the pieces that it returns. The tasks may run in any order.
func (d *divider) tasks() (list []func() ([]Piece, error)) {
	blocks := d.blocks
	for at := blocks.At(d.from); at < blocks.Len() && blocks.Head(at).FirstEvent < d.to; {
		i, end, step := at, at, 0
		for ; end < blocks.Len(); end++ {
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
		for _, p := range divide(blocks, blocks.Head(i).FirstEvent, blocks.Cut(end-1)) {
			list = append(list, func() ([]Piece, error) { return d.whole(&p, step) })
		}
		at = end
	}
	return list
}

// undivided returns the step of a block's first event, and whether the whole block is in the range and in that step.
func (d *divider) undivided(i int) (step int, ok bool) {
	first, cut := d.blocks.Head(i).FirstEvent, d.blocks.Cut(i)
	step = d.step(d.blocks.Begin(i), first)
	return step, d.from <= first && cut <= d.to && step == d.step(d.blocks.End(i), cut-1)
}

// whole returns the piece of one or more whole blocks.
func (d *divider) whole(p *part, step int) ([]Piece, error) {
	blocks := d.blocks
	list, err := p.changes(blocks)
	first, n := p.block, 1
	if p.isSummary() {
		first, n = blocks.At(p.summary.FirstEvent), int(p.summary.Blocks)
	}
	first = min(first, blocks.Len()-1)
	end := min(first+n, blocks.Len()) // in a forged recording, a summary's number of blocks may be anything
	out := Piece{Step: step, First: blocks.Head(first).FirstEvent, Changes: list}
	for i := first; i < end; i++ {
		h := blocks.Head(i)
		out.Top = max(out.Top, uint64(max(h.Live, h.Peak, 0)))
	}
	if end < blocks.Len() {
		out.Top = max(out.Top, uint64(max(blocks.Head(end).Live, 0)))
	}
	return []Piece{out}, err
}

// divide decodes a block and returns the pieces of its events.
func (d *divider) divide(i int) (list []Piece, err error) {
	blocks := d.blocks
	if blocks.Folded(i) {
		return nil, blocks.FoldedError(blocks.Head(i).FirstEvent)
	}
	live := blocks.Head(i).Live
	var sum recording.Changes
	done := func() {
		if len(list) > 0 {
			list[len(list)-1].Changes = sum.List()
		}
		sum = recording.Changes{}
	}
	var bound *Bound // of the step of the event before; nil: it is the last step
	err = blocks.Decode(i, recording.Times|recording.Sizes, func(n, _ uint64, e *event.Event) bool {
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
