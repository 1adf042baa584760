package launch

import (
	"sync"
	"time"
)

// outbox sends lines in the order in which they were put in. Whoever puts one in does not wait for the other side,
// which may be stopped, or not be scheduled for long; and no line is dropped while the other side lives.
type outbox struct {
	lines *lines

	mu     sync.Mutex
	queue  []outgoing
	closed bool
	wake   chan struct{} // there may be something to do
	done   chan struct{} // everything that was put in before close has been sent, or cannot be
}

type outgoing struct {
	line any
	step string        // that comes before it is sent; "": none
	sent chan struct{} // closed once the line was sent, or cannot be
}

func newOutbox(l *lines) *outbox {
	o := &outbox{lines: l, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go o.run()
	return o
}

// put has a line sent. What it returns is closed when that has happened, or when the other side has ended.
func (o *outbox) put(line any, step string) <-chan struct{} {
	sent := make(chan struct{})
	o.mu.Lock()
	if o.closed {
		close(sent)
	} else {
		o.queue = append(o.queue, outgoing{line, step, sent})
	}
	o.mu.Unlock()
	o.ring()
	return sent
}

// waiting is the number of lines that were not sent yet.
func (o *outbox) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.queue)
}

// close takes no more lines; done says when the last one is gone.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.ring()
}

func (o *outbox) ring() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *outbox) run() {
	defer close(o.done)
	broken := false
	for {
		o.mu.Lock()
		if len(o.queue) == 0 {
			closed := o.closed
			o.mu.Unlock()
			if closed {
				return
			}
			<-o.wake
			continue
		}
		next := o.queue[0]
		o.mu.Unlock()
		if next.step != "" {
			Step(next.step)
		}
		broken = broken || o.lines.send(next.line) != nil // the other side has ended: no later line can arrive either
		o.mu.Lock()
		o.queue = o.queue[1:]
		o.mu.Unlock()
		close(next.sent)
	}
}

// await waits for a channel to be closed, for at most so long.
func await(done <-chan struct{}, d time.Duration) bool {
	select {
	case <-done:
		return true
	case <-time.After(d):
		return false
	}
}
