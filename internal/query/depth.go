package query

import "github.com/heaptap/heaptap/internal/event"

// depths tells how many frames call stacks have, inlined functions not counted.
type depths struct {
	s     *Source
	dense []uint32 // by stack; 0: not known
}

func newDepths(s *Source) *depths {
	d := &depths{s: s}
	s.Reader.Nodes().All(func(id uint32, n event.Node) bool {
		if id >= maxDense {
			return false
		}
		for uint32(len(d.dense)) <= id {
			d.dense = append(d.dense, 0)
		}
		// Nearly always the parent comes first.
		if n.Parent < id && (n.Parent == 0 || d.dense[n.Parent] > 0) {
			d.dense[id] = d.dense[n.Parent] + 1
		}
		return true
	})
	return d
}

func (d *depths) of(stack uint32) uint64 {
	if stack < uint32(len(d.dense)) && d.dense[stack] > 0 {
		return uint64(d.dense[stack])
	}
	return uint64(len(d.s.way(nil, stack, func(uint32) bool { return false })))
}
