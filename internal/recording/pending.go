package recording

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/grow"
)

// pendingTables are rows that are not yet in the file.
type pendingTables struct {
	process *event.Process // nil: unchanged
	threads []entry[event.Thread]
	modules []event.Module
	pcs     []entry[event.PC]
	nodes   []entry[event.Node]
	samples []event.Sample

	stackUse []event.StackUse
	resident []event.ResidentPart
	marks    []event.Mark
	regions  []event.RegionNote
	ranges   []event.NamedRange
	pages    []pageChange
}

// moveFrom appends the rows of o, and empties o.
func (t *pendingTables) moveFrom(o *pendingTables) {
	move(&t.threads, &o.threads)
	move(&t.modules, &o.modules)
	move(&t.pcs, &o.pcs)
	move(&t.nodes, &o.nodes)
	move(&t.samples, &o.samples)
	move(&t.stackUse, &o.stackUse)
	move(&t.resident, &o.resident)
	move(&t.marks, &o.marks)
	move(&t.regions, &o.regions)
	move(&t.ranges, &o.ranges)
	move(&t.pages, &o.pages)
	if o.process != nil {
		t.process, o.process = o.process, nil
	}
}

// move is moveFrom for one table. If t is empty, nothing is copied.
func move[T any](t, o *[]T) {
	if len(*t) == 0 {
		*t, *o = *o, *t
		return
	}
	*t = append(grow.For(*t, len(*o)), *o...)
	*o = (*o)[:0]
}
