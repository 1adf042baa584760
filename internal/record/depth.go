package record

import (
	"sync"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/wire"
)

// deeper takes a record that a thread's stack has become deeper than ever before.
func (p *process) deeper(s *stream, r *ready) {
	size := uint64(r.size)
	if x := p.w.batch.extrasOf(r); x != nil && r.size == wire.SizeExtra {
		size = x.size
	}
	now := p.now(r.time) * recording.Quantum
	p.w.stackLists.put(p.slot, ownStack{tid: s.tid, thread: s.thread, top: r.w0&wire.AddrMask + size})
	p.stackUse(event.StackUse{Thread: s.thread, Time: now, Measure: event.StackDeepest, Bytes: size, Stack: r.stack})
	if size > p.deepest {
		if p.deepest = size; p.watch != nil {
			p.watchNow(StackDepth, size)
		}
	}
}

// stackUse keeps a reading if it is more than those of the same thread before: a signal handler's stream begins anew.
func (p *process) stackUse(u event.StackUse) {
	most := p.stackMost[u.Thread]
	if u.Bytes <= most[u.Measure] {
		return
	}
	most[u.Measure] = u.Bytes
	p.stackMost[u.Thread] = most
	p.out.StackUse(u)
}

// ownStack is where a thread's stack begins.
type ownStack struct {
	tid, thread uint32
	top         uint64 // address
}

// stackLists are the stacks of the threads of a worker's processes that have not ended, as its samplers see them.
type stackLists struct {
	mu   sync.Mutex
	list map[uint32]map[uint32]ownStack // by slot, by thread id
}

func (l *stackLists) put(slot uint32, s ownStack) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list == nil {
		l.list = map[uint32]map[uint32]ownStack{}
	}
	if l.list[slot] == nil {
		l.list[slot] = map[uint32]ownStack{}
	}
	l.list[slot][s.tid] = s
}

// drop forgets a thread's stack, unless another thread has its id by now.
func (l *stackLists) drop(slot, tid, thread uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.list[slot][tid]; ok && s.thread == thread {
		delete(l.list[slot], tid)
	}
}

func (l *stackLists) of(slot uint32) []ownStack {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]ownStack, 0, len(l.list[slot]))
	for _, s := range l.list[slot] {
		list = append(list, s)
	}
	return list
}

// stackReading is what a sampler has read of one stack.
type stackReading struct {
	thread        uint32
	touched, size uint64 // bytes
}

// stackRead takes what a sampler has read of the threads' stacks.
func (p *process) stackRead(it *item) {
	if p.ended {
		return
	}
	now := p.since(it.n)
	for _, r := range it.stacks {
		p.stackUse(event.StackUse{Thread: r.thread, Time: now, Measure: event.StackSize, Bytes: r.size})
		p.stackUse(event.StackUse{Thread: r.thread, Time: now, Measure: event.StackTouched, Bytes: r.touched})
	}
}
