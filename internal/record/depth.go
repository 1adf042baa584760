package record

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/sampler"
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
	p.layout.PutStack(sampler.Stack{TID: s.tid, Thread: s.thread, Top: r.w0&wire.AddrMask + size})
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

// stackRead takes what a sampler has read of the threads' stacks.
func (p *process) stackRead(it *item) {
	if p.ended {
		return
	}
	now := p.since(it.n)
	for _, r := range it.stacks {
		p.stackUse(event.StackUse{Thread: r.Thread, Time: now, Measure: event.StackSize, Bytes: r.Size})
		p.stackUse(event.StackUse{Thread: r.Thread, Time: now, Measure: event.StackTouched, Bytes: r.Touched})
	}
}

// resided takes which pages of the modules are in memory, instead of what was read before.
func (p *process) resided(it *item) {
	if p.ended {
		return
	}
	if p.residency == nil {
		p.residency = map[uint32]event.Residency{}
	}
	for _, r := range it.residency {
		r.Time = p.since(it.n)
		p.residency[r.Module] = r
	}
}

// readings leaves what is read of a process's memory to its worker.
type readings struct {
	w    *worker
	slot uint32
}

func (r readings) Sample(at uint64, s event.Sample) {
	r.w.queue.leave(item{kind: itemSample, slot: r.slot, sample: s, n: at})
}

func (r readings) Residency(at uint64, list []event.Residency) {
	r.w.queue.leave(item{kind: itemResidency, slot: r.slot, residency: list, n: at})
}

func (r readings) Stacks(at uint64, list []sampler.StackReading) {
	r.w.queue.leave(item{kind: itemStacks, slot: r.slot, stacks: list, n: at})
}
