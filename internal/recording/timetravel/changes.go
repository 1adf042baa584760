package timetravel

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/inorder"
)

// part is a part of a recording whose changes are read at once: those of a summary, or some events of a block.
type part struct {
	summary  recording.Summary // if its head is not nil
	block    int               // else: the block,
	from, to uint64            // and which of its events, counting from its first one
	whole    bool              // all of them
}

func (p *part) isSummary() bool { return p.summary.SummaryHead != nil }

// divide divides what lies between two cuts into as few parts as possible, in order.
func divide(blocks *recording.EventBlocks, from, to uint64) (list []part) {
	for i := blocks.At(from); i < blocks.Len() && blocks.Head(i).FirstEvent < to; {
		h := blocks.Head(i)
		if from <= h.FirstEvent {
			if s, ok := blocks.Summary(i, to); ok {
				list = append(list, part{summary: s})
				i += int(s.Blocks)
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

// changes returns what happened in a part.
func (p *part) changes(blocks *recording.EventBlocks) ([]recording.Change, error) {
	switch {
	case p.isSummary():
		return blocks.SummaryChanges(p.summary)
	case p.whole && blocks.HasChanges(p.block):
		return blocks.Changes(p.block)
	}
	if m, err := blocks.Moves(p.block); m != nil && err == nil {
		return m.Changes(p.from, p.to), nil
	}
	var sum recording.Changes
	n := uint64(0)
	err := blocks.Decode(p.block, recording.Sizes, func(_, _ uint64, e *event.Event) bool {
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

// haveAnswers returns a *recording.FoldedError if there is no answer at one of the cuts.
func haveAnswers(r *recording.Reader, cuts ...uint64) error {
	if err := r.NeedEvents(); err != nil {
		return err
	}
	for _, c := range cuts {
		if before, _ := r.Around(c); before != c {
			return r.EventBlocks().FoldedError(c)
		}
	}
	return nil
}

// sums pools what Changes returns: megabytes that a question needs for a moment.
var sums = sync.Pool{New: func() any { return new(recording.Changes) }}

// Release gives changes back that nobody uses any more.
func Release(c *recording.Changes) {
	c.Reset()
	sums.Put(c)
}

// Changes returns what happened between two cuts at each call stack. With an error come the changes that could be read,
// which may be none. Whoever no longer needs them may Release them.
func Changes(ctx context.Context, r *recording.Reader, from, to uint64) (*recording.Changes, error) {
	sum := sums.Get().(*recording.Changes)
	if err := haveAnswers(r, from, to); err != nil {
		return sum, err
	}
	blocks := r.EventBlocks()
	err := collect(ctx, blocks, divide(blocks, from, to), func(_ *part, list []recording.Change) {
		if len(sum.List()) == 0 {
			sum.Grow(len(list))
		}
		for i := range list {
			sum.Add(&list[i])
		}
	})
	return sum, err
}

// collect reads the changes of the parts, several at a time, and passes them to take in order.
func collect(ctx context.Context, blocks *recording.EventBlocks, parts []part,
	take func(*part, []recording.Change)) error {
	return inorder.Do(ctx, len(parts), func(i int, _ *atomic.Bool) (func(), error) {
		list, err := parts[i].changes(blocks)
		if err != nil {
			return nil, err
		}
		return func() { take(&parts[i], list) }, nil
	})
}
