// Package pprof reads memory profiles of google/pprof, such as Go's and heaptap's: see package export/pprof.
//
// The names of their types distinguish values. Sampled values are imported as they are in the file; Go has scaled them
// up.
package pprof

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/import/whole"
	"github.com/heaptap/heaptap/internal/merge"
)

// Is reports whether a file with this beginning, unpacked, is a profile: a message with a profile's fields, including a
// type of values.
func Is(head []byte) bool {
	typed := false
	for len(head) > 0 {
		var f field
		n, err := f.read(head)
		if err != nil {
			return typed && errors.Is(err, errEnds)
		}
		if f.number > 15 || f.isMessage() != f.packed && f.number != 13 {
			return false
		}
		if f.number == 1 {
			if _, err := parseType(&f); err != nil || len(f.bytes) > 32 {
				return false
			}
			typed = true
		}
		head = head[n:]
	}
	return typed
}

// values maps the known types of values to numbers. objects and space are from pprof's conversion of older profiles.
var values = map[string]func(*numbers) *uint64{
	"alloc_objects":     func(n *numbers) *uint64 { return &n.Allocations },
	"alloc_space":       func(n *numbers) *uint64 { return &n.Bytes },
	"inuse_objects":     func(n *numbers) *uint64 { return &n.inuseBlocks },
	"inuse_space":       func(n *numbers) *uint64 { return &n.inuse },
	"objects":           func(n *numbers) *uint64 { return &n.inuseBlocks },
	"space":             func(n *numbers) *uint64 { return &n.inuse },
	"leaked_objects":    func(n *numbers) *uint64 { return &n.LiveBlocks },
	"leaked_space":      func(n *numbers) *uint64 { return &n.Live },
	"peak_objects":      func(n *numbers) *uint64 { return &n.PeakBlocks },
	"peak_space":        func(n *numbers) *uint64 { return &n.Peak },
	"temporary_objects": func(n *numbers) *uint64 { return &n.Temporary },
	"temporary_space":   func(n *numbers) *uint64 { return &n.TemporaryBytes },
}

// numbers are those of one sample. What is in use counts as leaked, unless the profile has leaked bytes or blocks, too.
type numbers struct {
	merge.Numbers
	inuse, inuseBlocks uint64
}

// reader imports a profile.
type reader struct {
	*profile
	t         *merge.Imported
	of        []func(*numbers) *uint64 // by index of the value; nil: not about memory
	has       map[string]bool          // types of values
	modules   map[uint64]int32
	pcs       map[uint64]int32
	unknown   map[uint64]bool // locations that stand for unknown code
	threads   bool            // samples have the allocating threads
	shrinking bool            // a sample has more live than allocated
}

