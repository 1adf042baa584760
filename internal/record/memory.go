package record

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/order"
	"github.com/heaptap/heaptap/internal/record/sampler"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/wire"
)

// deepened takes a record that a thread's stack has become deeper than ever before.
func (p *process) deepened(r *order.Record) {
	s, size := r.Stream, uint64(r.Size)
	if x := r.Extras; x != nil && r.Size == wire.SizeExtra {
		size = x.Size
	}
	now := p.order.Now(r.Time) * recording.Quantum
	p.layout.PutStack(sampler.Stack{TID: s.TID, Thread: s.Thread, Top: r.Addr() + size})
	p.stackUse(event.StackUse{Thread: s.Thread, Time: now, Measure: event.StackDeepest, Bytes: size, Stack: r.Stack})
	if size > p.deepest {
		p.deepest = size
		p.watch.Stack(size, now)
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

// stacksRead takes what was read of the threads' stacks.
func (p *process) stacksRead(now int64, list []sampler.StackReading) {
	for _, r := range list {
		p.stackUse(event.StackUse{Thread: r.Thread, Time: now, Measure: event.StackSize, Bytes: r.Size})
		p.stackUse(event.StackUse{Thread: r.Thread, Time: now, Measure: event.StackTouched, Bytes: r.Touched})
	}
}

// resident takes which pages of the modules are in memory, instead of what was read before.
func (p *process) resident(now int64, list []event.Residency) {
	if p.residency == nil {
		p.residency = map[uint32]event.Residency{}
	}
	for _, r := range list {
		r.Time = now
		p.residency[r.Module] = r
	}
}

// sample takes how much memory the process has.
func (p *process) sample(s event.Sample) {
	p.mostRSS = max(p.mostRSS, s.RSS)
	p.out.Sample(s)
	p.watch.Sample(&s)
}

// peakAtEnd adds the largest resident set that the kernel has counted of a process that has ended, if no sample has
// come near its end.
func (p *process) peakAtEnd(most, end int64) {
	if most > p.mostRSS {
		s := sampler.Unknown
		s.Time, s.RSS = end, most
		p.out.Sample(s)
	}
}
