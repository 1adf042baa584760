package block

import (
	"math"

	"github.com/heaptap/heaptap/internal/event"
)

// Moves are the events of a block as far as they change what is live: the stack, the size, and whether a deallocation
// ends a temporary allocation. In 8 bytes per event, they answer what happened between any two events of the block.
type Moves struct {
	stacks []uint32 // ids, each once
	codes  []uint32 // of each event: four times the index of its stack, and what it does
	bytes  []uint32 // of each event
}

// What an event does.
const (
	moveNothing = iota
	moveAlloc
	moveFree
	moveFreeTemporary
)

// Moves returns the moves of the block that was opened last; nil if an event stands for several or has 4 GiB or more.
// Wanted must have Sizes.
func (x *Decoder) Moves() (*Moves, error) {
	h := &x.Head
	m := &Moves{codes: make([]uint32, 0, h.Events), bytes: make([]uint32, 0, h.Events)}
	var number numbering
	number.forget()
	_, err := x.Decode(func(b *Batch) bool {
		for i := range b.Events {
			e := &b.Events[i]
			what := uint32(moveNothing)
			switch {
			case e.Kind == event.Alloc:
				what = moveAlloc
			case e.Kind == event.Free && e.Flags&event.Temporary != 0:
				what = moveFreeTemporary
			case e.Kind == event.Free:
				what = moveFree
			}
			if what == moveNothing {
				m.codes, m.bytes = append(m.codes, 0), append(m.bytes, 0)
				continue
			}
			n, bytes := e.Weight()
			if n != 1 || bytes > math.MaxUint32 {
				m = nil
				return false
			}
			s, ok := number.of(e.Stack)
			if !ok {
				s = uint32(len(m.stacks))
				number.set(e.Stack, s)
				m.stacks = append(m.stacks, e.Stack)
			}
			m.codes, m.bytes = append(m.codes, 4*s|what), append(m.bytes, uint32(bytes))
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Size returns how many bytes of memory the moves take.
func (m *Moves) Size() int64 {
	if m == nil {
		return 0
	}
	return 4 * int64(cap(m.stacks)+cap(m.codes)+cap(m.bytes))
}

// Len is the number of events.
func (m *Moves) Len() int { return len(m.codes) }

// Delta returns by how many bytes event i changes what is live.
func (m *Moves) Delta(i int) int64 {
	switch n := int64(m.bytes[i]); m.codes[i] & 3 {
	case moveAlloc:
		return n
	case moveNothing:
		return 0
	default:
		return -n
	}
}

// Changes returns what the events from the one up to the other, which is not among them, changed at each stack.
func (m *Moves) Changes(from, to uint64) []Change {
	list := make([]Change, len(m.stacks))
	for i, id := range m.stacks {
		list[i].Stack = id
	}
	codes := m.codes[from:to]
	sizes := m.bytes[from:to]
	for i, code := range codes {
		c, n := &list[code>>2], uint64(sizes[i])
		switch code & 3 {
		case moveAlloc:
			c.Allocs++
			c.Bytes += n
			if net := c.Net(); net > int64(c.Top) {
				c.Top = uint64(net)
			}
		case moveFree:
			c.Frees++
			c.FreedBytes += n
		case moveFreeTemporary:
			c.Frees++
			c.FreedBytes += n
			c.Temporary++
		}
	}
	changed := list[:0]
	for _, c := range list {
		if c.Allocs|c.Frees != 0 {
			changed = append(changed, c)
		}
	}
	return changed
}
