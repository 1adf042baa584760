package query

import (
	"maps"
	"slices"
)

const (
	groupPages = HugePageSize / PageSize
	mostGroups = 1 << 18 // 1.1 KiB each

	// Blocks of at least so many bytes are usually mappings of their own, which allocators return to the system.
	ownMapping = 128 << 10
	mostAddr   = 1 << 57
)

// pageMap knows on which pages blocks are. Of a large block, only the pages at its ends are looked at, and those
// between are counted: no other block is on them.
type pageMap struct {
	groups    map[uint64]*pageGroup // by the number of the huge page
	last      *pageGroup            // the one used last, if it exists
	at        uint64                // its number
	inUse     uint64                // pages
	hugeInUse uint64
}

// pageGroup are the pages of a huge page.
type pageGroup struct {
	blocks [groupPages]uint16
	used   [groupPages / 64]uint64 // pages on which blocks were once
	users  uint32                  // pages in use, and large blocks that have pages here
}

// fits reports whether a block can be where an event says.
func fits(addr, size uint64) bool { return size < mostAddr && addr < mostAddr && addr > 0 }

// change notes that a block begins or ends. It returns false if blocks are on too many pages.
func (m *pageMap) change(addr, size uint64, begins bool) bool {
	size = max(size, 1)
	if !fits(addr, size) {
		return true
	}
	first, last := addr/PageSize, (addr+size-1)/PageSize
	if size < ownMapping {
		for p := first; p <= last; p++ {
			if !m.page(p, begins) {
				return false
			}
		}
		return true
	}
	ok := m.page(first, begins) && m.page(last, begins)
	m.inUse = step(m.inUse, last-first-1, begins)
	from, to := (first+1)/groupPages, (last-1)/groupPages
	ok = ok && m.user(from, begins)
	if from < to {
		ok = ok && m.user(to, begins)
		m.hugeInUse = step(m.hugeInUse, to-from-1, begins)
	}
	return ok
}

func step(n, by uint64, up bool) uint64 {
	if up {
		return n + by
	}
	return n - min(by, n)
}

// page notes that a block on a page begins or ends.
func (m *pageMap) page(p uint64, begins bool) bool {
	g := m.group(p / groupPages)
	if g == nil {
		return false
	}
	n := &g.blocks[p%groupPages]
	g.used[p%groupPages/64] |= 1 << (p % 64)
	switch {
	case begins && *n < 1<<16-1:
		if *n++; *n == 1 {
			m.inUse++
			return m.user(p/groupPages, true)
		}
	case !begins && *n > 0:
		if *n--; *n == 0 {
			m.inUse--
			return m.user(p/groupPages, false)
		}
	}
	return true
}

// user notes that something in a huge page begins or ends.
func (m *pageMap) user(number uint64, begins bool) bool {
	g := m.group(number)
	switch {
	case g == nil:
		return false
	case begins:
		if g.users++; g.users == 1 {
			m.hugeInUse++
		}
	case g.users > 0:
		if g.users--; g.users == 0 {
			m.hugeInUse--
		}
	}
	return true
}

// group returns a group, which it makes if needed; nil: there are too many.
func (m *pageMap) group(n uint64) *pageGroup {
	if m.last != nil && m.at == n {
		return m.last
	}
	g := m.groups[n]
	if g == nil {
		if len(m.groups) >= mostGroups {
			return nil
		}
		if m.groups == nil {
			m.groups = make(map[uint64]*pageGroup)
		}
		g = new(pageGroup)
		m.groups[n] = g
	}
	m.last, m.at = g, n
	return g
}

// addressRun are addresses from one page to the end of another.
type addressRun struct{ from, to uint64 }

// runs returns the pages on which blocks were once, the lowest address first.
func (m *pageMap) runs() (list []addressRun) {
	for _, n := range slices.Sorted(maps.Keys(m.groups)) {
		g := m.groups[n]
		for i := range uint64(groupPages) {
			if g.used[i/64]&(1<<(i%64)) == 0 {
				continue
			}
			at := (n*groupPages + i) * PageSize
			if k := len(list); k > 0 && list[k-1].to == at {
				list[k-1].to += PageSize
			} else {
				list = append(list, addressRun{at, at + PageSize})
			}
		}
	}
	return list
}
