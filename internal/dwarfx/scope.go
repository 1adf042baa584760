package dwarfx

import (
	"slices"
	"strings"
)

const (
	tagNamespace = 0x39
	tagModule    = 0x1e

	// maxDepth limits how deep entries are nested where scopes are read.
	maxDepth = 256
)

// qualify completes the names of functions that have no linkage name in a language with scopes: sort becomes std::sort.
// Scopes are the entries around a function, and an entry does not refer to its parent; so the unit is walked once more,
// up to the last of these functions.
func (w *worker) qualify(u *unit, frames []*Frame) {
	frames = slices.DeleteFunc(frames, func(f *Frame) bool {
		return !f.Scoped || f.Linkage != "" || f.Name == "" || f.entry < u.die || f.entry >= u.end
	})
	if len(frames) == 0 {
		return
	}
	slices.SortFunc(frames, func(a, b *Frame) int { return int(int64(a.entry) - int64(b.entry)) })
	type scope struct {
		entry uint64
		tag   uint16
		name  []byte
	}
	var around []scope
	r := buf{b: w.data.s.Info[:u.end], off: int(u.die)}
	for len(frames) > 0 && !r.bad {
		start := uint64(r.off)
		for len(frames) > 0 && frames[0].entry == start {
			var b strings.Builder
			for _, s := range around {
				if name := w.scopeName(s.tag, s.entry, s.name, frames[0].Name); name != "" {
					b.WriteString(name)
					b.WriteString("::")
				}
			}
			b.WriteString(frames[0].Name)
			frames[0].Name = w.intern([]byte(b.String()))
			frames = frames[1:]
		}
		for len(frames) > 0 && frames[0].entry < start {
			frames = frames[1:] // no entry begins at that offset
		}
		code := r.uleb()
		if code == 0 {
			if len(around) <= 1 {
				return
			}
			around = around[:len(around)-1]
			continue
		}
		a := u.table.get(code)
		if a == nil || len(frames) == 0 {
			return
		}
		w.burn(1)
		if !a.children {
			w.skipEntry(u, &r, a)
			continue
		}
		s := scope{entry: start, tag: a.tag}
		var sibling uint64
		attrs := u.table.of(a)
		for i := range attrs {
			v, form := u.value(&r, &attrs[i])
			switch attrs[i].name {
			case atSibling:
				if off, alt, ok := u.ref(form, v); ok && !alt {
					sibling = off
				}
			case atName:
				s.name = w.data.str(u, form, v)
			}
		}
		if sibling > uint64(r.off) && sibling <= frames[0].entry {
			r.off = int(sibling)
			continue
		}
		if len(around) >= maxDepth {
			return
		}
		around = append(around, s)
	}
}

// scopeName returns what an entry adds to the name of a function in it, "" if nothing.
func (w *worker) scopeName(tag uint16, entry uint64, name []byte, function string) string {
	switch tag {
	case tagNamespace:
		if len(name) == 0 {
			return "(anonymous namespace)"
		}
	case tagClassType, tagStructureType, tagUnionType, tagEnumerationType:
		if len(name) == 0 && function == "operator()" {
			return "{lambda}"
		} else if len(name) == 0 {
			return "(anonymous class)"
		}
	case tagModule:
	case tagSubprogram:
		return w.nameOf(entry).name
	default:
		return ""
	}
	return string(name)
}
