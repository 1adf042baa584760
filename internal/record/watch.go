package record

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/order"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/wire"
	"golang.org/x/sys/unix"
)

// Condition is what Config.MarkWhen waits for: a mark is set each time that it becomes true.
type Condition struct {
	Text    string // as the mark is called
	Measure Measure
	Below   bool    // true while the measure is below the limit; else, while it is above
	Limit   uint64  // bytes; of Allocations: calls
	Share   float64 // not 0: the limit is that share of the machine's memory
}

// Measure is what a Condition is about.
type Measure uint8

// The measures. Live, Allocations and StackDepth are looked at with every event, the others whenever the process's memory is sampled.
const (
	RSS         Measure = iota // resident set
	Virtual                    // address space
	SystemFree                 // memory of the machine that is available
	Live                       // requested bytes that are live
	Allocations                // calls that allocated
	StackDepth                 // bytes of the deepest stack that a thread had at an event
)

// A condition that was true has to be clearly false before it can become true anew: a tenth of the limit beyond it.
const hysteresis = 10

// watch follows the conditions of one process.
type watch struct {
	list  []Condition
	holds []bool // was true, and not clearly false since
	sums  bool   // there is one about Live or Allocations
}

func newWatch(list []Condition) *watch {
	if len(list) == 0 {
		return nil
	}
	w := &watch{list: append([]Condition(nil), list...), holds: make([]bool, len(list))}
	var info unix.Sysinfo_t
	for i := range w.list {
		c := &w.list[i]
		if c.Share > 0 && unix.Sysinfo(&info) == nil {
			c.Limit = uint64(c.Share * float64(info.Totalram) * float64(info.Unit))
		}
		w.sums = w.sums || c.Measure == Live || c.Measure == Allocations
	}
	return w
}

// see tells what a measure is now, and calls mark for each condition that has become true.
func (w *watch) see(m Measure, value uint64, mark func(name string)) {
	for i := range w.list {
		c := &w.list[i]
		if c.Measure != m {
			continue
		}
		margin := c.Limit / hysteresis
		switch {
		case w.holds[i] && (c.Below && value >= c.Limit+margin || !c.Below && value <= c.Limit-margin):
			w.holds[i] = false
		case !w.holds[i] && (c.Below && value < c.Limit || !c.Below && value > c.Limit):
			w.holds[i] = true
			mark(c.Text)
		}
	}
}

// watchSample looks at the measures that were sampled.
func (p *process) watchSample(s *event.Sample) {
	if p.watch == nil {
		return
	}
	mark := func(name string) {
		p.mark(event.Mark{Name: name, Time: s.Time, Cut: event.NoCut, Source: event.FromCondition})
	}
	for _, v := range []struct {
		m     Measure
		value int64
	}{{RSS, s.RSS}, {Virtual, s.Virtual}, {SystemFree, s.SystemFree}} {
		if v.value >= 0 {
			p.watch.see(v.m, uint64(v.value), mark)
		}
	}
}

// watchNow looks at a measure that belongs to the latest event.
func (p *process) watchNow(m Measure, value uint64) {
	p.watch.see(m, value, func(name string) {
		p.mark(event.Mark{Name: name, Time: p.order.Time * recording.Quantum, Cut: p.out.Handed(), Source: event.FromCondition})
	})
}

// watchSums looks at what the events sum up to.
func (p *process) watchSums() {
	live, _ := p.out.Live()
	p.watchNow(Live, live)
	p.watchNow(Allocations, p.out.Allocations())
}

// mayMark says whether a batch may make a condition about sums true, or false again: then each of its events has to be looked at.
func (p *process) mayMark(b *order.Batch) bool {
	w := p.watch
	if w == nil || !w.sums {
		return false
	}
	live, _ := p.out.Live()
	more := uint64(0)
	if b.Extended() {
		more = 1 << 62 // one may be of any size, and stand for many
	}
	list := b.Events()
	for i := range list {
		size := list[i].Size
		if size == wire.SizeExtra {
			more = 1 << 62
		}
		more += size
	}
	for i := range w.list {
		c := &w.list[i]
		switch {
		case c.Measure == Live && (w.holds[i] || c.Below || live+more > c.Limit):
			return true
		case c.Measure == Allocations && !w.holds[i] && (c.Below || p.out.Allocations()+uint64(len(list)) > c.Limit):
			return true
		}
	}
	return false
}
