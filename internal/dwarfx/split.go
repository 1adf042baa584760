package dwarfx

import (
	"errors"
	"fmt"
	"sync"
)

// splitErrors collects the errors of split units that could not be read.
type splitErrors struct {
	mu    sync.Mutex
	units int
	first error
}

func (s *splitErrors) add(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.units++; s.first == nil {
		s.first = err
	}
}

// error returns them as one error; nil if there are none.
func (s *splitErrors) error() error {
	switch s.units {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("the functions of a file are described in a separate one, so that inlined calls are "+
			"missing: %w", s.first)
	}
	return fmt.Errorf("the functions of %d files are described in separate ones, so that inlined calls are missing: %w",
		s.units, s.first)
}

var (
	errNotOpened = errors.New("separate files are not searched for")
	errNoUnit    = errors.New("it has no such unit: it belongs to another build")
)

// follow returns a worker on the unit that was split off u, as its last one, or nil. What it reads is valid until done
// is called.
func (w *worker) follow(u *unit) (s *worker, done func()) {
	d := w.data
	if d.open == nil {
		w.run.split.add(errNotOpened)
		return nil, func() {}
	}
	sections, done, err := d.open(string(u.dwo), string(u.compDir), u.id)
	if err != nil {
		w.run.split.add(err)
		return nil, func() {}
	}
	defer func() {
		if s == nil { // also after a panic
			done()
			done = func() {}
		}
	}()
	// Addresses, and range lists before DWARF 5, stay in the program.
	sections.Addr, sections.Ranges = d.s.Addr, d.s.Ranges
	on := newWorker(&Data{s: sections, code: d.code, workers: 1, release: d.release}, w.run)
	on.fuel = w.fuel / 2 // the unused part is given back, else each unit would cost a batch
	w.fuel -= on.fuel
	closeFile := done
	done = func() {
		w.fuel += on.fuel
		closeFile()
	}
	if on.last = on.splitUnit(u); on.last == nil {
		w.run.split.add(fmt.Errorf("%s: %w", u.dwo, errNoUnit))
		return nil, done
	}
	w.run.fuel.Add(16 * (int64(on.last.end-on.last.off) + int64(len(sections.Abbrev))))
	return on, done
}

// splitUnit finds the unit that was split off a skeleton, and adds what only the skeleton says; nil if it does not
// exist.
func (w *worker) splitUnit(skeleton *unit) *unit {
	w.data.index()
	for _, off := range w.data.units {
		w.burn(1)
		if h, ok, _ := w.data.parseHeader(off); !ok || h.version >= 5 && (h.kind != unitSplit || h.id != skeleton.id) {
			continue
		}
		u, ok := w.load(off)
		if !ok || u.id != skeleton.id {
			continue
		}
		u.addrBase, u.oldBase, u.low = skeleton.addrBase, skeleton.dwoBase, skeleton.low
		return u
	}
	return nil
}
