package dwarfx

// attr is one attribute of an abbreviation.
type attr struct {
	name     uint16
	form     uint16
	implicit int64 // the value, for formImplicitConst
}

// abbrev is the shape of entries: a tag and a list of attributes.
type abbrev struct {
	tag      uint16
	children bool
	defined  bool
	fixed    int32 // size of all values, -1 if it varies
	first, n int32 // attributes: table.attrs[first : first+n]
}

// abbrevs is one abbreviation table. Producers number abbreviations from 1, so a slice holds nearly all of them.
type abbrevs struct {
	attrs  []attr
	dense  []abbrev
	sparse map[uint64]abbrev
}

func (t *abbrevs) get(code uint64) *abbrev {
	if code < uint64(len(t.dense)) {
		if a := &t.dense[code]; a.defined {
			return a
		}
		return nil
	}
	if a, ok := t.sparse[code]; ok {
		return &a
	}
	return nil
}

func (t *abbrevs) of(a *abbrev) []attr { return t.attrs[a.first : a.first+a.n] }

// parseAbbrevs reads the table at an offset of .debug_abbrev. If only is not 0 it stops as soon as it has that code.
func (w *worker) parseAbbrevs(h *header, only uint64) *abbrevs {
	r := at(w.data.s.Abbrev, h.abbrev)
	t := &abbrevs{}
	for {
		code := r.uleb()
		if code == 0 || r.bad {
			return t
		}
		w.burn(1)
		wanted := only == 0 || code == only
		a := abbrev{tag: uint16(min(r.uleb(), 0xffff)), first: int32(len(t.attrs)), defined: true}
		a.children = r.u8() != 0
		for {
			name, form := r.uleb(), r.uleb()
			if r.bad {
				return t
			}
			if name == 0 && form == 0 {
				break
			}
			w.burn(1)
			at := attr{name: uint16(min(name, 0xffff)), form: uint16(min(form, 0xffff))}
			if form == formImplicitConst {
				at.implicit = r.sleb()
			}
			if !wanted {
				continue
			}
			if size := h.formSize(at.form); size < 0 || a.fixed < 0 || a.fixed > 1<<20 {
				a.fixed = -1
			} else {
				a.fixed += int32(size)
			}
			t.attrs = append(t.attrs, at)
			a.n++
		}
		if !wanted {
			continue
		}
		switch {
		case code == uint64(len(t.dense)):
			t.dense = append(t.dense, a)
		case code == uint64(len(t.dense))+1: // codes begin with 1
			t.dense = append(t.dense, abbrev{}, a)
		default:
			if t.sparse == nil {
				t.sparse = map[uint64]abbrev{}
			}
			if _, ok := t.sparse[code]; !ok {
				t.sparse[code] = a
			}
		}
		if only != 0 {
			return t
		}
	}
}

// abbrevKey identifies a parsed table.
type abbrevKey struct {
	off     uint64
	version uint16
	addr    uint8
	is64    bool
}

// abbrevs returns the whole table of a unit. Neighbouring units often share one, so a worker caches a few.
func (w *worker) abbrevs(h *header) *abbrevs {
	key := abbrevKey{h.abbrev, h.version, h.addrSize, h.is64}
	if t := w.tables[key]; t != nil {
		return t
	}
	if len(w.tables) >= 16 {
		clear(w.tables)
	}
	t := w.parseAbbrevs(h, 0)
	w.tables[key] = t
	return t
}
