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
	m := &Moves{codes: make([]uint32, h.Events), bytes: make([]uint32, h.Events)}
	var number numbering
	number.forget()
	plain := true
	_, err := x.Decode(func(b *Batch) bool {
		first := b.First - h.FirstEvent
		codes, sizes := m.codes[first:][:len(b.Events)], m.bytes[first:][:len(b.Events)]
		for i := range b.Events {
			e := &b.Events[i]
			if e.Kind > event.Free {
				continue
			}
			what := uint32(moveAlloc)
			if e.Kind == event.Free {
				if what = moveFree; e.Flags&event.Temporary != 0 {
					what = moveFreeTemporary
				}
			}
			n, bytes := e.Weight()
			if n != 1 || bytes > math.MaxUint32 {
				plain = false
				return false
			}
			s := uint32(maxDense)
			if e.Stack < uint32(len(number.dense)) { // numbering.of, which the compiler does not inline
				s = number.dense[e.Stack] ^ number.epoch
			}
			if s >= maxDense {
				var ok bool
				if s, ok = number.of(e.Stack); !ok {
					s = uint32(len(m.stacks))
					number.set(e.Stack, s)
					m.stacks = append(m.stacks, e.Stack)
				}
			}
			codes[i], sizes[i] = 4*s|what, uint32(bytes)
		}
		return true
	})
	if err != nil || !plain {
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

// MostLive returns the most bytes that were live after any of the first to events, but not before the first from of
// them, and how many events that first was after; live is what was before all of them. If there is no such moment, the
// bytes are -1.
func (m *Moves) MostLive(live int64, from, to uint64) (most int64, at uint64) {
	most = -1
	codes := m.codes[:to]
	sizes := m.bytes[:to]
	for i, code := range codes {
		switch code & 3 {
		case moveAlloc:
			live += int64(sizes[i])
		case moveFree, moveFreeTemporary:
			live -= int64(sizes[i])
		}
		if live > most && uint64(i) >= from-min(from, 1) {
			most, at = live, uint64(i)+1
		}
	}
	return most, at
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
		if code&3 == moveNothing { // perhaps there is no stack at all
			continue
		}
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
