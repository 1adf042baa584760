package record

import (
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/order"
	"github.com/heaptap/heaptap/internal/record/resident"
	"github.com/heaptap/heaptap/internal/record/sampler"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/wire"
)

// memory is what was read of a process's memory.
type memory struct {
	out       *recording.Writer
	rss       int64                         // the largest resident set that was sampled
	residency map[uint32]event.Residency    // by module, as last seen
	deepest   uint64                        // bytes of the deepest stack that a thread had at an event
	most      [][event.StackMeasures]uint64 // by thread: the most bytes that each measure came to
	set       resident.Set
	divided   int64 // time of the latest reading of what the resident set consists of
	readings  []areasAt
}

// use keeps a reading of a stack if it is more than the thread's earlier ones: a signal handler's stream begins again
// at 0.
func (m *memory) use(u event.StackUse, threads int) {
	if int(u.Thread) >= threads {
		return
	}
	if n := threads - len(m.most); n > 0 {
		m.most = append(m.most, make([][event.StackMeasures]uint64, n)...)
	}
	most := &m.most[u.Thread][u.Measure]
	if u.Bytes <= *most {
		return
	}
	*most = u.Bytes
	m.out.StackUse(u)
}

// stacks takes what was read of the threads' stacks.
func (m *memory) stacks(now int64, list []sampler.StackReading, threads int) {
	for _, r := range list {
		m.use(event.StackUse{Thread: r.Thread, Time: now, Measure: event.StackSize, Bytes: r.Size}, threads)
		m.use(event.StackUse{Thread: r.Thread, Time: now, Measure: event.StackTouched, Bytes: r.Touched}, threads)
	}
}

// resident takes which pages of the modules are in memory, instead of what was read before.
func (m *memory) resident(now int64, list []event.Residency) {
	if m.residency == nil {
		m.residency = map[uint32]event.Residency{}
	}
	for _, r := range list {
		r.Time = now
		m.residency[r.Module] = r
	}
}

// sample takes how much memory the process has.
func (m *memory) sample(s event.Sample) {
	m.rss = max(m.rss, s.RSS)
	m.out.Sample(s)
}

// peakAtEnd adds the largest resident set that the kernel has counted of a process that has ended, if no sample has
// come near its end.
func (m *memory) peakAtEnd(most, end int64) {
	if most > m.rss {
		s := sampler.Unknown
		s.Time, s.RSS = end, most
		m.sample(s)
	}
}

// areasAt is a reading of the process's mappings.
type areasAt struct {
	time int64 // ns since the recording's start
	list []sampler.Area
}

// maxReadings bounds the readings that wait: a writer that is stopped may hold up the events.
const maxReadings = 16

// divideUpTo divides the readings of which all events before them are settled: those up to a moment.
func (p *process) divideUpTo(now int64) {
	m := &p.memory
	for len(m.readings) > 0 && (m.readings[0].time <= now || len(m.readings) > maxReadings) {
		p.divide(m.readings[0].time, m.readings[0].list)
		m.readings = slices.Delete(m.readings, 0, 1)
	}
}

// divide writes what the resident set consists of, given the process's mappings.
func (p *process) divide(now int64, list []sampler.Area) {
	known := resident.Known{Stacks: p.layout.Stacks(), Modules: p.layout.Modules()}
	known.LiveBytes, _ = p.out.Live()
	if !p.ledger.Partial && p.sampling == (event.Sampling{}) {
		known.Blocks = p.ledger.Blocks()
	}
	parts := p.memory.set.Divide(list, &known)
	now = max(now, p.memory.divided)
	for i := range parts {
		parts[i].Time = now
	}
	p.memory.divided = now
	p.out.Resident(parts)
}

// deepened takes a record that a thread's stack has become deeper than ever before.
func (p *process) deepened(r *order.Record) {
	s, size := r.Stream, uint64(r.Size)
	if x := r.Extras; x != nil && r.Size == wire.SizeExtra {
		size = x.Size
	}
	now := p.order.Now(r.Time) * recording.Quantum
	p.layout.PutStack(sampler.Stack{TID: s.TID, Thread: s.Thread, Top: r.Addr() + size})
	u := event.StackUse{Thread: s.Thread, Time: now, Measure: event.StackDeepest, Bytes: size, Stack: r.Stack}
	p.memory.use(u, len(p.threads.list))
	if size > p.memory.deepest {
		p.memory.deepest = size
		p.watch.Stack(size, now)
	}
}
