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
func (r *regions) event(number uint64, e *event.Event) {
	for r.next < len(r.notes) && r.notes[r.next].Event < number {
		n := r.take()
		r.check.require(n.Alloc == r.allocs, "region note %d lies after %d allocations, but says %d", r.next-1,
			r.allocs, n.Alloc)
		if n.Late != event.NotLate {
			kind := event.Alloc
			if n.Late == event.LateFree {
				kind = event.Free
			}
			r.check.require(n.Event == number-1 && e.Kind == kind && e.Thread == n.Thread,
				"region note %d announces a late %s of thread %d, but the next event is a %s of thread %d",
				r.next-1, kind, n.Thread, e.Kind, e.Thread)
		}
	}
	if e.Kind == event.Alloc {
		r.allocs++
	}
}

// finish takes the remaining notes; last is the number of events.
func (r *regions) finish(last uint64) {
	for r.next < len(r.notes) {
		n := r.take()
		r.check.require(n.Event <= last || r.end < 0, "region note %d lies after %d events, but there are %d", r.next-1,
			n.Event, last)
		r.check.require(n.Late == event.NotLate || n.Event < last || r.end < 0,
			"region note %d announces a late event, but no event follows", r.next-1)
	}
	r.check.What = fmt.Sprintf("%d regions in %d threads: order, nesting, times", r.entered, len(r.threads))
}

// take checks the next note by itself.
func (r *regions) take() *event.RegionNote {
	i := r.next
	r.next++
	n := &r.notes[i]
	if i > 0 {
		before := &r.notes[i-1]
		r.check.require(n.Event >= before.Event, "region note %d lies after %d events, an earlier one after %d", i,
			n.Event, before.Event)
	}
	r.check.require(int64(n.Thread) < int64(r.exist), "region note %d belongs to thread %d, which does not exist", i,
		n.Thread)
	r.check.require(r.end < 0 || n.Time <= r.end, "region note %d at %d ns comes after the end at %d ns", i, n.Time,
		r.end)
	t := r.threads[n.Thread]
	if t == nil {
		t = &regionThread{}
		r.threads[n.Thread] = t
	}
	if n.Late != event.NotLate {
		r.check.require(n.Back > 0 && n.Back <= t.notes, "region note %d goes back %d notes of thread %d, which has %d",
			i, n.Back, n.Thread, t.notes)
		return n
	}
	r.check.require(n.Time >= t.time, "region note %d at %d ns comes after one of the same thread at %d ns", i, n.Time,
		t.time)
	t.time = max(t.time, n.Time)
	t.notes++
	if n.Leaves == 0 {
		r.entered++
		t.open = append(t.open, n.Name)
		return n
	}
	at := len(t.open) - int(n.Leaves)
	if at < 0 {
		r.check.problem("region note %d leaves %d regions, but thread %d is in %d", i, n.Leaves, n.Thread, len(t.open))
		at = 0
	} else {
		r.check.require(t.open[at] == n.Name, "region note %d leaves %q, but thread %d is in %q there", i, n.Name,
			n.Thread, t.open[at])
	}
	t.open = t.open[:at]
	return n
}
