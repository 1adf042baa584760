package recording

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/inorder"
)

// Events yields all events in order, until yield returns false. The event that yield gets is used again for the next
// one. Blocks that are damaged are left out, or end where the damage begins; a *DamageError then tells of them at the
// end. What was folded is left out as well; at the end a *FoldedError says so.
func (r *Reader) Events(yield func(*event.Event) bool) error {
	return r.Walk(context.Background(), 0, math.MaxUint64, func(_, _ uint64, e *event.Event) bool { return yield(e) })
}

// Walk is Events between two cuts, with the numbers of EventsBetween. Where blocks are damaged, the numbers leap.
func (r *Reader) Walk(ctx context.Context, from, to uint64, yield func(n, ref uint64, e *event.Event) bool) error {
	return r.WalkBatches(ctx, from, to, block.OneByOne(yield))
}

// WalkBatches is Walk for who goes through many events: it yields them in batches. None of them leaps.
func (r *Reader) WalkBatches(ctx context.Context, from, to uint64, yield func(*Batch) bool) error {
	if err := r.NeedEvents(); err != nil {
		return err
	}
	d := r.events.decoder()
	defer r.events.decoders.Put(d)
	var lost []string
	var gone error
	enough := false
	each := func(b *Batch) bool {
		enough = !yield(b)
		return !enough
	}
	for i := r.events.At(from); i < r.events.Len() && r.events.Head(i).FirstEvent < to; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.events.Folded(i) {
			gone = r.events.FoldedError(math.MaxUint64)
			continue
		}
		_, err := r.events.decodeWith(d, i, block.Between(r.events.Head(i), from, to, each))
		if err != nil {
			s := strings.TrimPrefix(err.Error(), r.name+": ")
			r.damaged("%s", s)
			lost = append(lost, s)
		}
		if enough {
			return nil
		}
	}
	if lost != nil && gone != nil {
		return errors.Join(&DamageError{r.name, lost}, gone)
	}
	if lost != nil {
		return &DamageError{r.name, lost}
	}
	return gone
}

// EventsBetween yields the events between two cuts, in order, until yield returns false, each with its number, counting
// from 0, and that of the allocation that it makes or ends (event.NoRef: neither). The event that yield gets is used
// again for another one. A block that is damaged ends it.
func (r *Reader) EventsBetween(ctx context.Context, from, to uint64,
	yield func(n, ref uint64, e *event.Event) bool) error {
	return r.Batches(ctx, from, to, block.OneByOne(yield))
}

// Batches is EventsBetween for who goes through many events: it yields them in batches.
func (r *Reader) Batches(ctx context.Context, from, to uint64, yield func(*Batch) bool) error {
	if err := r.NeedEvents(); err != nil {
		return err
	}
	d := r.events.decoder()
	defer r.events.decoders.Put(d)
	for i := r.events.At(from); i < r.events.Len() && r.events.Head(i).FirstEvent < to; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		more, err := r.events.decodeWith(d, i, block.Between(r.events.Head(i), from, to, yield))
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// Stretch is a block of events, as Scan goes through it.
type Stretch struct {
	First, FirstAlloc uint64 // numbers of its first event and of its first allocation
	Events, Allocs    uint64 // in it
}

// Scan goes through the events from the beginning of the block that holds the cut from, up to the cut to; so a block is
// always seen from its first event on. Blocks are decoded on all processors. begin is called for each, from any
// goroutine, and says what is to be done with its events: each gets them in order, in batches, until it wants no more;
// they have the fields that f asks for. done is called when nothing follows in the block, on the goroutine of Scan and
// in the order of the blocks: there, what became of the blocks is put together. A block that is damaged ends it, after
// the done of its events before the damage; of later ones nothing is told.
func (r *Reader) Scan(ctx context.Context, from, to uint64, f Fields,
	begin func(Stretch) (each func(*Batch) bool, done func())) error {
	if err := r.NeedEvents(); err != nil {
		return err
	}
	first := r.events.At(from)
	end := first
	for end < r.events.Len() && r.events.Head(end).FirstEvent < to {
		end++
	}
	return inorder.Do(ctx, end-first, func(i int, stopped *atomic.Bool) (func(), error) {
		h := r.events.Head(first + i)
		each, done := begin(Stretch{First: h.FirstEvent, FirstAlloc: h.FirstAlloc, Events: h.Events, Allocs: h.Allocs})
		d := r.events.decoder()
		defer r.events.decoders.Put(d)
		d.Stopped, d.Wanted = stopped, f
		_, err := r.events.decodeWith(d, first+i, block.Between(h, 0, to, each))
		return done, err
	})
}
