package sampler

import (
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/event"
)

// Which pages are in memory is read where an allocator's memory can be: in private writable mappings without a file.
// The kernel's list of mappings says which of them are wholly in memory, its page map the pages of the others. A page
// that was only read, and so is the kernel's page of zeros, is in the page map, but not in the resident set.
const (
	heapDuty    = 100     // a hundredth of a processor, always
	maxPages    = 8 << 20 // that are looked at in one reading
	maxPageRuns = 1 << 16
	// maxHeapRuns bounds the runs of pages of one reading where these are recorded.
	maxHeapRuns = 1 << 19
)

// heapPages decides when it is read which pages are in memory.
type heapPages struct {
	next    time.Time
	changed bool          // the process's memory has changed since the latest reading
	worked  time.Duration // what the process had used of the processors when that began
}

// due says whether to read now. An idle process is read once after its latest change.
func (g *heapPages) due(p *Process, now time.Time) bool {
	if g.next.IsZero() {
		g.next = p.started.Add(minInterval / 2)
	}
	return !now.Before(g.next) && (g.changed || p.processorTime()-g.worked >= leastWork)
}

// took sets the next turn, after one that began at a moment and cost so much of a processor.
func (g *heapPages) took(p *Process, now, began time.Time, cost, worked time.Duration) {
	g.changed, g.worked = false, worked
	g.next = began.Add(max(p.interval(now)-minInterval/2, cost*heapDuty))
}

// canBeHeap reports whether an allocator's blocks may lie in an area.
func (a *Area) canBeHeap() bool {
	return a.Writable && !a.Shared && (a.Path == "" || a.Path == "[heap]" || strings.HasPrefix(a.Path, "[anon:"))
}

// lookAt reads which pages of areas are in memory, as far as there is room.
func lookAt(p *Process, list []Area) {
	pages, runs := uint64(maxPages), maxPageRuns
	if p.Pages {
		runs = maxHeapRuns
	}
	var m *pageMap
	for i := range list {
		a := &list[i]
		n := a.Size() / uint64(p.pageSize)
		if !a.canBeHeap() {
			continue
		}
		if a.Resident == a.Size() {
			if p.Pages && runs > 0 {
				a.Pages = []event.AddrRange{{Start: a.Start, End: a.End}}
				runs--
			}
			continue
		}
		if a.Resident == 0 && !p.Pages || n > pages {
			continue
		}
		if m == nil {
			var err error
			if m, err = openPageMap(p.dir); err != nil {
				return // not ours to read
			}
			defer m.close()
		}
		pages -= n
		found, ok := present([]event.AddrRange{}, m, event.AddrRange{Start: a.Start, End: a.End}, uint64(p.pageSize),
			runs)
		if ok {
			a.Pages, runs = found, runs-len(found)
		}
	}
}

// pageReading returns what the areas say of pages. Its time is not set.
func pageReading(list []Area, took time.Duration, size uint64) event.PageReading {
	r := event.PageReading{Took: took.Nanoseconds(), PageSize: size}
	for i := range list {
		a := &list[i]
		if a.Pages == nil || !a.canBeHeap() {
			continue
		}
		r.Areas = append(r.Areas, event.AddrRange{Start: a.Start, End: a.End})
		for _, run := range a.Pages {
			if n := len(r.Resident); n > 0 && r.Resident[n-1].End == run.Start {
				r.Resident[n-1].End = run.End
			} else {
				r.Resident = append(r.Resident, run)
			}
		}
	}
	return r
}
