package heaptrack

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// tables are what the events refer to, by number.
type tables struct {
	names   []string
	modules map[string]*event.Module // by path
	grown   map[*event.Module]bool   // modules that have changed since they were written
	frames  []frame                  // of all addresses
	ends    []uint32                 // by address: index after its last frame
	stacks  uint64
	infos   []info
}

// frame is a function at an address. Names are numbers; 0 is none.
type frame struct{ function, file, line uint32 }

// info is a size at a call stack.
type info struct {
	size     uint64
	stack    uint32
	youngest uint32 // of its live blocks
}

const (
	// maxEntries limits the names, addresses, call stacks, and sizes at call stacks of a file, however short it is.
	maxEntries = 1 << 20
	// maxModules limits the mapped files: Linux allows a process 65,530 mappings by default.
	maxModules = 1 << 17
	// maxInlined limits the functions inlined at one address.
	maxInlined = 1 << 16
)

// proportionate checks that the tables are in proportion to the file: most of a real file are events.
func (r *reader) proportionate() error {
	n := len(r.names) + len(r.infos) + len(r.ends) + len(r.frames)/4 + int(r.stacks)
	if n > maxEntries+r.bytes/24 {
		return fmt.Errorf("%d names, addresses and call stacks in %d bytes: no file of heaptrack has that many",
			n, r.bytes)
	}
	return nil
}

// head takes the line of versions.
func (r *reader) head(text []byte) error {
	n, err := hexNumbers(nil, text)
	switch {
	case err != nil:
		return err
	case len(n) != 2 || r.version != 0:
		return errors.New("expected one line with the versions of heaptrack and of its format")
	case n[1] < 1 || n[1] > 3:
		return fmt.Errorf("version %d of heaptrack's format is unknown; 1 to 3 are known", n[1])
	}
	r.version = n[1]
	return nil
}

// create begins the recording.
func (r *reader) create(command string) (err error) {
	if r.version == 0 || r.w != nil {
		return errors.New("expected one command line (X), after the version (v)")
	}
	p := event.Process{Args: strings.Fields(command), Recorder: r.recorder}
	if len(p.Args) > 0 {
		p.Exe = p.Args[0]
	}
	if r.w, err = recording.Create(r.path, p, recording.Options{}); err != nil {
		return err
	}
	r.modules, r.grown = make(map[string]*event.Module), make(map[*event.Module]bool)
	r.w.Thread(0, event.Thread{})
	return nil
}

// name takes a name.
func (r *reader) name(text []byte) error {
	if r.version == 3 {
		size, name, _ := bytes.Cut(text, []byte(" "))
		n, err := hexNumbers(nil, size)
		if err != nil || len(n) != 1 || n[0] != uint64(len(name)) {
			return fmt.Errorf("a name of %.20q bytes has %d", size, len(name))
		}
		text = name
	}
	r.names = append(r.names, string(text))
	return r.proportionate()
}

// text returns a name by its number; 0 is none.
func (r *reader) text(n uint64) string {
	if n == 0 {
		return ""
	}
	return r.names[n-1]
}

// known checks that a number is a name's.
func (r *reader) known(n uint64) error {
	if n > uint64(len(r.names)) {
		return fmt.Errorf("name %x of %x", n, len(r.names))
	}
	return nil
}

// define takes an entry of a table.
func (r *reader) define(of byte, n []uint64) error {
	var err error
	switch of {
	case 'i':
		err = r.address(n)
	case 't':
		err = r.stack(n[0], n[1])
	case 'a':
		if n[1] > r.stacks {
			return fmt.Errorf("call stack %x of %x", n[1], r.stacks)
		}
		r.infos = append(r.infos, info{size: n[0], stack: uint32(n[1])})
	}
	if err != nil {
		return err
	}
	return r.proportionate()
}

// info returns a size and call stack by its number.
func (r *reader) info(n uint64) (*info, error) {
	if n >= uint64(len(r.infos)) {
		return nil, fmt.Errorf("allocation %x of %x", n, len(r.infos))
	}
	return &r.infos[n], nil
}

