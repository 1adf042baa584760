package recording

import "github.com/heaptap/heaptap/internal/event"

// cutCycles sees to it that every way up the calling-context tree ends: whoever follows parents does so without a bound. A node that is
// its own ancestor occurs in damaged and forged files only; the last one on such a way gets no parent. It returns how many were cut off,
// and one of them. added is the nodes that are new in the table.
func (r *Reader) cutCycles(added []entry[event.Node]) (cut int, example uint32) {
	for i := range added {
		// A recorder numbers callers before those that they call: then there can be no cycle.
		if e := &added[i]; e.v.Parent >= e.id && e.id != 0 {
			r.unordered = true
		}
	}
	if !r.unordered {
		return 0, 0
	}
	const (
		walking = 1 + iota
		ends
	)
	var state Table[uint8]
	visits := make([]entry[uint8], 0, r.nodes.Len())
	r.nodes.All(func(id uint32, _ event.Node) bool {
		visits = append(visits, entry[uint8]{id: id})
		return true
	})
	state.add(visits)
	var way []uint32
	for _, start := range visits {
		way = way[:0]
		for id := start.id; id != 0; {
			seen, there := state.Get(id)
			if !there || seen == ends {
				break
			}
			if seen == walking {
				last := way[len(way)-1]
				n, _ := r.nodes.Get(last)
				n.Parent = 0
				r.nodes.set(last, n)
				cut, example = cut+1, last
				break
			}
			state.set(id, walking)
			way = append(way, id)
			n, _ := r.nodes.Get(id)
			id = n.Parent
		}
		for _, id := range way {
			state.set(id, ends)
		}
	}
	return cut, example
}
