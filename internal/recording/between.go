package recording

import (
	"context"
	"fmt"
	"sort"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/block"
)

// part is a stretch of a recording whose changes are had in one go.
type part struct {
	summary  *indexEntry // or
	block    int         // number in r.events,
	from, to uint64      // of which these events, counting from the block's first
	whole    bool
}

// parts divides what lies between two cuts into as few parts as possible, in order.
func (r *Reader) parts(from, to uint64) (list []part) {
	i := r.blockOf(from)
	for i < len(r.events) && r.events[i].head.FirstEvent < to {
		h := &r.events[i].head
		if from <= h.FirstEvent {
			if s := r.largest(i, to); s != nil {
				list = append(list, part{summary: s})
				i += int(s.sum.Blocks)
				continue
			}
		}
		p := part{block: i, to: h.Events}
		if from > h.FirstEvent {
			p.from = from - h.FirstEvent
		}
		if to < h.FirstEvent+h.Events {
			p.to = to - h.FirstEvent
		}
		p.whole = p.from == 0 && p.to == h.Events
		list = append(list, p)
		i++
	}
	return list
}

// above returns the summaries that begin with events block i and end at or before a cut.
func (r *Reader) above(i int, to uint64) (list []*indexEntry) {
	for _, s := range r.sums[r.events[i].head.FirstEvent] {
		end := i + int(s.sum.Blocks)
		if s.sum.FirstEvent+s.sum.Events > to || end > len(r.events) || r.folded(s) {
			continue
		}
		if last := &r.events[end-1].head; last.FirstEvent+last.Events == s.sum.FirstEvent+s.sum.Events {
			list = append(list, s)
		}
	}
	return list
}

// largest returns the largest of those; nil if there is none.
func (r *Reader) largest(i int, to uint64) (best *indexEntry) {
	for _, s := range r.above(i, to) {
		if best == nil || s.sum.Blocks >= best.sum.Blocks {
			best = s
		}
	}
	return best
}

// changes returns what happened in a part.
func (r *Reader) changes(p part) ([]Change, error) {
	switch {
	case p.summary != nil:
		return r.summaryChanges(p.summary)
	case p.whole && r.events[p.block].head.HasChanges() && !r.folded(&r.events[p.block]):
		return r.blockChanges(p.block)
	}
	var sum Changes
	n := uint64(0)
	err := r.decodeBlock(p.block, Sizes, func(_, _ uint64, e *event.Event) bool {
		if n++; n <= p.from {
			return true
		}
		if n <= p.to {
			sum.AddEvent(e)
		}
		return n < p.to
	})
	return sum.List(), err
}

// summaryChanges returns what happened in the blocks that a summary tells of.
func (r *Reader) summaryChanges(e *indexEntry) ([]Change, error) {
	p, err := r.payload(e.header, nil)
	if err == nil {
		var list []Change
		if list, err = block.DecodeSummary(p, &e.sum, r.room(), r.known); err == nil {
			return list, nil
		}
	}
	return nil, fmt.Errorf("%s: the summary at offset %d: %w", r.name, e.offset, err)
}

// blockChanges returns what happened in a block of events that says so.
func (r *Reader) blockChanges(i int) (list []Change, err error) {
	d := r.decoder()
	defer r.decoders.Put(d)
	err = r.openBlock(d, i, func() error {
		list, err = d.Changes(r.room())
		return err
	})
	return list, err
}

// Changes returns what happened between two cuts at each call stack. The zero Changes, and all that could be read, come
// with an error.
func (r *Reader) Changes(ctx context.Context, from, to uint64) (*Changes, error) {
	sum := &Changes{}
	if err := r.answers(from, to); err != nil {
		return sum, err
	}
	err := r.collect(ctx, r.parts(from, to), func(_ part, list []Change) {
		for i := range list {
			sum.Add(&list[i])
		}
	})
	return sum, err
}

// collect gets the changes of the parts, several at a time, and hands them over in order.
func (r *Reader) collect(ctx context.Context, parts []part, take func(part, []Change)) error {
	return ahead(ctx, len(parts), func(i int, _ *atomic.Bool) (func(), error) {
		list, err := r.changes(parts[i])
		if err != nil {
			return nil, err
		}
		return func() { take(parts[i], list) }, nil
	})
}