// address takes an address: its module, and function, file and line of each frame, the innermost first.
func (r *reader) address(n []uint64) error {
	if err := r.known(n[1]); err != nil {
		return err
	}
	place := n[:2]
	if n = n[2:]; len(n) == 1 { // a function without a file
		n = append(n, 0, 0)
	}
	switch {
	case len(n) > 3*maxInlined:
		return fmt.Errorf("more than %d functions at one address", maxInlined)
	case len(r.frames) > math.MaxUint32-maxInlined || len(r.ends) >= math.MaxUint32-1:
		return errors.New("too many addresses")
	}
	for ; len(n) > 0; n = n[3:] {
		if len(n) < 3 {
			return errors.New("a frame needs function, file and line")
		}
		if err := errors.Join(r.known(n[0]), r.known(n[1])); err != nil {
			return err
		}
		r.frames = append(r.frames, frame{uint32(n[0]), uint32(n[1]), uint32(min(n[2], math.MaxUint32))})
	}
	module, err := r.module(r.text(place[1]), place[0])
	if err != nil {
		return err
	}
	r.ends = append(r.ends, uint32(len(r.frames)))
	r.w.PC(uint32(len(r.ends)), event.PC{Addr: place[0], Module: module})
	return nil
}

// module returns the id of a file, and extends it to an address. Where files begin and end is unknown: they span their
// addresses.
func (r *reader) module(path string, address uint64) (uint32, error) {
	if path == "" {
		return 0, nil
	}
	m := r.modules[path]
	switch {
	case m == nil && len(r.modules) == maxModules:
		return 0, fmt.Errorf("more than %d modules", maxModules)
	case m == nil:
		m = &event.Module{ID: uint32(len(r.modules) + 1), Path: path, Start: address, End: address + 1, Unload: -1}
		r.modules[path] = m
		r.w.Module(*m)
	case address < m.Start || address >= m.End:
		m.Start, m.End = min(m.Start, address), max(m.End, address+1)
		r.grown[m] = true
	}
	return m.ID, nil
}

// stack takes a call stack.
func (r *reader) stack(address, parent uint64) error {
	switch {
	case address < 1 || address > uint64(len(r.ends)):
		return fmt.Errorf("address %x of %x", address, len(r.ends))
	case parent > r.stacks:
		return fmt.Errorf("caller's stack %x of %x", parent, r.stacks)
	case r.stacks >= math.MaxUint32-1:
		return errors.New("too many call stacks")
	}
	r.stacks++
	r.w.Node(uint32(r.stacks), event.Node{Parent: uint32(parent), PC: uint32(address)})
	return nil
}

// finish ends the recording. How the process ended is unknown.
func (r *reader) finish() error {
	if r.rss.most > 0 {
		r.rss.write(r.w, r.now)
	}
	for _, m := range slices.SortedFunc(maps.Keys(r.grown),
		func(a, b *event.Module) int { return int(a.ID) - int(b.ID) }) {
		r.w.Module(*m) // replaces what was written before
	}
	return errors.Join(r.symbols(), r.w.Finish(recording.Ending{End: r.now, Status: "end unknown in heaptrack"}))
}

// Limits on what symbols writes at once: a table's block of addresses, unless these have too many frames.
const (
	symbolPCs    = 1 << 16
	symbolFrames = 1 << 20
)

// symbols writes the functions, some at a time: the recording's form takes many times the memory of frames.
func (r *reader) symbols() error {
	list := make(map[uint32][]event.Frame)
	count, begin := 0, uint32(0)
	for i, end := range r.ends {
		if all := r.frames[begin:end]; len(all) > 0 {
			out := make([]event.Frame, len(all))
			for k, f := range all {
				out[k] = event.Frame{Function: r.text(uint64(f.function)), File: r.text(uint64(f.file)), Line: f.line,
					Inlined: k+1 < len(all)}
			}
			list[uint32(i+1)] = out
			count += len(out)
		}
		begin = end
		if len(list) == symbolPCs || count >= symbolFrames || i+1 == len(r.ends) && len(list) > 0 {
			if err := r.w.Symbols(list); err != nil {
				return err
			}
			clear(list)
			count = 0
		}
	}
	return nil
}
