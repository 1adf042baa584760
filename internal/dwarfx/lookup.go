package dwarfx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
)

// Sections are the contents of the sections of the same names; nil if absent.
type Sections struct {
	Info, Abbrev, Line, LineStr, Str, StrOffsets, Addr, Ranges, Rnglists []byte
}

// Span is a range of addresses, end excluded.
type Span struct{ Start, End uint64 }

// Options configure New.
type Options struct {
	// Code lists the address ranges of code. Debug information outside of them is of dropped functions.
	Code []Span
	// Alt is the supplementary file to which dwz moved shared entries and strings.
	Alt *Data
	// Workers is how many units are read at the same time; 0 means 1.
	Workers int
	// Split opens the debug information that the compiler split off a unit: in a file of its own, or in a package of
	// many. The unit has the name of that file, the directory to which the name is relative (both as they were at
	// compile time), and the id of the unit there. The sections from a package are those of the one unit, except for
	// Str. They are used until done is called. Several workers may call Split at once. Nil: split units are not
	// followed.
	Split func(name, dir string, id uint64) (s Sections, done func(), err error)
	// Release is called now and then: pages of the sections read so far are not needed soon. May be nil.
	Release func()
}

// Data is the debug information of one file.
type Data struct {
	s       Sections
	alt     *Data
	code    []Span
	workers int
	release func()
	open    func(name, dir string, id uint64) (Sections, func(), error)
	grant   int64 // steps that a lookup may take beyond those that the sections' size and the addresses explain

	once  sync.Once
	units []uint64 // offset of each unit's header, ascending
}

// Frame is a function at an address: the one that contains the address, or one that was inlined there.
type Frame struct {
	Name    string // DW_AT_name; without Linkage in a language with scopes: preceded by its scopes
	Linkage string // the mangled name, if there is one
	Scoped  bool   // the language has scopes and signatures (C++, Rust), so the symbol table may have a better name
	File    string
	Line    uint32
	Inlined bool // into the next frame

	entry uint64 // of the name, if it is in the same unit
}

// New prepares lookups. Nothing is read yet.
func New(s Sections, o Options) *Data {
	code := slices.Clone(o.Code)
	slices.SortFunc(code, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	if o.Release == nil {
		o.Release = func() {}
	}
	return &Data{s: s, alt: o.Alt, code: code, workers: max(o.Workers, 1), release: o.Release, open: o.Split,
		grant: 4 << 20}
}

// index finds the units.
func (d *Data) index() {
	d.once.Do(func() {
		for off := uint64(0); off < uint64(len(d.s.Info)); {
			_, ok, next := d.parseHeader(off)
			if ok {
				d.units = append(d.units, off)
			}
			if next <= off {
				return
			}
			off = next
		}
	})
}

// run is the state that the workers of one lookup share.
type run struct {
	ctx     context.Context
	fuel    atomic.Int64 // steps left
	frames  atomic.Int64 // inlined frames left
	work    atomic.Int64 // bytes of units read since the last release
	mu      sync.Mutex
	strings map[string]string
	bytes   int // bytes of strings that may still be kept
	errs    []error
	split   splitErrors
}

// worker reads units. It is used by one goroutine.
type worker struct {
	data   *Data
	alt    *worker
	run    *run
	fuel   int // steps taken from run's fuel and not yet used
	tables map[abbrevKey]*abbrevs
	names  map[uint64]function
	last   *unit
}

func newWorker(d *Data, c *run) *worker {
	w := &worker{data: d, run: c, tables: map[abbrevKey]*abbrevs{}, names: map[uint64]function{}}
	if d.alt != nil {
		w.alt = newWorker(d.alt, c)
	}
	return w
}

var errTooMuch = errors.New("it takes far more steps to read than its size explains; it is damaged or forged")

// burn counts steps. It ends the work, by a panic that guard catches, after too many steps or if the caller cancels.
func (w *worker) burn(n int) {
	if w.fuel -= n; w.fuel >= 0 {
		return
	}
	const batch = 1 << 16
	if err := w.run.ctx.Err(); err != nil {
		panic(err)
	}
	need := int64(batch - w.fuel)
	if w.run.fuel.Add(-need) < 0 {
		panic(errTooMuch)
	}
	w.fuel = batch
}

// guard runs f. It stores a panic, or a fault because a mapped file has shrunk, as an error.
func (w *worker) guard(what string, f func()) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		if r := recover(); r != nil {
			err, ok := r.(error)
			if !ok {
				err = fmt.Errorf("%v", r)
			}
			w.run.fail(fmt.Errorf("%s: %w", what, err))
		}
	}()
	f()
}

