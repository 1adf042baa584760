package order

import (
	"encoding/binary"
	"fmt"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/records"
	"github.com/heaptap/heaptap/internal/wire"
)

// decodePlain adds the stream's next records to the batch, as long as there is room for them and none of them is one
// that only decodeSlow understands. It returns true if the next record is not older than limit.
func (m *Merger) decodePlain(s *Stream, limit uint64) (done bool) {
	bt, c, nodes, thread := &m.work.batch, m.Clock, *m.stacks, s.Thread
	latest, now := bt.latest, bt.time
	if !s.x.None() || s.last > latest {
		return false
	}
	b, at, n := s.b, s.at, bt.n
	for ; n < BatchSize && len(b)-at >= 24; n++ {
		d := b[at : at+24 : at+24]
		w0, w1 := binary.LittleEndian.Uint64(d), binary.LittleEndian.Uint64(d[8:])
		class := w0 >> (wire.KindShift + wire.ClassShift) & 3
		if class > wire.ClassShort {
			break
		}
		// What is known is written at once, whatever comes of the record: a composite literal, or all in the end, takes
		// longer than all else.
		r, e, brief := &bt.raw[n], &bt.rows[n], &records.Briefs[uint8(w0>>wire.KindShift)]
		r.word = w0
		e.Kind = brief.Kind
		bt.kinds |= brief.Kind
		e.Func = brief.Func
		e.Born = 0
		e.Thread = thread
		e.BornBy = s.Index // not from a variable: there are too few registers
		addr, slack := w0&wire.AddrMask, w0>>wire.SlackShift
		e.Addr = addr
		e.Ref = slack
		if addr == 0 || slack == wire.SlackExtra {
			break
		}
		// Whether a record is long or short has no pattern that a processor could learn: without a branch.
		stacked := wire.ClassShort - class
		t := w1 ^ (w1^binary.LittleEndian.Uint64(d[16:]))&-stacked
		if t < latest {
			break
		}
		if t >= limit {
			if t != never {
				s.time, done = t, true
			}
			break
		}
		r.time = t
		w1 &= -stacked
		stack, size := w1>>32, uint64(uint32(w1))
		e.Size = size
		if stack >= uint64(len(nodes)) || size == wire.SizeExtra {
			break
		}
		id := nodes[stack]
		e.Stack = id
		if id == 0 && stack != 0 {
			break
		}
		if near, ok := c.Near(t); ok {
			now = max(now, near)
		} else {
			now = max(now, c.Far(t))
		}
		e.Time = uint64(now)
		latest = t
		at += 16 + 8*int(stacked)
	}
	if n > bt.n {
		s.at, s.last, bt.n, bt.latest, bt.time = at, latest, n, latest, now
		class := bt.raw[n-1].word >> (wire.KindShift + wire.ClassShift) & 3
		s.begins, s.lastBegins = at, at-16-8*int(wire.ClassShort-class)
	}
	return done
}

// decodeSlow adds the stream's next record, of which 16 bytes are there, to the batch, or takes what comes before it.
// It returns true if it is not older than limit.
func (m *Merger) decodeSlow(s *Stream, limit uint64) bool {
	bt, b := &m.work.batch, s.b[s.at:]
	w0, w1 := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	kind := uint8(w0 >> wire.KindShift)
	n, count := 0, uint64(0)
	if kind == wire.XCount && len(b) >= 16+24 && uint8(b[16+wire.KindShift/8]) == wire.KCalloc && s.x.None() {
		// Mostly, all that comes before a calloc is its first argument.
		n, count = 16, w1
		b = b[16:]
		w0, w1 = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		kind = wire.KCalloc
	}
	t := w1
	switch class := kind >> wire.ClassShift; {
	case class == wire.ClassExtra:
		s.x.Add(kind, w1)
		s.at += 16
		return false
	case class == wire.ClassStack && len(b) >= 24:
		t = binary.LittleEndian.Uint64(b[16:])
		n += 24
	case class == wire.ClassStack: // it is cut off
		m.skipDamaged(s)
		return false
	default:
		w1 = 0
		n += 16
	}
	if t < s.last {
		t = s.last // within a stream the order is beyond doubt
	} else if t == never {
		t-- // the writer is broken, and never is for ever
	}
	if t >= limit {
		s.time = t
		return true
	}
	meaning := &records.Meanings[kind]
	r, e := &bt.raw[bt.n], &bt.rows[bt.n]
	e.Addr = w0 & wire.AddrMask
	e.Size = uint64(uint32(w1))
	e.Ref = w0 >> wire.SlackShift
	e.Born = count
	e.Stack = 0
	if stack := uint32(w1 >> 32); stack != 0 {
		e.Stack = m.stack(stack)
	}
	e.Thread = s.Thread
	e.BornBy = s.Index
	e.Kind = meaning.Row
	e.Func = meaning.Func
	if t < bt.latest || e.Addr == 0 || e.Size == wire.SizeExtra ||
		e.Ref == wire.SlackExtra && meaning.Row == event.RowAlloc {
		e.Kind = event.RowOther
	} else {
		bt.time = max(bt.time, m.Clock.Units(t))
	}
	bt.kinds |= e.Kind
	bt.latest = max(bt.latest, t)
	e.Time = uint64(bt.time)
	r.word = w0
	r.time = t
	bt.n++
	if !s.x.None() {
		bt.extend(&s.x)
	}
	s.at += n
	s.last = t
	s.begins, s.lastBegins = s.at, s.begins
	return false
}

// stack returns the recording's number of a spool's stack.
func (m *Merger) stack(id uint32) uint32 {
	if list := *m.stacks; uint64(id) < uint64(len(list)) && list[id] != 0 {
		return list[id]
	}
	return m.to.Stack(id)
}

// skipDamaged is called where there is no record: the rest of the piece cannot be read.
func (m *Merger) skipDamaged(s *Stream) {
	why := ""
	if !s.badBytes {
		s.badBytes = true
		why = fmt.Sprintf("Some events of thread %d were damaged in the target's memory and are missing.", s.TID)
	}
	m.to.Lost(1, why)
	s.at = len(s.b)
}
