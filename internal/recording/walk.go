package recording

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/block"
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
