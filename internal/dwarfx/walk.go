package dwarfx

import "sort"

// maxChain limits how many functions may be inlined into each other at one address.
const maxChain = 200

// hit is one wanted address within a unit.
type hit struct {
	addr    uint64
	index   int // in the caller's list
	file    uint64
	line    uint32
	hasLine bool
	hasFunc bool
	fn      uint64 // the function's entry
	low     uint64 // the range that contains the address
	high    uint64
	chain   []inlined // outermost first
}

// inlined is one inlined call.
type inlined struct {
	entry uint64
	file  uint64 // of the call
	line  uint32
	depth int
}

// walk goes through the entries of a unit once and stores for every hit its function and what was inlined there. With
// skip it jumps over types, and functions without hits, if they say where they end. That misses functions within
// functions, which some languages have.
func (w *worker) walk(u *unit, hits []hit, skip bool) {
	r := buf{b: w.data.s.Info[:u.end], off: int(u.die)}
	depth, steps := 0, 0
	for !r.bad {
		start := uint64(r.off)
		code := r.uleb()
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
		if steps++; steps == 1<<12 {
			w.burn(steps)
			steps = 0
		}
		var sibling uint64
		switch a.tag {
		case tagSubprogram, tagInlinedSubroutine:
			var covered bool
			sibling, covered = w.function(u, &r, a, start, depth, hits)
			if covered || !skip {
				sibling = 0
			}
		case tagClassType, tagStructureType, tagUnionType, tagEnumerationType:
			if skip && a.children {
				sibling = w.siblingOf(u, &r, a)
				break
			}
			w.skipEntry(u, &r, a)
		default:
			w.skipEntry(u, &r, a)
		}
		if a.children {
			if sibling > uint64(r.off) && sibling <= u.end {
				r.off = int(sibling)
				continue
			}
			depth++
		} else if depth == 0 {
			break
		}
	}
	w.burn(steps)
}

func (w *worker) skipEntry(u *unit, r *buf, a *abbrev) {
	if a.fixed >= 0 {
		r.skip(uint64(a.fixed))
		return
	}
	attrs := u.table.of(a)
	for i := range attrs {
		u.value(r, &attrs[i])
	}
	if len(attrs) > 64 {
		w.burn(len(attrs))
	}
}

func (w *worker) siblingOf(u *unit, r *buf, a *abbrev) uint64 {
	var sibling uint64
	attrs := u.table.of(a)
	for i := range attrs {
		v, form := u.value(r, &attrs[i])
		if attrs[i].name == atSibling {
			if off, alt, ok := u.ref(form, v); ok && !alt {
				sibling = off
			}
		}
	}
	if len(attrs) > 64 {
		w.burn(len(attrs))
	}
	return sibling
}

// function reads the entry of a function or an inlined call and stores it at the hits that it covers.
func (w *worker) function(u *unit, r *buf, a *abbrev, start uint64, depth int, hits []hit) (sibling uint64,
	covered bool) {
	var c coverage
	call := inlined{entry: start, depth: depth}
	attrs := u.table.of(a)
	for i := range attrs {
		v, form := u.value(r, &attrs[i])
		switch attrs[i].name {
		case atSibling:
			if off, alt, ok := u.ref(form, v); ok && !alt {
				sibling = off
			}
		case atCallFile:
			call.file = v
		case atCallLine:
			call.line = uint32(min(v, 1<<32-1))
		case atLowPC, atHighPC, atRanges:
			c.take(attrs[i].name, form, v)
		}
	}
	if len(attrs) > 64 {
		w.burn(len(attrs))
	}
	if r.bad || !c.any() {
		return sibling, false
	}
	w.each(u, &c, func(low, high uint64) {
		i := sort.Search(len(hits), func(i int) bool { return hits[i].addr >= low })
		for ; i < len(hits) && hits[i].addr < high; i++ {
			covered = true
			w.burn(1)
			h := &hits[i]
			if a.tag == tagInlinedSubroutine {
				w.inline(h, call)
			} else if !h.hasFunc || high-low < h.high-h.low {
				h.hasFunc, h.fn, h.low, h.high, h.chain = true, start, low, high, h.chain[:0]
			}
		}
	})
	return sibling, covered
}

// inline adds a call to a hit's chain. Calls come outermost first. One that is not below the last one is a duplicate
// that claims the same address; the first one is used.
func (w *worker) inline(h *hit, call inlined) {
	if !h.hasFunc || len(h.chain) >= maxChain {
		return
	}
	if n := len(h.chain); n > 0 && call.depth <= h.chain[n-1].depth {
		return
	}
	if w.run.frames.Add(-1) >= 0 {
		h.chain = append(h.chain, call)
	}
}
