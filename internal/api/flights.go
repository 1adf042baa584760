package api

import (
	"context"
	"sync"
)

// flights share work that several requests wait for at the same time, by key. Work has a context of its own, which ends
// when the last request has left: one that is cancelled takes the work from nobody else.
type flights[K comparable, V any] struct {
	// patient says that the last request leaves when its cancelled work has ended, so that no more work is under way
	// than there are requests.
	patient bool
	// landed gets the value of each piece of work, and how many requests take it; nil: nobody wants to know.
	landed func(v V, n int)

	mu      sync.Mutex
	by      map[K]*flight[V]
	running sync.WaitGroup
}

type flight[V any] struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	waiters  int
	progress *progress
	done     chan struct{} // closed when the following are known
	value    V
	err      error
}

// do returns the value of the work with a key, which may be under way already. If it is not, start is called before do
// waits, and what it returns does the work. Progress, which may be nil, is that of the work. do returns early, with the
// context's cause, when the context ends; otherwise each value is returned as often as landed was told.
func (f *flights[K, V]) do(ctx context.Context, key K, p *progress,
	start func() func(ctx context.Context, p *progress) (V, error)) (v V, err error) {
	x, err := f.join(ctx, key, start)
	if err != nil {
		return v, err
	}
	p.follow(x.progress)
	select {
	case <-x.done:
		return x.value, x.err
	case <-ctx.Done():
	}
	if f.leave(ctx, x) {
		return x.value, x.err
	}
	return v, context.Cause(ctx)
}

// join returns the work with a key, as one of those who wait for it.
func (f *flights[K, V]) join(ctx context.Context, key K,
	start func() func(ctx context.Context, p *progress) (V, error)) (*flight[V], error) {
	for {
		f.mu.Lock()
		x := f.by[key]
		if x == nil || x.ctx.Err() == nil {
			if x == nil {
				x = f.begin(ctx, key, start())
			}
			x.waiters++
			f.mu.Unlock()
			return x, nil
		}
		f.mu.Unlock()
		select { // it was cancelled, and has not noticed yet
		case <-x.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// begin begins with work. The lock is held.
func (f *flights[K, V]) begin(ctx context.Context, key K,
	work func(ctx context.Context, p *progress) (V, error)) *flight[V] {
	x := &flight[V]{progress: &progress{}, done: make(chan struct{})}
	x.ctx, x.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if f.by == nil {
		f.by = map[K]*flight[V]{}
	}
	f.by[key] = x
	f.running.Go(func() {
		v, err := guarded(func() (V, error) { return work(x.ctx, x.progress) })
		f.mu.Lock()
		defer f.mu.Unlock()
		x.value, x.err = v, err
		if f.landed != nil && err == nil {
			f.landed(v, x.waiters)
		}
		delete(f.by, key)
		x.cancel(nil)
		close(x.done)
	})
	return x
}

// leave ends the waiting of a request, and reports whether the work has ended before.
func (f *flights[K, V]) leave(ctx context.Context, x *flight[V]) (done bool) {
	f.mu.Lock()
	select {
	case <-x.done:
		f.mu.Unlock()
		return true
	default:
	}
	x.waiters--
	last := x.waiters == 0
	if last {
		x.cancel(context.Cause(ctx))
	}
	f.mu.Unlock()
	if last && f.patient {
		<-x.done
	}
	return false
}

// wait waits until all work has ended.
func (f *flights[K, V]) wait() { f.running.Wait() }
