package verify

import (
	"fmt"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// regions follows the notes of regions through the events: each thread enters and leaves regions like brackets, in
// order of time.
type regions struct {
	check   *Check
	notes   []event.RegionNote
	next    int // index of the next note
	threads map[uint32]*regionThread
	end     int64 // -1: the recording has no ending; then notes may be later than its last event
	exist   int   // number of threads
	allocs  uint64
	entered int
}

// regionThread is the state of a thread.
type regionThread struct {
	open  []string // names, the outermost region first
	notes uint32   // number of notes so far
	time  int64    // of the latest note
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

// event takes an event by its number, from 1, and all notes before it.
func (v *regions) event(number uint64, e *event.Event) {
	for v.next < len(v.notes) && v.notes[v.next].Event < number {
		n := v.take()
		v.check.require(n.Alloc == v.allocs, "region note %d lies after %d allocations, but says %d", v.next-1,
			v.allocs, n.Alloc)
		if n.Late != event.NotLate {
			kind := event.Alloc
			if n.Late == event.LateFree {
				kind = event.Free
			}
			v.check.require(n.Event == number-1 && e.Kind == kind && e.Thread == n.Thread,
				"region note %d announces a late %s of thread %d, but the next event is a %s of thread %d",
				v.next-1, kind, n.Thread, e.Kind, e.Thread)
		}
	}
	if e.Kind == event.Alloc {
		v.allocs++
	}
}

// finish takes the remaining notes; last is the number of events.
func (v *regions) finish(last uint64) {
	for v.next < len(v.notes) {
		n := v.take()
		v.check.require(n.Event <= last || v.end < 0, "region note %d lies after %d events, but there are %d", v.next-1,
			n.Event, last)
		v.check.require(n.Late == event.NotLate || n.Event < last || v.end < 0,
			"region note %d announces a late event, but no event follows", v.next-1)
	}
	v.check.What = fmt.Sprintf("%d regions in %d threads: order, nesting, times", v.entered, len(v.threads))
}

// take checks the next note by itself.
func (v *regions) take() *event.RegionNote {
	i := v.next
	v.next++
	n := &v.notes[i]
	if i > 0 {
		before := &v.notes[i-1]
		v.check.require(n.Event >= before.Event, "region note %d lies after %d events, an earlier one after %d", i,
			n.Event, before.Event)
	}
	v.check.require(int64(n.Thread) < int64(v.exist), "region note %d belongs to thread %d, which does not exist", i,
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
		v.check.problem("region note %d leaves %d regions, but thread %d is in %d", i, n.Leaves, n.Thread, len(t.open))
		at = 0
	} else {
		v.check.require(t.open[at] == n.Name, "region note %d leaves %q, but thread %d is in %q there", i, n.Name,
			n.Thread, t.open[at])
	}
	t.open = t.open[:at]
	return n
}