func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.errs) < 4 { // more would only repeat them
		r.errs = append(r.errs, err)
	}
}

// over reports whether the whole lookup has ended early.
func (r *run) over() bool { return r.ctx.Err() != nil || r.fuel.Load() < 0 }

// size returns the number of bytes of all sections.
func (d *Data) size() int64 {
	n := 0
	for _, s := range [][]byte{d.s.Info, d.s.Abbrev, d.s.Line, d.s.LineStr, d.s.Str, d.s.StrOffsets, d.s.Addr,
		d.s.Ranges, d.s.Rnglists} {
		n += len(s)
	}
	return int64(n)
}

// Lookup returns for every address, which must be in ascending order, its frames, leaf to root; none if nothing is
// known. An address whose line is known but not its function has one frame without a name. An error says what could not
// be read; the result holds everything else.
func (d *Data) Lookup(ctx context.Context, addrs []uint64) ([][]Frame, error) {
	c := &run{ctx: ctx, strings: map[string]string{}, bytes: 128 << 20}
	n := int64(len(addrs))
	c.frames.Store(24*n + 1<<16)
	size := d.size()
	if d.alt != nil {
		size += d.alt.size()
	}
	c.fuel.Store(16*size + 1024*n + d.grant)
	result := make([][]Frame, len(addrs))
	claims := d.claims(c, addrs)
	for round := 0; round < maxClaims && !c.over(); round++ {
		d.round(c, claims.units(addrs, result, round), result)
	}
	if !c.over() && len(claims.unknown) > 0 {
		d.unranged(c, claims.unknown, addrs, result)
	}
	if err := c.split.error(); err != nil {
		c.fail(err)
	}
	return result, errors.Join(c.errs...)
}

// task is one unit and the addresses to look up in it.
type task struct {
	unit uint64
	hits []hit
}

// round reads units, several at the same time.
func (d *Data) round(c *run, tasks []task, result [][]Frame) {
	queue := make(chan task)
	var wg sync.WaitGroup
	for range min(d.workers, len(tasks)) {
		wg.Go(func() {
			w := newWorker(d, c)
			for t := range queue {
				if !c.over() {
					w.guard(fmt.Sprintf("unit at offset %#x of .debug_info", t.unit), func() { w.do(t, result) })
				}
			}
		})
	}
	for _, t := range tasks {
		queue <- t
	}
	close(queue)
	wg.Wait()
}

// do looks up the hits of one unit.
func (w *worker) do(t task, result [][]Frame) {
	u, ok := w.load(t.unit)
	if !ok {
		return
	}
	w.last = u
	clear(w.names)
	on, entries := w, u // on: the worker that reads the functions' entries
	if len(u.dwo) > 0 {
		s, done := w.follow(u)
		defer done()
		if s != nil {
			on, entries = s, s.last
		}
	}
	var l *lines
	if u.hasLines {
		if l, ok = w.parseLines(u); ok {
			w.runLines(l, t.hits)
		}
	}
	on.walk(entries, t.hits, true)
	if slices.ContainsFunc(t.hits, func(h hit) bool { return !h.hasFunc }) {
		for i := range t.hits {
			t.hits[i].hasFunc = false
		}
		on.walk(entries, t.hits, false)
	}
	var all []*Frame
	for i := range t.hits {
		list := w.frames(l, &t.hits[i], on)
		for k := range list {
			all = append(all, &list[k])
		}
		result[t.hits[i].index] = list
	}
	on.qualify(entries, all)
	const often = 64 << 20
	if w.run.work.Add(int64(u.end-u.off)+int64(entries.end-entries.off)) > often {
		w.run.work.Store(0)
		w.data.release()
	}
}

// frames builds the frames of one hit, leaf to root: each function, read by on, with the location of the address or of
// the call that was inlined in it.
func (w *worker) frames(l *lines, h *hit, on *worker) []Frame {
	if !h.hasFunc && !h.hasLine {
		return nil
	}
	list := make([]Frame, 0, len(h.chain)+1)
	var file string
	if h.hasLine {
		file = w.file(l, h.file)
	}
	line := h.line
	for i := len(h.chain) - 1; i >= 0; i-- {
		call := &h.chain[i]
		f := on.nameOf(call.entry)
		list = append(list, Frame{f.name, f.linkage, f.scoped, file, line, true, f.entry})
		file, line = w.file(l, call.file), call.line
	}
	outer := Frame{File: file, Line: line}
	if h.hasFunc {
		f := on.nameOf(h.fn)
		outer.Name, outer.Linkage, outer.Scoped, outer.entry = f.name, f.linkage, f.scoped, f.entry
	}
	return append(list, outer)
}
