package heaptrack

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// head takes in the versions.
func (r *reader) head(text string) error {
	n, err := hexNumbers(text)
	switch {
	case err != nil:
		return err
	case len(n) != 2 || r.version != 0:
		return errors.New("versions of heaptrack and of its form are expected, once")
	case n[1] < 1 || n[1] > 3:
		return fmt.Errorf("version %d of heaptrack's form; 1 to 3 are known", n[1])
	}
	r.version = n[1]
	return nil
}

// create begins the recording.
func (r *reader) create(command, path, recorder string) (err error) {
	if r.version == 0 || r.w != nil {
		return errors.New("what was run (X) is expected once, after the version (v)")
	}
	p := event.Process{Args: strings.Fields(command), Recorder: recorder}
	if len(p.Args) > 0 {
		p.Exe = p.Args[0]
	}
	if r.w, err = recording.Create(path, p, recording.Options{}); err != nil {
		return err
	}
	r.modules, r.frames = make(map[string]*event.Module), make(map[uint32][]event.Frame)
	r.w.Thread(0, event.Thread{})
	return nil
}

// name takes in a name.
func (r *reader) name(text string) error {
	if r.version == 3 {
		size, name, _ := strings.Cut(text, " ")
		n, err := hexNumbers(size)
		if err != nil || len(n) != 1 || n[0] != uint64(len(name)) {
			return fmt.Errorf("a name of %.20q bytes has %d", size, len(name))
		}
		text = name
	}
	r.strings = append(r.strings, text)
	return nil
}

// text returns a name by its number; 0 is none.
func (r *reader) text(n uint64) (string, error) {
	switch {
	case n == 0:
		return "", nil
	case n > uint64(len(r.strings)):
		return "", fmt.Errorf("name %x of %x", n, len(r.strings))
	}
	return r.strings[n-1], nil
}

// address takes in an address: its module, and function, file and line of each frame, the innermost first.
func (r *reader) address(n []uint64) error {
	if r.pcs >= math.MaxUint32-1 {
		return errors.New("too many addresses")
	}
	path, err := r.text(n[1])
	if err != nil {
		return err
	}
	var frames []event.Frame
	if len(n) == 3 { // a function whose file is not known
		n = append(n, 0, 0)
	}
	for f := n[2:]; len(f) > 0; f = f[3:] {
		if len(f) < 3 {
			return errors.New("a frame needs function, file and line")
		}
		function, err := r.text(f[0])
		file, err2 := r.text(f[1])
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		frames = append(frames, event.Frame{Function: function, File: file, Line: uint32(min(f[2], math.MaxUint32)), Inlined: len(f) > 3})
	}
	r.pcs++
	id := uint32(r.pcs)
	r.w.PC(id, event.PC{Addr: n[0], Module: r.module(path, n[0])})
	if frames != nil {
		r.frames[id] = frames
	}
	return nil
}

// module returns the id of a file, and notes that it has code at an address. Where a file begins and ends is not told: it is taken to
// be where its addresses are.
func (r *reader) module(path string, address uint64) uint32 {
	if path == "" {
		return 0
	}
	m := r.modules[path]
	if m == nil {
		m = &event.Module{ID: uint32(len(r.modules) + 1), Path: path, Start: address, Unload: -1}
		r.modules[path] = m
	}
	if address < m.Start || address >= m.End {
		m.Start, m.End = min(m.Start, address), max(m.End, address+1)
		r.w.Module(*m) // what is told later replaces what was told before
	}
	return m.ID
}

// stack takes in a call stack.
func (r *reader) stack(address, parent uint64) error {
	switch {
	case address < 1 || address > r.pcs:
		return fmt.Errorf("address %x of %x", address, r.pcs)
	case parent > r.stacks:
		return fmt.Errorf("caller's stack %x of %x", parent, r.stacks)
	case r.stacks >= math.MaxUint32-1:
		return errors.New("too many call stacks")
	}
	r.stacks++
	r.w.Node(uint32(r.stacks), event.Node{Parent: uint32(parent), PC: uint32(address)})
	return nil
}
