package recording

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/recording/block"
)

// Stretch is a block of events, as Scan goes through it.
type Stretch struct {
	First, FirstAlloc uint64 // numbers of its first event and of its first allocation
	Events, Allocs    uint64 // in it
}

// maxScanners bounds how many blocks are decoded at a time: each takes up to some 15 MB.
const maxScanners = 16

// Scan goes through the events from the beginning of the block that holds the cut from, up to the cut to; so a block is
// always seen from its first event on. Blocks are decoded on all processors. begin is called for each, from any
// goroutine, and says what is to be done with its events: each gets them in order, in batches, until it wants no more;
// they have the fields that f asks for. done is called when nothing follows in the block, on the goroutine of Scan and
// in the order of the blocks: there, what became of the blocks is put together. A block that is damaged ends it, after
// the done of its events before the damage; of later ones nothing is told.
func (r *Reader) Scan(ctx context.Context, from, to uint64, f Fields,
	begin func(Stretch) (each func(*Batch) bool, done func())) error {
	if err := r.hasEvents(); err != nil {
		return err
	}
	first := r.blockOf(from)
	end := first
	for end < len(r.events) && r.events[end].head.FirstEvent < to {
		end++
	}
	return ahead(ctx, end-first, func(i int, stopped *atomic.Bool) (func(), error) {
		h := &r.events[first+i].head
		each, done := begin(Stretch{First: h.FirstEvent, FirstAlloc: h.FirstAlloc, Events: h.Events, Allocs: h.Allocs})
		d := r.decoder()
		defer r.decoders.Put(d)
		d.Stopped, d.Wanted = stopped, f
		_, err := r.decodeWith(d, first+i, block.Between(h, 0, to, each))
		return done, err
	})
}

// ahead does n tasks, several at a time, and calls what they return in their order, also of a task that failed; that
// and a cancelled context end it. When it returns, no task runs any more.
func ahead(ctx context.Context, n int, task func(i int, stopped *atomic.Bool) (then func(), err error)) error {
	workers := min(runtime.GOMAXPROCS(0), maxScanners) + 1 // one more, for when a result waits for those before it
	type result struct {
		then func()
		err  error
	}
	var running sync.WaitGroup
	var stopped atomic.Bool
	defer running.Wait()
	defer stopped.Store(true)
	started := make(chan chan result, workers)
	next := 0
	start := func() {
		if next == n {
			return
		}
		i, c := next, make(chan result, 1)
		next++
		started <- c
		running.Go(func() {
			then, err := task(i, &stopped)
			c <- result{then, err}
		})
	}
	for range workers {
		start()
	}
	for range n {
		var got result
		c := <-started
		select {
		case <-ctx.Done():
			return ctx.Err()
		case got = <-c:
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		start()
		if got.then != nil {
			got.then()
		}
		if got.err != nil {
			return got.err
		}
	}
	return nil
}
