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

// Events yields all events in order, until yield returns false. The event that yield gets is overwritten by the next
// one. A damaged block is left out, or ends where the damage begins; then the error at the end is a *DamageError.
// Folded blocks are left out as well; then the error is a *FoldedError.
func (r *Reader) Events(yield func(*event.Event) bool) error {
	return r.Walk(context.Background(), 0, math.MaxUint64, func(_, _ uint64, e *event.Event) bool { return yield(e) })
}

// Walk is Events between two cuts, with the numbers of EventsBetween. Where a block is damaged, numbers are missing.
func (r *Reader) Walk(ctx context.Context, from, to uint64, yield func(n, ref uint64, e *event.Event) bool) error {
	return r.WalkBatches(ctx, from, to, block.OneByOne(yield))
}

// WalkBatches is Walk in batches, which is faster. No numbers are missing within a batch.
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

// EventsBetween yields the events between two cuts, in order, until yield returns false. Each comes with its number,
// from 0, and the number of the allocation that it makes or ends (event.NoRef: neither). The event that yield gets is
// overwritten by the next one. A damaged block is an error, which ends it.
func (r *Reader) EventsBetween(ctx context.Context, from, to uint64,
	yield func(n, ref uint64, e *event.Event) bool) error {
	return r.Batches(ctx, from, to, block.OneByOne(yield))
}

// Batches is EventsBetween in batches, which is faster.
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

// Stretch is the events of one block.
type Stretch struct {
	First, FirstAlloc uint64 // numbers of its first event and of its first allocation
	Events, Allocs    uint64 // in it
}

// Scan decodes blocks of events on all processors: from the block that holds the cut from, with all of its events, up
// to the cut to. Scan calls begin for each block, on any goroutine. each then gets the block's events, in order and in
// batches, until it returns false; they have the fields in f. When a block is done, Scan calls its done, on its own
// goroutine and in the order of the blocks, so that the results of the blocks can be put together there. A damaged
// block ends the scan with an error, once its events before the damage were passed to each and its done was called.
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
	return r.decodeAll(ctx, end-first, func(i int) int { return first + i }, to, f, begin)
}

// ScanBlocks is Scan for some blocks of events, in that order, up to the cut to.
func (r *Reader) ScanBlocks(ctx context.Context, blocks []int, to uint64, f Fields,
	begin func(Stretch) (each func(*Batch) bool, done func())) error {
	if err := r.NeedEvents(); err != nil {
		return err
	}
	return r.decodeAll(ctx, len(blocks), func(i int) int { return blocks[i] }, to, f, begin)
}

func (r *Reader) decodeAll(ctx context.Context, n int, number func(i int) int, to uint64, f Fields,
	begin func(Stretch) (each func(*Batch) bool, done func())) error {
	return inorder.Do(ctx, n, func(i int, stopped *atomic.Bool) (func(), error) {
		h := r.events.Head(number(i))
		each, done := begin(Stretch{First: h.FirstEvent, FirstAlloc: h.FirstAlloc, Events: h.Events, Allocs: h.Allocs})
		d := r.events.decoder()
		defer r.events.decoders.Put(d)
		d.Stopped, d.Wanted = stopped, f
		_, err := r.events.decodeWith(d, number(i), block.Between(h, 0, to, each))
		return done, err
	})
}
