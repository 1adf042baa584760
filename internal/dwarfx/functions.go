package dwarfx

import (
	"context"
	"errors"
	"fmt"
)

const (
	atInline      = 0x20
	atDeclaration = 0x3c
)

// Functions calls visit with the name and the linkage name of every function that has code, of its own or inlined, and
// with the source file of every unit, until visit returns false. Names may repeat. An error says what could not be
// read.
func (d *Data) Functions(ctx context.Context, visit func(name, linkage, file string) bool) error {
	c := &run{ctx: ctx, strings: map[string]string{}, bytes: maxNames}
	size := d.size()
	if d.alt != nil {
		size += d.alt.size()
	}
	c.fuel.Store(64*size + d.grant)
	w := newWorker(d, c)
	w.guard("listing the units of .debug_info", d.index)
	on := true
	for _, off := range d.units {
		if !on || c.over() {
			break
		}
		w.guard(fmt.Sprintf("unit at offset %#x of .debug_info", off), func() { on = w.functions(off, visit) })
		clear(c.strings)
		c.bytes = maxNames
		d.release()
	}
	if err := c.split.error(); err != nil {
		c.fail(err)
	}
	return errors.Join(c.errs...)
}

// maxNames limits the names of a unit's functions that are kept while the unit is read, in bytes.
const maxNames = 64 << 20

// functions visits the functions of a unit. It returns whether to go on.
func (w *worker) functions(off uint64, visit func(name, linkage, file string) bool) bool {
	u, ok := w.load(off)
	if !ok {
		return true
	}
	w.last = u
	clear(w.names)
	on, entries := w, u
	if len(u.dwo) > 0 {
		s, done := w.follow(u)
		defer done()
		if s != nil {
			on, entries = s, s.last
		}
	}
	if u.hasLines {
		if l, ok := w.parseLines(u); ok {
			first := uint64(1)
			if l.h.version >= 5 {
				first = 0
			}
			if !visit("", "", w.file(l, first)) {
				return false
			}
		}
	}
	return on.eachFunction(entries, visit)
}

func (w *worker) eachFunction(u *unit, visit func(name, linkage, file string) bool) bool {
	r := buf{b: w.data.s.Info[:u.end], off: int(u.die)}
	for depth := 0; !r.bad; {
		start := uint64(r.off)
		code := r.uleb()
		w.burn(1)
		if code == 0 {
			if depth--; depth <= 0 {
				break
			}
			continue
		}
		a := u.table.get(code)
		if a == nil {
			break
		}
		// What dwz moved to another file is only named by the calls that are inlined here.
		if a.tag == tagSubprogram || a.tag == tagInlinedSubroutine && w.alt != nil {
			if w.hasCode(u, &r, a) {
				if f := w.nameOf(start); f.name+f.linkage != "" && !visit(f.name, f.linkage, "") {
					return false
				}
			}
		} else {
			w.skipEntry(u, &r, a)
		}
		if a.children {
			depth++
		} else if depth == 0 {
			break
		}
	}
	return true
}

// hasCode reads the entry of a function, and reports whether it has code or was inlined somewhere.
func (w *worker) hasCode(u *unit, r *buf, a *abbrev) (has bool) {
	declared := false
	attrs := u.table.of(a)
	for i := range attrs {
		v, _ := u.value(r, &attrs[i])
		switch attrs[i].name {
		case atLowPC, atRanges:
			has = true
		case atInline:
			has = has || v == 1 || v == 3
		case atDeclaration:
			declared = true
		}
	}
	return has && !declared
}
