// Package pprof reads the profiles of memory of google/pprof, Go's and heaptap's among them: see package export/pprof.
//
// Values are told apart by the names of their types. Of values that were sampled it takes what is in the file, which Go
// has scaled up.
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

// Is reports whether a file that begins so, unpacked, is a profile: it is a message with the fields of one, a type of
// values among them.
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

// values are the names of types of values that are known, and what of the numbers they are. objects and space are those
// of pprof's conversion of older profiles.
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

// numbers are those of one sample. What is in use is what is leaked, unless that is told, too.
type numbers struct {
	merge.Numbers
	inuse, inuseBlocks uint64
}

// reader makes call stacks of a profile.
type reader struct {
	*profile
	t         *merge.Imported
	of        []func(*numbers) *uint64 // by value; nil: not of memory
	told      map[string]bool          // types of values
	modules   map[uint64]int32
	pcs       map[uint64]int32
	unknown   map[uint64]bool // locations that say that nothing is known
	threads   bool            // that allocated are told
	shrinking bool            // more is live of something than was allocated of it
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
	r := &reader{profile: p, t: merge.NewImported("pprof"), told: make(map[string]bool),
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

// types finds out what the values are.
func (r *reader) types() error {
	var names []string
	known := false
	for _, t := range r.profile.types {
		name := r.text(t.name)
		names = append(names, name+"/"+r.text(t.unit))
		r.of = append(r.of, values[name])
		r.told[name] = true
		known = known || values[name] != nil
	}
	if !known {
		return fmt.Errorf("not a memory profile: its values are %.100q, without inuse_space, alloc_space or the like",
			strings.Join(names, ", "))
	}
	return nil
}

// process takes what is said of the process. heaptap's comments tell of it.
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
		p.Exe = r.text(m.file) // of the first mapping: the program's, by convention
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
			return fmt.Errorf("%s is %d: a difference between profiles has no recording",
				r.text(r.profile.types[i].name), int64(v))
		}
		*r.of[i](&n) = v
	}
	if !r.told["leaked_space"] && !r.told["leaked_objects"] {
		n.Live, n.LiveBlocks = n.inuse, n.inuseBlocks
	}
	n.PeakKnown = r.told["peak_space"]
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
	r.shrinking = r.shrinking || r.told["alloc_space"] && (n.Live > n.Bytes || n.LiveBlocks > n.Allocations)
	stack := n.Stack()
	thread := event.Thread{}
	for _, l := range s.labels {
		switch r.text(l.key) {
		case "bytes":
			if !r.told["peak_space"] { // Go's: all blocks of a sample have one size
				stack.MinSize, stack.MaxSize = l.number, l.number
			}
		case "thread": // heaptap's, and some of other tools'
			thread.Name = r.text(l.text)
		case "thread_id":
			thread.TID = uint32(min(l.number, math.MaxUint32))
		}
	}
	if thread != (event.Thread{}) {
		if thread.Name == fmt.Sprintf("thread %d", thread.TID) { // as heaptap calls one without a name
			thread.Name = ""
		}
		thread.Name = strings.TrimSuffix(thread.Name, fmt.Sprintf(" (%d)", thread.TID))
		r.threads = true
	}
	return r.t.AddOf(r.t.Thread(thread), at, stack)
}

// pc is the number of a location.
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
		address++ // from the call to where it returns to
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

// nameless reports whether a function has no name but that of its place, module+0xoffset or 0xaddress, as heaptap's
// profiles have it.
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

// positioned is where programs end that are linked to lie at an address: addresses in their files are those in the
// process. Other code lies above.
const positioned = 1 << 32

func (r *reader) module(id uint64, path string, build []byte, base uint64) int32 {
	m, ok := r.modules[id]
	if !ok {
		m = r.t.Module(path, build, base)
		r.modules[id] = m
	}
	return m
}

// notes says what is not exact.
func (r *reader) notes() {
	if r.period > 1 && r.text(r.unit.name) == "space" {
		r.t.Note(fmt.Sprintf("Sampled, one allocation in about %d bytes: numbers are estimates.", r.period))
	}
	if !r.told["peak_space"] {
		r.t.Note("The peak is unknown: live bytes at the end are shown instead.")
	}
	if !r.told["alloc_space"] {
		r.t.Note("Only live memory is known, not what was allocated and freed.")
	}
	if r.threads {
		r.t.Note("Deallocations count for the threads that allocated, since it is unknown which threads freed.")
	}
	if r.shrinking {
		r.t.Note("Of some call stacks more is live than was allocated there: that much is taken for allocated.")
	}
}
