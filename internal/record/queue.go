package record

import "sync"

// queue carries messages from the drain and the sampler to one worker. It is not bounded: what is large in it lies in
// the store, which is.
type queue struct {
	mu     sync.Mutex
	cond   *sync.Cond
	list   []message
	ready  bool // something was pushed
	closed bool
}

func newQueue() *queue {
	q := &queue{}
	q.cond = sync.NewCond(&q.mu)
	return q
}

func (q *queue) push(list ...message) {
	if len(list) == 0 {
		return
	}
	q.mu.Lock()
	q.list = append(q.list, list...)
	q.ready = true
	q.mu.Unlock()
	q.cond.Signal()
}

// leave adds a message that the worker need not wake up for.
func (q *queue) leave(m message) {
	q.mu.Lock()
	q.list = append(q.list, m)
	q.mu.Unlock()
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.cond.Signal()
}

// take waits for messages and returns all of them; none when the queue is closed and empty. The slice that was returned
// before is used again.
func (q *queue) take(old []message) []message {
	clear(old)
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && !q.ready {
		q.cond.Wait()
	}
	q.ready = false
	list := q.list
	q.list = old[:0]
	return list
}
