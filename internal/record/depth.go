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
	if x := r.x; x != nil && r.size == wire.SizeExtra {
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
	if u.Thread >= p.numbers {
		return
	}
	if n := int(p.numbers) - len(p.stackMost); n > 0 {
		p.stackMost = append(p.stackMost, make([][event.StackMeasures]uint64, n)...)
	}
	most := &p.stackMost[u.Thread][u.Measure]
	if u.Bytes <= *most {
		return
	}
	*most = u.Bytes
	p.out.StackUse(u)
}

// ownStack is where a thread's stack begins.
type ownStack struct {
	tid, thread uint32
	top         uint64 // address; 0: it is not known, or the thread has ended
}

// stackLists are the stacks of the threads of a worker's processes, as its samplers see them. Threads come and go much more often than
// these look.
type stackLists struct {
	mu   sync.Mutex
	list map[uint32][]ownStack // by slot; then by thread
}

func (l *stackLists) put(slot uint32, s ownStack) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list == nil {
		l.list = map[uint32][]ownStack{}
	}
	list := l.list[slot]
	if n := int(s.thread) + 1 - len(list); n > 0 {
		list = append(list, make([]ownStack, n)...)
		l.list[slot] = list
	}
	list[s.thread] = s
}

// drop forgets a thread's stack.
func (l *stackLists) drop(slot, thread uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if list := l.list[slot]; int(thread) < len(list) {
		list[thread] = ownStack{}
	}
}

// of returns the stacks of the threads that live, as far as is known: of several with the same id, the last one does.
func (l *stackLists) of(slot uint32) []ownStack {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []ownStack
	at := map[uint32]int{}
	for _, s := range l.list[slot] {
		if s.top == 0 {
			continue
		}
		if i, ok := at[s.tid]; ok {
			list[i] = s
			continue
		}
		at[s.tid] = len(list)
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
