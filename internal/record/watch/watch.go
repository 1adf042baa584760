// Package watch sets marks when a condition about a process's memory becomes true, such as rss>1GiB.
//
// The rule: a mark of a condition about the events is exact to the event. So a batch of events that might cross a
// limit, by an upper bound of what it can add, is looked at event by event; other batches pay one comparison.
package watch

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/wire"
	"golang.org/x/sys/unix"
)

// Condition is what is waited for: a mark is set each time that it becomes true.
type Condition struct {
	Text    string // as the mark is called
	Measure Measure
	Below   bool    // true while the measure is below the limit; else, while it is above
	Limit   uint64  // bytes; of Allocations: calls
	Share   float64 // not 0: the limit is that share of the machine's memory
}

// Measure is what a Condition is about.
type Measure uint8

// The measures. Live, Allocations and StackDepth are looked at with every event, the others whenever the process's
// memory is sampled.
const (
	RSS         Measure = iota // resident set
	Virtual                    // address space
	SystemFree                 // memory of the machine that is available
	Live                       // requested bytes that are live
	Allocations                // calls that allocated
	StackDepth                 // bytes of the deepest stack that a thread had at an event
)

// A condition that was true has to be clearly false before it can become true again: a tenth of the limit beyond it.
const hysteresis = 10

// Watch follows the conditions of one process. nil follows none.
type Watch struct {
	out   *recording.Writer
	mark  func(event.Mark)
	list  []Condition
	holds []bool // was true, and not clearly false since
	sums  bool   // there is one about Live or Allocations
}

// New returns what follows the conditions of a process; nil if there are none. Marks are given to mark.
func New(list []Condition, out *recording.Writer, mark func(event.Mark)) *Watch {
	if len(list) == 0 {
		return nil
	}
	w := &Watch{out: out, mark: mark, list: append([]Condition(nil), list...), holds: make([]bool, len(list))}
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

// see takes what a measure is now, and sets a mark for each condition that has become true.
func (w *Watch) see(m Measure, value uint64, at event.Mark) {
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
			at.Name, at.Source = c.Text, event.FromCondition
			w.mark(at)
		}
	}
}

// Sample looks at the measures that were sampled.
func (w *Watch) Sample(s *event.Sample) {
	if w == nil {
		return
	}
	for _, v := range []struct {
		m     Measure
		value int64
	}{{RSS, s.RSS}, {Virtual, s.Virtual}, {SystemFree, s.SystemFree}} {
		if v.value >= 0 {
			w.see(v.m, uint64(v.value), event.Mark{Time: s.Time, Cut: event.NoCut})
		}
	}
}

// Stack looks at the deepest stack so far, which the latest event had.
func (w *Watch) Stack(bytes uint64, now int64) {
	if w != nil {
		w.see(StackDepth, bytes, event.Mark{Time: now, Cut: w.out.Handed()})
	}
}

// Sums looks at what the events sum up to. now is the time of the latest one.
func (w *Watch) Sums(s recording.Added, now int64) {
	at := event.Mark{Time: now, Cut: s.Events}
	w.see(Live, s.Bytes, at)
	w.see(Allocations, s.Allocs, at)
}

// Settle looks at what the events sum up to after each row of a batch; s is what those before it do.
func (w *Watch) Settle(b *event.Batch, s recording.Added) {
	others, full := b.Others, b.Full[:0]
	for i := range b.Rows {
		switch r := &b.Rows[i]; r.Kind {
		case event.RowAlloc:
			s.Events++
			s.Allocs++
			s.Bytes += r.Size
		case event.RowOther:
			from := len(full)
			full, others = b.Full[:others[0].End], others[1:]
			for k := range full[from:] {
				s.Add(&full[from+k].Event)
			}
		default:
			s.Events++
			s.Bytes -= r.Size
		}
		w.Sums(s, int64(b.Rows[i].Time)*recording.Quantum)
	}
}

// MayMark says whether events may make a condition about sums true, or false again: then Settle has to look at each of
// them. more says that what the events have allocated may be more than they say.
func (w *Watch) MayMark(list []event.Row, more bool) bool {
	if w == nil || !w.sums {
		return false
	}
	const any = 1 << 62 // one event may be of any size, and stand for many
	live, _ := w.out.Live()
	sum := uint64(0)
	if more {
		sum = any
	}
	for i := range list {
		size := list[i].Size
		if size == wire.SizeExtra {
			sum = any
		}
		sum += size
	}
	for i := range w.list {
		c := &w.list[i]
		switch {
		case c.Measure == Live && (w.holds[i] || c.Below || live+sum > c.Limit):
			return true
		case c.Measure == Allocations && !w.holds[i] && (c.Below || w.out.Allocations()+uint64(len(list)) > c.Limit):
			return true
		}
	}
	return false
}
