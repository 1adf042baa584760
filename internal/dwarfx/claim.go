package dwarfx

import (
	"fmt"
	"slices"
)

// maxClaims limits the units in which an address is looked up, one after the other, until one knows it.
const maxClaims = 3

// maxUnranged limits the units without address ranges that are searched.
const maxUnranged = 4096

// claim is a unit that covers an address, and the size of the range that does.
type claim struct {
	unit uint64
	size uint64
}

// claims holds, for each address, the units that cover it, the most credible first.
type claims struct {
	of      [][maxClaims]claim // size 0: none
	unknown []uint64           // units with a line table but without address ranges
}

// claims reads every unit's root entry.
func (d *Data) claims(c *run, addrs []uint64) *claims {
	cl := &claims{of: make([][maxClaims]claim, len(addrs))}
	w := newWorker(d, c)
	w.guard("listing the units of .debug_info", func() {
		d.index()
		for _, off := range d.units {
			w.guard(fmt.Sprintf("unit at offset %#x of .debug_info", off), func() { w.claim(off, cl, addrs) })
			if c.over() {
				return
			}
		}
	})
	return cl
}

func (w *worker) claim(off uint64, cl *claims, addrs []uint64) {
	h, ok, _ := w.data.parseHeader(off)
	if !ok || h.kind == unitType || h.kind == unitSplitTyp || h.kind == unitPartial {
		return
	}
	u, ok := w.parseRoot(h)
	if !ok {
		return
	}
	if !u.cover.any() {
		if u.hasLines && len(cl.unknown) < maxUnranged {
			cl.unknown = append(cl.unknown, off)
		}
		return
	}
	w.each(&u, &u.cover, func(low, high uint64) {
		i, _ := slices.BinarySearch(addrs, low)
		for ; i < len(addrs) && addrs[i] < high; i++ {
			w.burn(1)
			list := &cl.of[i]
			new := claim{off, high - low}
			for k := range list {
				if list[k].size == 0 || new.size < list[k].size {
					list[k], new = new, list[k]
				}
				if new.size == 0 || new.unit == list[k].unit {
					break
				}
			}
		}
	})
}

// units groups the addresses that are still unknown by the unit to search in this round.
func (cl *claims) units(addrs []uint64, result [][]Frame, round int) []task {
	var tasks []task
	at := map[uint64]int{}
	for i, a := range addrs {
		c := cl.of[i][round]
		if result[i] != nil || c.size == 0 {
			continue
		}
		k, ok := at[c.unit]
		if !ok {
			k = len(tasks)
			at[c.unit] = k
			tasks = append(tasks, task{unit: c.unit})
		}
		tasks[k].hits = append(tasks[k].hits, hit{addr: a, index: i})
	}
	return tasks
}

// unranged searches the units without address ranges for the addresses that no other unit knows: one after the other,
// since any of them may know any address.
func (d *Data) unranged(c *run, units []uint64, addrs []uint64, result [][]Frame) {
	w := newWorker(d, c)
	var open []hit
	for i, a := range addrs {
		if result[i] == nil {
			open = append(open, hit{addr: a, index: i})
		}
	}
	for _, off := range units {
		if len(open) == 0 || c.over() {
			return
		}
		w.guard(fmt.Sprintf("unit at offset %#x of .debug_info", off), func() {
			u, ok := w.load(off)
			if !ok {
				return
			}
			l, ok := w.parseLines(u)
			if !ok {
				return
			}
			w.burn(1 + len(open)/64)
			if w.runLines(l, open); !slices.ContainsFunc(open, func(h hit) bool { return h.hasLine }) {
				return
			}
			var known, unknown []hit
			for _, h := range open {
				if h.hasLine {
					known = append(known, hit{addr: h.addr, index: h.index})
				} else {
					unknown = append(unknown, h)
				}
			}
			open = unknown
			w.do(task{off, known}, result)
		})
	}
}
