package verify

import (
	"fmt"
	"math"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// What a recording says besides its events. A check is listed if there is anything to check.

// checkFacts checks names of memory, the threads' stacks, mismatches and counts.
func (r *Result) checkFacts(rec *recording.Reader) {
	f := &facts{rec: rec, end: math.MaxInt64}
	if e, ok := rec.Ending(); ok {
		f.end = e.End
	}
	if list := rec.Ranges(); len(list) > 0 {
		f.ranges(r.check("ranges"), list)
	}
	if list := rec.StackUse(); len(list) > 0 {
		f.stackUse(r.check("stack-memory"), list)
	}
	if list := rec.Resident(); len(list) > 0 {
		f.resident(r.check("resident-set"), list)
	}
	if p := rec.PageReadings(); p.Summary().Readings > 0 {
		f.pages(r.check("page-readings"), p)
	}
	if list := rec.Pairs(); len(list) > 0 {
		f.pairs(r.check("mismatches"), list)
	}
	if c := rec.Counts(); c != nil {
		f.counts(r.check("counts"), c)
	}
}

type facts struct {
	rec *recording.Reader
	end int64
}

func (f *facts) thread(c *Check, what string, i int, thread uint32) {
	n := len(f.rec.Threads())
	c.require(int64(thread) < int64(n), "%s %d belongs to thread %d, but there are %d threads", what, i, thread, n)
}

func (f *facts) stack(c *Check, what string, i int, id uint32) {
	if id != 0 {
		_, ok := f.rec.Nodes().Get(id)
		c.require(ok, "%s %d names call stack %d, which does not exist", what, i, id)
	}
}

func (f *facts) time(c *Check, what string, i int, time int64) {
	c.require(time <= f.end, "%s %d at %d ns comes after the end at %d ns", what, i, time, f.end)
}

func (f *facts) ranges(c *Check, list []event.NamedRange) {
	c.What = fmt.Sprintf("%d names of memory", len(list))
	_, last := f.rec.Cuts()
	before := uint64(0)
	for i, n := range list {
		f.thread(c, "range", i, n.Thread)
		f.time(c, "range", i, n.Time)
		c.require(n.Event >= before, "range %d lies after %d events, an earlier one after %d", i, n.Event, before)
		c.require(n.Event <= last || f.end == math.MaxInt64, "range %d lies after %d events, but there are %d", i,
			n.Event, last)
		c.require(n.Size > 0, "range %d is empty", i)
		before = max(before, n.Event)
	}
}

func (f *facts) stackUse(c *Check, list []event.StackUse) {
	c.What = fmt.Sprintf("%d readings of the threads' stacks", len(list))
	most := make(map[uint32][event.StackMeasures]uint64)
	for i, u := range list {
		f.thread(c, "reading", i, u.Thread)
		f.time(c, "reading", i, u.Time)
		f.stack(c, "reading", i, u.Stack)
		c.require(u.Stack == 0 || u.Measure == event.StackDeepest, "reading %d of %s names a call stack", i, u.Measure)
		was := most[u.Thread]
		c.require(u.Bytes > was[u.Measure], "reading %d of thread %d, %s: %d bytes, although it had %d before", i,
			u.Thread, u.Measure, u.Bytes, was[u.Measure])
		was[u.Measure] = max(was[u.Measure], u.Bytes)
		most[u.Thread] = was
	}
}

func (f *facts) resident(c *Check, list []event.ResidentPart) {
	c.What = fmt.Sprintf("%d parts of the resident set", len(list))
	before := int64(0)
	for i := range list {
		p := &list[i]
		f.time(c, "part", i, p.Time)
		f.stack(c, "part", i, p.Stack)
		c.require(p.Time >= before, "part %d at %d ns comes after one at %d ns", i, p.Time, before)
		c.require(p.Stack == 0 || p.Kind == event.ResidentMapping, "part %d of %s names a call stack", i, p.Kind)
		c.require(p.Name == "" || p.Kind == event.ResidentFile, "part %d of %s names a file", i, p.Kind)
		before = max(before, p.Time)
	}
}

// pages checks that all page readings can be read. A reader refuses pages that do not lie in an area.
func (f *facts) pages(c *Check, pages *recording.PageReadings) {
	want, n := pages.Summary().Readings, 0
	c.What = fmt.Sprintf("%d page readings", want)
	pages.All(func(p *event.PageReading) bool {
		f.time(c, "page reading", n, p.Time)
		n++
		return true
	})
	c.require(uint64(n) == want, "%d of %d page readings can be read", n, want)
}

func (f *facts) pairs(c *Check, list []event.Pair) {
	c.What = fmt.Sprintf("%d mismatches of allocations and deallocations", len(list))
	blocks := uint64(0)
	for i := range list {
		p := &list[i]
		f.thread(c, "mismatch", i, p.Thread)
		f.time(c, "mismatch", i, p.Time)
		f.stack(c, "mismatch", i, p.Stack)
		f.stack(c, "mismatch", i, p.FreeStack)
		c.require(allocates(p.Alloc), "mismatch %d: %s does not allocate", i, p.Alloc)
		c.require(deallocates(p.Free), "mismatch %d: %s does not free", i, p.Free)
		of := event.MismatchOf(p.Alloc, p.Free)
		c.require(p.Mismatch&of == of && (p.Mismatch&event.MismatchFunction == 0 || of == event.MismatchFunction),
			"mismatch %d of %s and %s is %d, expected %d", i, p.Alloc, p.Free, p.Mismatch, of)
		blocks += p.Count
	}
	if first, last := f.rec.Cuts(); first == 0 {
		c.require(blocks <= last, "mismatches of %d blocks, but there are %d events", blocks, last)
	}
}

func (f *facts) counts(c *Check, counts *event.Counts) {
	c.What = fmt.Sprintf("%d rows of counts", len(counts.Rows))
	for i := range counts.Rows {
		n := &counts.Rows[i]
		can := allocates(n.Func)
		if n.Frees {
			can = deallocates(n.Func)
		}
		c.require(can, "row %d counts what %s cannot do (frees: %t)", i, n.Func, n.Frees)
		c.require(n.Timed > 0 || n.Time == 0 && len(n.Times) == 0,
			"row %d has times, but no timed calls", i)
	}
	for i := range counts.Rows {
		timed := counts.Rows[i].Timed > 0
		if c.require(!timed || counts.Tick > 0, "calls were timed, but the clock's tick is 0"); timed {
			break
		}
	}
}

// allocates and deallocates say what a function can do.
func allocates(f event.Func) bool { return f > event.FuncUnknown && f < event.FreeFunc || f.InPool() }

func deallocates(f event.Func) bool {
	return f >= event.FreeFunc && f < event.Mmap || f == event.ReallocFunc || f == event.Reallocarray ||
		f >= event.PoolFree && f < event.FuncCount
}
