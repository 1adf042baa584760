package record

import (
	"fmt"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/order"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/wire"
)

// takeNote takes what the program says about itself in a stream, in the order of events. A note of a kind that is not known
// here is of a newer agent, and skipped.
func (p *process) takeNote(kind uint8, r *order.Record) {
	s, x := r.Stream, r.Extras
	p.order.Latest = max(p.order.Latest, r.Time)
	now := p.order.Now(r.Time) * recording.Quantum
	name := p.w.name(uint32(r.Addr()))
	switch kind {
	case wire.KMark:
		p.mark(event.Mark{Name: name, Time: now, Cut: p.out.Handed(), Thread: s.Thread})
	case wire.KThreadName:
		p.out.Thread(s.Thread, event.Thread{TID: s.TID, Name: name, Start: p.started[s.Thread]})
	case wire.KRegionBegin, wire.KRegionEnd:
		var ids []uint64
		if x != nil {
			ids = x.IDs()
		}
		p.region(s, kind == wire.KRegionBegin, name, ids, now)
	case wire.KRangeName:
		if x != nil && x.OldLen > 0 {
			p.rangeName(event.NamedRange{Time: now, Thread: s.Thread, Event: p.out.Handed(), Start: x.OldAddr, Size: x.OldLen, Name: name})
		}
	}
}

// name is a text of the spool's log of names.
func (w *worker) name(id uint32) string {
	if text, ok := w.tables.Name(id); ok {
		return text
	}
	return fmt.Sprintf("(name %d)", id)
}

// maxMarks bounds the marks of a recording: who sets more of them has a loop that sets them.
const maxMarks = 1_000_000

// mark adds a mark, unless the recording that a dead recorder left has it already.
func (p *process) mark(m event.Mark) {
	if slices.Contains(p.marksBefore, m) {
		return
	}
	if p.marks++; p.marks > maxMarks {
		p.note("There are more than %d marks; the others were not kept.", maxMarks)
		return
	}
	p.out.Mark(m)
}

// maxRanges bounds the names of memory in a recording.
const maxRanges = 100_000

// rangeName adds a name of memory, unless the recording that a dead recorder left has it already.
func (p *process) rangeName(n event.NamedRange) {
	if slices.Contains(p.rangesBefore, n) {
		return
	}
	if p.ranges++; p.ranges > maxRanges {
		p.note("Memory was named more than %d times; later names were not kept.", maxRanges)
		return
	}
	p.out.Range(n)
}

// restoreRanges takes over the names of memory of the recording that a dead recorder left, as far as its events count.
func (p *process) restoreRanges(old []event.NamedRange, events uint64) {
	for _, n := range old {
		if n.Event > events {
			break // it comes again
		}
		p.rangeName(n)
		if n.Event == events {
			p.rangesBefore = append(p.rangesBefore, n)
		}
	}
}

// restoreMarks takes over the marks of the recording that a dead recorder left, as far as its events count.
func (p *process) restoreMarks(old []event.Mark, events uint64) {
	for _, m := range old {
		if m.Cut != event.NoCut && m.Cut > events {
			continue // it comes again
		}
		p.mark(m)
		if m.Cut == events {
			p.marksBefore = append(p.marksBefore, m)
		}
	}
}
