package dump

import (
	"context"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
)

// Events writes the events between two cuts, one per line, and among them the marks and the names of memory. Damaged
// events are left out; the error is then a *recording.DamageError.
func (d *Dumper) Events(ctx context.Context, from, to uint64) error {
	return d.Selected(from, true, func(yield func(n, ref uint64, e *event.Event) bool) (uint64, error) {
		return to, d.r.Walk(ctx, from, to, yield)
	})
}

// Walk yields events from a cut on, until yield returns false: each with its number and that of the allocation that it
// makes or ends. It returns the cut up to which it has yielded all of them.
type Walk func(yield func(n, ref uint64, e *event.Event) bool) (to uint64, err error)

// Selected is Events with the events of a walk from a cut on; with marks, or without.
func (d *Dumper) Selected(from uint64, marked bool, walk Walk) error {
	marks, ranges := newMarksAmong(d, from), newRangesAmong(d, from)
	if !marked {
		marks.marks = nil
	}
	to, err := d.walk(walk, marks, ranges)
	marks.upTo(to)
	ranges.upTo(to)
	if d.err != nil {
		return d.err
	}
	return err
}

// walk writes the events.
func (d *Dumper) walk(walk Walk, marks *marksAmong, ranges *rangesAmong) (to uint64, err error) {
	add := d.text
	if d.json {
		add = d.eventObject
	}
	return walk(func(n, alloc uint64, e *event.Event) bool {
		marks.before(n, e.Time)
		ranges.before(n)
		d.line = add(d.line[:0], n, alloc, e)
		if len(ranges.spans) > 0 {
			d.line = ranges.text(d.line, e)
		}
		d.line = append(d.line, '\n')
		return d.write(d.line)
	})
}

// call says how the call of a function is written: its name, and what its kind adds after the arguments.
type call struct{ name, kind string }

var calls = func() (list [event.FuncCount]call) {
	for f := range event.FuncCount {
		name, kind, _ := strings.Cut(strings.TrimSuffix(f.String(), ")"), " (")
		if kind != "" {
			kind = ", " + kind
		}
		list[f] = call{name, kind}
	}
	list[event.FuncUnknown].name = "unseen"
	return list
}()

func callOf(f event.Func) call {
	if f < event.FuncCount {
		return calls[f]
	}
	return call{name: "unknown"}
}

// text writes an event as a call: time, thread, the function with its arguments and result, the call stack, and further
// details.
func (d *Dumper) text(b []byte, n, alloc uint64, e *event.Event) []byte {
	b = Seconds(b, e.Time, 12)
	b = append(b, ' ')
	b = strconv.AppendUint(b, uint64(d.tid(e.Thread)), 10)
	b = append(b, ' ')
	c := callOf(e.Func)
	b = append(b, c.name...)
	b = append(b, '(')
	switch e.Kind {
	case event.Alloc, event.Fail:
		b = arguments(b, e)
		b = append(b, c.kind...)
		b = append(b, ") = "...)
		if e.Kind == event.Fail {
			b = append(b, "null"...)
			break
		}
		b = block(b, alloc, e.Addr)
	case event.Free:
		b = block(b, e.Ref, e.Addr)
		b = endArguments(b, e, c)
	case event.Unmatched, event.Inherited, event.Unrecorded:
		if e.Addr != 0 {
			b = appendHex(b, e.Addr)
		} else {
			b = append(b, '?')
		}
		b = endArguments(b, e, c)
		b = append(append(b, ' '), e.Kind.String()...)
	case event.Map:
		b = mapping(b, e)
	}
	b = tail(b, " stack ", uint64(e.Stack))
	if e.Kind == event.Free {
		b = tail(b, " size ", e.Size)
		b = Seconds(append(b, " born "...), e.Born, 0)
		if e.BornBy != e.Thread {
			b = tail(b, " by ", uint64(d.tid(e.BornBy)))
		}
	}
	if e.FreeStack != 0 {
		b = tail(b, " freed at ", uint64(e.FreeStack))
	}
	if e.Flags&event.HasUsable != 0 {
		b = tail(b, " usable ", e.Usable)
	}
	if e.Flags&event.InPlace != 0 {
		b = append(b, " in place"...)
	}
	if e.Flags&event.Temporary != 0 {
		b = append(b, " temporary"...)
	}
	if e.Flags&event.Late != 0 {
		b = append(b, " late"...)
	}
	return b
}

