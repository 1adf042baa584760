package verify

import (
	"fmt"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// regions follows the notes of regions through the events: each thread enters and leaves them like brackets, and in the
// order of time.
type regions struct {
	check   *Check
	notes   []event.RegionNote
	next    int // of the notes
	threads map[uint32]*regionThread
	end     int64 // -1: the recording has no ending; then it may tell of what comes after its last event
	exist   int   // threads
	allocs  uint64
	entered int
}

// regionThread is what is known of a thread.
type regionThread struct {
	open  []string // names, from the outermost region on
	notes uint32   // of regions so far
	time  int64    // of the latest one
}

// newRegions returns nil if there are no regions.
func newRegions(rec *recording.Reader, r *Result) *regions {
	if len(rec.Regions()) == 0 {
		return nil
	}
	v := &regions{check: r.check("regions"), notes: rec.Regions(), threads: make(map[uint32]*regionThread), end: -1,
		exist: len(rec.Threads())}
	if e, ok := rec.Ending(); ok {
		v.end = e.End
	}
	return v
}

// event takes the event of that number, from 1, and all notes before it.
func (v *regions) event(number uint64, e *event.Event) {
	for v.next < len(v.notes) && v.notes[v.next].Event < number {
		n := v.take()
		v.check.require(n.Alloc == v.allocs, "region note %d lies after %d allocations, it says %d", v.next-1, v.allocs,
			n.Alloc)
		if n.Late != event.NotLate {
			kind := event.Alloc
			if n.Late == event.LateFree {
				kind = event.Free
			}
			v.check.require(n.Event == number-1 && e.Kind == kind && e.Thread == n.Thread,
				"region note %d is of the %s that comes next in thread %d, which is a %s in thread %d", v.next-1, kind, n.Thread, e.Kind, e.Thread)
		}
	}
	if e.Kind == event.Alloc {
		v.allocs++
	}
}

// finish takes the notes that are left; last is the number of events.
func (v *regions) finish(last uint64) {
	for v.next < len(v.notes) {
		n := v.take()
		v.check.require(n.Event <= last || v.end < 0, "region note %d lies after %d events, there are %d", v.next-1,
			n.Event, last)
		v.check.require(n.Late == event.NotLate || n.Event < last || v.end < 0,
			"region note %d is of the event that comes next, and none does", v.next-1)
	}
	v.check.What = fmt.Sprintf("%d regions in %d threads: order, nesting, times", v.entered, len(v.threads))
}

// take looks at the next note by itself.
func (v *regions) take() *event.RegionNote {
	i := v.next
	v.next++
	n := &v.notes[i]
	if i > 0 {
		before := &v.notes[i-1]
		v.check.require(n.Event >= before.Event, "region note %d lies after %d events, an earlier one after %d", i,
			n.Event, before.Event)
	}
	v.check.require(int64(n.Thread) < int64(v.exist), "region note %d is of thread %d, which does not exist", i,
		n.Thread)
	v.check.require(v.end < 0 || n.Time <= v.end, "region note %d at %d ns comes after the end at %d ns", i, n.Time,
		v.end)
	t := v.threads[n.Thread]
	if t == nil {
		t = &regionThread{}
		v.threads[n.Thread] = t
	}
	if n.Late != event.NotLate {
		v.check.require(n.Back > 0 && n.Back <= t.notes, "region note %d goes back %d notes of thread %d, which has %d",
			i, n.Back, n.Thread, t.notes)
		return n
	}
	v.check.require(n.Time >= t.time, "region note %d at %d ns comes after one of the same thread at %d ns", i, n.Time,
		t.time)
	t.time = max(t.time, n.Time)
	t.notes++
	if n.Leaves == 0 {
		v.entered++
		t.open = append(t.open, n.Name)
		return n
	}
	at := len(t.open) - int(n.Leaves)
	if at < 0 {
		v.check.problem("region note %d leaves %d regions, thread %d is in %d", i, n.Leaves, n.Thread, len(t.open))
		at = 0
	} else {
		v.check.require(t.open[at] == n.Name, "region note %d leaves %q, thread %d is in %q there", i, n.Name, n.Thread,
			t.open[at])
	}
	t.open = t.open[:at]
	return n
}
