package record

import "sync"

// queue carries batches of items from the drain (and the sampler) to one worker. It is not bounded: what is large in it lies
// in the store, which is.
type queue struct {
	mu     sync.Mutex
	cond   *sync.Cond
	items  []item
	ready  bool // something was pushed
	closed bool
}

func newQueue() *queue {
	q := &queue{}
	q.cond = sync.NewCond(&q.mu)
	return q
}

func (q *queue) push(items ...item) {
	if len(items) == 0 {
		return
	}
	q.mu.Lock()
	q.items = append(q.items, items...)
	q.ready = true
	q.mu.Unlock()
	q.cond.Signal()
}

// leave adds an item that the worker need not wake up for.
func (q *queue) leave(it item) {
	q.mu.Lock()
	q.items = append(q.items, it)
	q.mu.Unlock()
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.cond.Signal()
}

// take waits for items and returns all of them; none when the queue is closed and empty. The slice that was returned
// before is used again.
func (q *queue) take(old []item) []item {
	clear(old)
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && !q.ready {
		q.cond.Wait()
	}
	q.ready = false
	items := q.items
	q.items = old[:0]
	return items
}