// arguments writes the arguments of an allocation. The old block of a realloc has its own line.
func arguments(b []byte, e *event.Event) []byte {
	switch e.Func {
	case event.Calloc:
		if e.Count != 0 && e.Size%e.Count == 0 {
			b = strconv.AppendUint(b, e.Count, 10)
			return tail(b, ", ", e.Size/e.Count)
		}
	case event.ReallocFunc, event.Reallocarray:
		if e.Flags&event.Realloc != 0 {
			b = append(b, "..., "...)
		} else {
			b = append(b, "null, "...)
		}
		if e.Func == event.Reallocarray && e.Count != 0 && e.Size%e.Count == 0 {
			b = strconv.AppendUint(b, e.Count, 10)
			return tail(b, ", ", e.Size/e.Count)
		}
	case event.PosixMemalign, event.AlignedAlloc, event.Memalign:
		b = strconv.AppendUint(b, e.Align, 10)
		return tail(b, ", ", e.Size)
	}
	b = strconv.AppendUint(b, e.Size, 10)
	if e.Align != 0 {
		b = tail(b, ", ", e.Align)
	}
	return b
}

// endArguments ends the arguments of a deallocation.
func endArguments(b []byte, e *event.Event, c call) []byte {
	if e.Func == event.ReallocFunc || e.Func == event.Reallocarray {
		b = append(b, ", ..."...) // the new block is another event
	}
	b = append(b, c.kind...)
	return append(b, ')')
}

func mapping(b []byte, e *event.Event) []byte {
	switch e.Func {
	case event.Munmap:
		if e.Addr == 0 {
			return append(tail(b, "?, ", e.Size), ") = failed"...)
		}
		return append(tail(append(appendHex(b, e.Addr), ','), " ", e.Size), ')')
	case event.Mremap:
		b = appendHex(b, e.OldAddr)
		b = tail(b, ", ", e.OldSize)
		b = tail(b, ", ", e.Size)
	case event.Brk:
		if e.Addr != 0 {
			b = appendHex(b, e.Addr)
		}
		b = append(b, ") = "...)
		b = result(b, e.Addr)
		b = append(b, " was "...)
		return appendHex(b, e.OldAddr)
	default:
		b = strconv.AppendUint(b, e.Size, 10)
	}
	b = append(b, ") = "...)
	return result(b, e.Addr)
}

func result(b []byte, addr uint64) []byte {
	if addr == 0 {
		return append(b, "failed"...)
	}
	return appendHex(b, addr)
}

// block names a block by the number of its allocation, and its address if that is known.
func block(b []byte, number, addr uint64) []byte {
	b = tail(b, "#", number)
	if addr != 0 {
		b = appendHex(append(b, '@'), addr)
	}
	return b
}

func tail(b []byte, name string, v uint64) []byte {
	return strconv.AppendUint(append(b, name...), v, 10)
}

func appendHex(b []byte, v uint64) []byte { return strconv.AppendUint(append(b, "0x"...), v, 16) }

// Seconds writes a time in ns as seconds with the seven digits that a recording keeps, right-aligned in width columns.
func Seconds(b []byte, ns int64, width int) []byte {
	start := len(b)
	b = strconv.AppendInt(b, ns/1e9, 10)
	b = append(b, '.')
	part := ns % 1e9 / 100
	for unit := int64(1e6); unit > 0; unit /= 10 {
		b = append(b, '0'+byte(part/unit%10))
	}
	if pad := width - (len(b) - start); pad > 0 {
		b = append(b, "                    "[:pad]...)
		copy(b[start+pad:], b[start:len(b)-pad])
		for i := range pad {
			b[start+i] = ' '
		}
	}
	return b
}

func (d *Dumper) tid(thread uint32) uint32 {
	if list := d.r.Threads(); int64(thread) < int64(len(list)) {
		return list[thread].TID
	}
	return 0
}
