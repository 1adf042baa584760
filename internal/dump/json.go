package dump

import (
	"strconv"

	"github.com/heaptap/heaptap/internal/event"
)

// object1 writes an event as an object of JSON: everything that is known of it. Fields that do not apply are left out.
func (d *Dumper) object1(b []byte, n, alloc uint64, e *event.Event) []byte {
	b = tail(b, `{"event":`, n)
	b = strconv.AppendInt(append(b, `,"time_ns":`...), e.Time, 10)
	b = append(append(append(b, `,"kind":"`...), e.Kind.String()...), '"')
	b = append(append(append(b, `,"function":"`...), e.Func.String()...), '"')
	b = tail(b, `,"thread":`, uint64(e.Thread))
	b = tail(b, `,"tid":`, uint64(d.tid(e.Thread)))
	b = tail(b, `,"stack":`, uint64(e.Stack))
	switch e.Kind {
	case event.Alloc:
		b = tail(b, `,"block":`, alloc)
	default:
		if e.Ref != event.NoRef {
			b = tail(b, `,"block":`, e.Ref)
		}
	}
	b = tail(b, `,"size":`, e.Size)
	if e.Flags&event.HasUsable != 0 {
		b = tail(b, `,"usable":`, e.Usable)
	}
	b = address(b, `,"address":"`, e.Addr)
	if e.Kind == event.Free || e.Born != 0 || e.BornBy != 0 {
		b = strconv.AppendInt(append(b, `,"born_ns":`...), e.Born, 10)
		b = tail(b, `,"born_by":`, uint64(e.BornBy))
	}
	b = number(b, `,"free_stack":`, uint64(e.FreeStack))
	b = number(b, `,"alignment":`, e.Align)
	b = number(b, `,"count":`, e.Count)
	b = address(b, `,"old_address":"`, e.OldAddr)
	b = number(b, `,"old_size":`, e.OldSize)
	for _, f := range [...]struct {
		flag event.Flags
		text string
	}{{event.Realloc, `,"realloc":true`}, {event.Temporary, `,"temporary":true`}, {event.InPlace, `,"in_place":true`},
		{event.Late, `,"late":true`}, {event.Sampled, `,"sampled":true`}} {
		if e.Flags&f.flag != 0 {
			b = append(b, f.text...)
		}
	}
	if e.Flags&event.Sampled != 0 {
		blocks, bytes := e.Weight()
		b = tail(b, `,"weight":`, blocks)
		b = tail(b, `,"weight_bytes":`, bytes)
	}
	return append(b, '}')
}

func number(b []byte, name string, v uint64) []byte {
	if v == 0 {
		return b
	}
	return tail(b, name, v)
}

func address(b []byte, name string, v uint64) []byte {
	if v == 0 {
		return b
	}
	return append(appendHex(append(b, name...), v), '"')
}