// Live is what is live at a call stack.
type Live struct {
	Stack         uint32
	Blocks, Bytes uint64
}

// LiveAt returns what is live at a cut, for the stacks that have anything live, in no particular order.
func (r *Reader) LiveAt(ctx context.Context, cut uint64) ([]Live, error) {
	if err := r.hasEvents(); err != nil {
		return nil, err
	}
	first, last := r.Cuts()
	sum, err := r.Tally()
	if err != nil {
		return nil, err
	}
	var list []Live
	if peak, ok := r.peakAt(cut); ok {
		for i := range peak.Stacks {
			if s := &peak.Stacks[i]; s.LiveAtPeakBlocks|s.LiveAtPeakBytes != 0 {
				list = append(list, Live{s.ID, s.LiveAtPeakBlocks, s.LiveAtPeakBytes})
			}
		}
		return list, nil
	}
	// From the end, where the whole recording's counts tell what is live, if that is nearer.
	if r.Complete() && first == 0 && cut > last/2 && r.ending.Health.LostEvents == 0 && sum.Totals.Events == last {
		after, err := r.Changes(ctx, cut, last)
		if err != nil {
			return nil, err
		}
		for i := range sum.Stacks {
			s := &sum.Stacks[i]
			c := after.Of(s.ID)
			l := Live{s.ID, s.LeakedBlocks() - c.Allocs + c.Frees, s.LeakedBytes() - c.Bytes + c.FreedBytes}
			if l.Blocks != 0 || l.Bytes != 0 {
				list = append(list, l)
			}
		}
		return list, nil
	}
	before, err := r.Changes(ctx, 0, cut)
	for _, c := range before.List() {
		if c.Allocs != c.Frees || c.Bytes != c.FreedBytes {
			list = append(list, Live{c.Stack, c.Allocs - c.Frees, c.Bytes - c.FreedBytes})
		}
	}
	return list, err
}

// BlocksAt yields all blocks that are live at a cut, in the order of their allocation, with times in ns. It decodes all
// events before the cut; memory grows with the number of live blocks.
func (r *Reader) BlocksAt(ctx context.Context, cut uint64, yield func(*event.Block) bool) error {
	if err := r.hasEvents(); err != nil {
		return err
	}
	live := make(map[uint64]event.Block)
	err := r.EventsBetween(ctx, 0, cut, func(_, ref uint64, e *event.Event) bool {
		switch e.Kind {
		case event.Alloc:
			live[ref] = event.Block{Addr: e.Addr, Size: e.Size, Stack: e.Stack, Thread: e.Thread, Ref: ref,
				Born:    e.Time,
				Sampled: e.Flags&event.Sampled != 0}
		case event.Free:
			delete(live, ref)
		}
		return true
	})
	if err != nil {
		return err
	}
	refs := make([]uint64, 0, len(live))
	for ref := range live {
		refs = append(refs, ref)
	}
	sort.Slice(refs, func(i, j int) bool { return refs[i] < refs[j] })
	for _, ref := range refs {
		b := live[ref]
		if !yield(&b) {
			break
		}
	}
	return nil
}

// History returns the allocation with that number and the event that ended it, with their numbers among all events; nil
// if the recording has none.
func (r *Reader) History(ctx context.Context, ref uint64) (born, died *event.Event, bornAt, diedAt uint64, err error) {
	i := sort.Search(len(r.events), func(i int) bool { return r.events[i].head.FirstAlloc+r.events[i].head.Allocs > ref })
	if i == len(r.events) || r.events[i].head.FirstAlloc > ref {
		return nil, nil, 0, 0, nil
	}
	_, last := r.Cuts()
	err = r.EventsBetween(ctx, r.events[i].head.FirstEvent, last, func(n, about uint64, e *event.Event) bool {
		if about == ref {
			v := *e
			switch e.Kind {
			case event.Alloc:
				born, bornAt = &v, n
			case event.Free:
				died, diedAt = &v, n
			}
		}
		return died == nil
	})
	return born, died, bornAt, diedAt, err
}
