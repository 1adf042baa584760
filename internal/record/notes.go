package record

import (
	"fmt"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/order"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/wire"
)

// takeNote takes what the program says about itself in a stream, in the order of events. A note of a kind that is not
// known here is of a newer agent, and skipped.
func (p *process) takeNote(kind uint8, r *order.Record) {
	s, x := r.Stream, r.Extras
	p.order.Latest = max(p.order.Latest, r.Time)
	now := p.order.Now(r.Time) * recording.Quantum
	name := p.w.name(uint32(r.Addr()))
	switch kind {
	case wire.KMark:
		p.notes.Mark(event.Mark{Name: name, Time: now, Cut: p.out.Handed(), Thread: s.Thread})
	case wire.KThreadName:
		p.threads.rename(s, name)
	case wire.KRegionBegin, wire.KRegionEnd:
		var ids []uint64
		if x != nil {
			ids = x.IDs()
		}
		p.notes.Region(s.Thread, kind == wire.KRegionBegin, name, ids, now)
	case wire.KRangeName:
		if x != nil && x.OldLen > 0 {
			p.notes.Range(event.NamedRange{
				Time: now, Thread: s.Thread, Event: p.out.Handed(), Start: x.OldAddr, Size: x.OldLen, Name: name,
			})
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
