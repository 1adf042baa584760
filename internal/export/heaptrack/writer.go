package heaptrack

import (
	"bufio"
	"io"
	"strconv"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/intern"
)

// writer writes the lines of a file.
type writer struct {
	*bufio.Writer
	in         *export.Input
	begin, end int64 // of the range, ns
	now        int64 // the latest time that was written, ms; -1: none
	samples    []event.Sample
	names      intern.Table[string]
	addresses  intern.Table[uint32] // pcs
	stacks     map[uint32]uint64    // number of the call stack, by node; 0: all of its frames are hidden
	last       uint64               // number of the latest call stack
	unknown    uint64               // number of the unknown call stack
	sizes      intern.Table[block]
	first      uint64 // number of the range's first allocation
	any        bool   // there was one
	text       []byte
	path       []uint32
}

// block is a size and a call stack, which many blocks may have in common.
type block struct {
	stack uint64
	size  uint64
}

func newWriter(out io.Writer, in *export.Input) (*writer, error) {
	w := &writer{Writer: bufio.NewWriterSize(out, 1<<16), in: in, end: in.Profile.Duration, now: -1,
		stacks: make(map[uint32]uint64), samples: in.Reader.Samples()}
	var err error
	if r := in.Query.Range; r != nil {
		if w.begin, err = in.Reader.TimeAt(r.From); err != nil {
			return nil, err
		}
		if _, last := in.Reader.Cuts(); r.To < last {
			w.end, err = in.Reader.TimeAt(r.To)
		}
	}
	return w, err
}

// event writes an event, if the format has its kind.
func (w *writer) event(_, ref uint64, e *event.Event) error {
	switch {
	case e.Kind == event.Alloc:
		w.moment(e.Time)
		if !w.any {
			w.first, w.any = ref, true
		}
		return w.line('+', w.block(e))
	case e.Kind == event.Free && w.any && ref >= w.first:
		w.moment(e.Time)
		return w.line('-', w.block(e))
	}
	return nil
}

// moment writes the resident sets up to a time, then the time.
func (w *writer) moment(ns int64) {
	for len(w.samples) > 0 && w.samples[0].Time <= ns {
		if s := w.samples[0]; s.Time >= w.begin {
			w.clock(s.Time)
			_ = w.line('R', uint64(max(s.RSS, 0))/pageSize)
		}
		w.samples = w.samples[1:]
	}
	w.clock(ns)
}

func (w *writer) clock(ns int64) {
	if ms := max(ns-w.begin, 0) / time.Millisecond.Nanoseconds(); ms > w.now {
		w.now = ms
		_ = w.line('c', uint64(ms))
	}
}

// line writes a line of numbers. bufio.Writer keeps the first error, so callers may ignore it.
func (w *writer) line(of byte, numbers ...uint64) error {
	w.text = append(w.text[:0], of)
	for _, n := range numbers {
		w.text = strconv.AppendUint(append(w.text, ' '), n, 16)
	}
	_, err := w.Write(append(w.text, '\n'))
	return err
}

// name returns the number of a name, and writes the name if it is new. The empty name has number 0.
func (w *writer) name(name string) uint64 {
	if name == "" {
		return 0
	}
	name = oneLine(name)
	id, added := w.names.Add(name)
	if added {
		w.text = strconv.AppendUint(append(w.text[:0], "s "...), uint64(len(name)), 16)
		w.text = append(append(append(w.text, ' '), name...), '\n')
		_, _ = w.Write(w.text)
	}
	return uint64(id) + 1
}

// block returns the number of a block's size and call stack. No block has number 0: after a deallocation, readers take
// 0 for the number of the latest allocation.
func (w *writer) block(e *event.Event) uint64 {
	_, bytes := e.Weight() // the format counts each block once
	b := block{w.stack(e.Stack), bytes}
	if len(w.sizes.List()) == 0 {
		w.sizes.ID(block{})
		_ = w.line('a', 0, b.stack)
	}
	id, added := w.sizes.Add(b)
	if added {
		_ = w.line('a', b.size, b.stack)
	}
	return uint64(id)
}

// stack returns the number of a call stack, and writes the stack and its callers if they are new.
func (w *writer) stack(id uint32) uint64 {
	w.path = w.path[:0]
	at, known := uint64(0), false
	for id != 0 && !known {
		if at, known = w.stacks[id]; !known {
			n, _ := w.in.Reader.Nodes().Get(id)
			w.path = append(w.path, id)
			id = n.Parent
		}
	}
	for i := len(w.path) - 1; i >= 0; i-- {
		n, _ := w.in.Reader.Nodes().Get(w.path[i])
		if ip := w.address(n.PC); ip != 0 {
			at = w.called(ip, at)
		}
		w.stacks[w.path[i]] = at
	}
	if at == 0 {
		return w.unknownStack()
	}
	return at
}

// called writes a new call stack, an address called by a stack, and returns its number.
func (w *writer) called(address, by uint64) uint64 {
	_ = w.line('t', address, by)
	w.last++
	return w.last
}

// noPC stands for an unknown address in the table.
const noPC = ^uint32(0)

// unknownStack returns the number of the unknown call stack.
func (w *writer) unknownStack() uint64 {
	if w.unknown == 0 {
		name := w.name(export.Unknown)
		id := w.addresses.ID(noPC)
		_ = w.line('i', 0, 0, name, 0, 0)
		w.unknown = w.called(uint64(id)+1, 0)
	}
	return w.unknown
}

// address returns the number of a pc, and writes its frames if it is new. It returns 0 if all of them are hidden.
func (w *writer) address(id uint32) uint64 {
	frames := w.in.Frames(id)
	if len(frames) == 0 {
		return 0
	}
	pc, _ := w.in.Reader.PCs().Get(id)
	numbers := []uint64{pc.Addr, w.name(frames[0].Module)}
	for i := range frames {
		f := &frames[i]
		numbers = append(numbers, w.name(export.FrameName(f)), w.name(f.File), uint64(f.Line))
	}
	number, added := w.addresses.Add(id)
	if added {
		_ = w.line('i', numbers...)
	}
	return uint64(number) + 1
}
