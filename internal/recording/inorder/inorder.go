// Package inorder does tasks on several processors and takes their results in order.
package inorder

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// maxWorkers bounds how many tasks are done at a time: to decode a block of events takes up to some 15 MB.
const maxWorkers = 16

// Do does n tasks, several at a time, and calls what they return, in the order of the tasks. A task that fails ends it,
// after the call of what that task returned; so does ctx, when it is cancelled. Once Do returns, no task runs. A task
// should end soon after stopped is set: nobody wants its result.
func Do(ctx context.Context, n int, task func(i int, stopped *atomic.Bool) (then func(), err error)) error {
	workers := min(runtime.GOMAXPROCS(0), maxWorkers) + 1 // one more, for when a result waits for those before it
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