// Read reads a profile, unpacked.
func Read(in io.Reader) (*merge.Imported, error) {
	b, err := whole.Bytes(in)
	if err != nil {
		return nil, err
	}
	p, err := parse(b)
	if err != nil {
		return nil, err
	}
	r := &reader{profile: p, t: merge.NewImported("pprof"), has: make(map[string]bool),
		modules: make(map[uint64]int32),
		pcs:     make(map[uint64]int32),
		unknown: make(map[uint64]bool)}
	if err := r.types(); err != nil {
		return nil, err
	}
	r.process()
	number := 0
	err = p.samples(func(s *sample, at int) error {
		if err := r.sample(s); err != nil {
			return fmt.Errorf("byte %d: sample %d: %w", at, number, err)
		}
		number++
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.notes()
	return r.t, nil
}

// types determines what the values are.
func (r *reader) types() error {
	var names []string
	known := false
	for _, t := range r.profile.types {
		name := r.text(t.name)
		names = append(names, name+"/"+r.text(t.unit))
		r.of = append(r.of, values[name])
		r.has[name] = true
		known = known || values[name] != nil
	}
	if !known {
		return fmt.Errorf("not a memory profile: its values are %.100q, without inuse_space, alloc_space or the like",
			strings.Join(names, ", "))
	}
	return nil
}

// process takes what the profile says about the process. heaptap's comments do.
func (r *reader) process() {
	p := &r.t.Process
	p.Started = max(r.time, 0)
	r.t.Input.End = max(r.duration, 0)
	for _, c := range r.comments {
		name, value, _ := strings.Cut(r.text(c), ": ")
		switch name {
		case "program":
			p.Exe = value
		case "arguments":
			p.Args = strings.Fields(value)
		case "host":
			p.Host = value
		case "process":
			_, _ = fmt.Sscan(value, &p.PID)
		}
	}
	if m, ok := r.mappings[1]; ok && p.Exe == "" {
		p.Exe = r.text(m.file) // the first mapping is the program's, by convention
	}
}

func (r *reader) sample(s *sample) error {
	if len(s.values) != len(r.of) {
		return fmt.Errorf("%d values, and %d types of values", len(s.values), len(r.of))
	}
	n := numbers{}
	for i, v := range s.values {
		if r.of[i] == nil {
			continue
		}
		if int64(v) < 0 {
			return fmt.Errorf("%s is %d: a difference of two profiles cannot be imported",
				r.text(r.profile.types[i].name), int64(v))
		}
		*r.of[i](&n) = v
	}
	if !r.has["leaked_space"] && !r.has["leaked_objects"] {
		n.Live, n.LiveBlocks = n.inuse, n.inuseBlocks
	}
	n.PeakKnown = r.has["peak_space"]
	at := int32(0)
	for _, id := range slices.Backward(s.locations) {
		pc, err := r.pc(id)
		switch {
		case err != nil:
			return err
		case !r.unknown[id]:
			at = r.t.Node(at, pc)
		}
	}
	r.shrinking = r.shrinking || r.has["alloc_space"] && (n.Live > n.Bytes || n.LiveBlocks > n.Allocations)
	stack := n.Stack()
	thread := event.Thread{}
	for _, l := range s.labels {
		switch r.text(l.key) {
		case "bytes":
			if !r.has["peak_space"] { // Go's: all blocks of a sample have one size
				stack.MinSize, stack.MaxSize = l.number, l.number
			}
		case "thread": // of heaptap and some other tools
			thread.Name = r.text(l.text)
		case "thread_id":
			thread.TID = uint32(min(l.number, math.MaxUint32))
		}
	}
	if thread != (event.Thread{}) {
		if thread.Name == fmt.Sprintf("thread %d", thread.TID) { // heaptap's name for a thread without one
			thread.Name = ""
		}
		thread.Name = strings.TrimSuffix(thread.Name, fmt.Sprintf(" (%d)", thread.TID))
		r.threads = true
	}
	return r.t.AddOf(r.t.Thread(thread), at, stack)
}

// pc returns the number of a location.
func (r *reader) pc(id uint64) (int32, error) {
	if pc, ok := r.pcs[id]; ok {
		return pc, nil
	}
	l, ok := r.locations[id]
	if !ok {
		return 0, fmt.Errorf("location %d is missing", id)
	}
	var frames []event.Frame
	list := r.lines[l.lines:l.linesN]
	for i, v := range list {
		f, ok := r.functions[v.function]
		if !ok {
			return 0, fmt.Errorf("function %d of location %d is missing", v.function, id)
		}
		frame := event.Frame{Function: r.text(f.name), Linkage: r.text(f.system), File: r.text(f.file),
			Line:    uint32(min(v.number, math.MaxUint32)),
			Inlined: i+1 < len(list)}
		if frame.Linkage == frame.Function {
			frame.Linkage = ""
		}
		frames = append(frames, frame)
	}
	if l.address == 0 && len(frames) == 1 && frames[0].Function == "[unknown]" {
		r.unknown[id] = true
		return 0, nil
	}
	module, address := merge.NoModule, l.address
	if m, ok := r.mappings[l.mapping]; ok && l.mapping != 0 && r.text(m.file) != "" {
		build, _ := hex.DecodeString(r.text(m.build))
		var base uint64
		if m.start < positioned {
			base = m.start - min(m.offset, m.start)
		} else if address != 0 {
			address += m.offset - m.start
		}
		module = r.module(l.mapping, r.text(m.file), build, base)
	}
	if address != 0 {
		address++ // from the call to its return address
	}
	for i := range frames {
		if nameless(&frames[i], r.text(r.mappings[l.mapping].file), address) {
			frames[i].Function = ""
		}
	}
	if len(frames) == 1 && frames[0] == (event.Frame{}) {
		frames = nil
	}
	pc := r.t.PC(module, address, false, frames)
	r.pcs[id] = pc
	return pc, nil
}

// nameless reports whether a function's name is only its address, module+0xoffset or 0xaddress, as in heaptap's
// profiles.
func nameless(f *event.Frame, module string, address uint64) bool {
	if f.Linkage != "" || f.File != "" {
		return false
	}
	place, offset, inModule := strings.Cut(f.Function, "+0x")
	if inModule {
		_, err := strconv.ParseUint(offset, 16, 64)
		return err == nil && place != "" && place == filepath.Base(module)
	}
	return f.Function == fmt.Sprintf("%#x", address)
}

// positioned is the end of programs that are linked to a fixed address: their addresses in the file and in the process
// are equal. Other code has higher addresses.
const positioned = 1 << 32

func (r *reader) module(id uint64, path string, build []byte, base uint64) int32 {
	m, ok := r.modules[id]
	if !ok {
		m = r.t.Module(path, build, base)
		r.modules[id] = m
	}
	return m
}

// notes adds notes on what is inexact.
func (r *reader) notes() {
	if r.period > 1 && r.text(r.unit.name) == "space" {
		r.t.Note(fmt.Sprintf("Sampled, one allocation in about %d bytes: numbers are estimates.", r.period))
	}
	if !r.has["peak_space"] {
		r.t.Note("The peak is unknown: live bytes at the end are shown instead.")
	}
	if !r.has["alloc_space"] {
		r.t.Note("Only live memory is known, not what was allocated and freed.")
	}
	if r.threads {
		r.t.Note("Deallocations count for the threads that allocated, since it is unknown which threads freed.")
	}
	if r.shrinking {
		r.t.Note("Some call stacks have more live than allocated: what is live is taken for allocated, too.")
	}
}
