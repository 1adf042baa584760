package recording

import (
	"context"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/inorder"
)

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
