package dwarfx

// function is what a function's entries say about its name.
type function struct {
	name    string
	linkage string
	scoped  bool
	entry   uint64 // entry with the name, 0 if it is in another file
}

// nameOf reads the name of the function whose entry is at an offset: its own, or that of the entries to which it refers
// as its origin or declaration, nearest first.
func (w *worker) nameOf(off uint64) function {
	if f, ok := w.names[off]; ok {
		return f
	}
	var f function
	var name, linkage []byte
	at, on := off, w
	for range 8 {
		u, ok := on.unitAt(at)
		if !ok {
			break
		}
		r := buf{b: on.data.s.Info[:u.end], off: int(at)}
		a := u.table.get(r.uleb())
		if a == nil || r.bad {
			break
		}
		var next uint64
		var more, alt bool
		attrs := u.table.of(a)
		w.burn(1 + len(attrs))
		for i := range attrs {
			v, form := u.value(&r, &attrs[i])
			if r.bad {
				break
			}
			switch attrs[i].name {
			case atName:
				if name == nil {
					name = on.data.str(u, form, v)
					if f.entry = at; on != w {
						f.entry = 0
					}
				}
			case atLinkageName, atMIPSLinkageName:
				if linkage == nil {
					linkage = on.data.str(u, form, v)
				}
			case atAbstractOrigin, atSpecification:
				if n, isAlt, ok := u.ref(form, v); ok {
					next, alt, more = n, isAlt, true
				}
			}
		}
		f.scoped = f.scoped || scoped(u.language)
		if !more || name != nil && linkage != nil || alt && on.alt == nil {
			break
		}
		if alt {
			on = on.alt
		}
		at = next
	}
	f.name, f.linkage = w.intern(name), w.intern(linkage)
	if len(w.names) >= 1<<16 {
		clear(w.names)
	}
	w.names[off] = f
	return f
}

// unitAt returns the unit that contains an entry.
func (w *worker) unitAt(off uint64) (*unit, bool) {
	if u := w.last; u != nil && off >= u.die && off < u.end {
		return u, true
	}
	start, ok := w.data.unitOf(off)
	if !ok {
		return nil, false
	}
	u, ok := w.load(start)
	if !ok || off < u.die || off >= u.end {
		return nil, false
	}
	w.last = u
	return u, true
}

// scoped reports whether a language qualifies functions' names with namespaces, types or modules, so that DW_AT_name is
// only a part.
func scoped(language uint64) bool {
	switch language {
	case 0x04, 0x19, 0x1a, 0x21, 0x2a, 0x2b, 0x3a, // C++
		0x07, 0x08, 0x0e, 0x22, 0x23, 0x2d, // Fortran
		0x11, 0x13, 0x1c, 0x1e, 0x27: // Objective-C++, D, Rust, Swift, Zig
		return true
	}
	return false
}

// intern returns b as a string, each string once per lookup. Names beyond the limit on their total size are dropped.
func (w *worker) intern(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	w.burn(1 + len(b)/16)
	c := w.run
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.strings[string(b)]; ok {
		return s
	}
	if c.bytes -= len(b); c.bytes < 0 {
		return ""
	}
	s := string(b)
	c.strings[s] = s
	return s
}
