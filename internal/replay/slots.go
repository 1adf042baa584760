package replay

// slotPool gives live blocks their slots. A slot belongs to the stream that allocates into it.
type slotPool struct {
	filled []uint16 // how often each slot was filled
}

// slotList is a stream's slots that are free. Those that it has freed itself are used first, beginning with the latest
// one, which is in the cache. One that another thread has freed waits for some time, so that the stream need not wait
// for that thread.
type slotList struct {
	own    []uint32
	others []freedSlot
	head   int // of others
}

type freedSlot struct {
	slot uint32
	at   uint64 // the operation that freed it
}

// slotPatience is how many operations a slot that another thread has freed is not used: more than threads may be apart.
const slotPatience = 20_000

// take returns a slot for an allocation by a stream. check says that another thread may still have to empty it.
func (p *slotPool) take(l *slotList, now uint64) (slot uint32, check, ok bool) {
	switch {
	case len(l.own) > 0:
		slot = l.own[len(l.own)-1]
		l.own = l.own[:len(l.own)-1]
	case l.head < len(l.others) && now-l.others[l.head].at > slotPatience:
		slot, check = l.others[l.head].slot, true
		if l.head++; l.head > 1024 && l.head*2 > len(l.others) {
			l.others = append(l.others[:0], l.others[l.head:]...)
			l.head = 0
		}
	case len(p.filled) == maxSlots:
		return 0, false, false
	default:
		slot = uint32(len(p.filled))
		p.filled = append(p.filled, 0)
	}
	p.filled[slot]++
	return slot, check, true
}

// free returns a slot to its stream's list. A slot's entry counts up to 65,535; then it is given up.
func (p *slotPool) free(owner *slotList, slot uint32, byOther bool, now uint64) {
	switch {
	case p.filled[slot] == 1<<16-1:
	case byOther:
		owner.others = append(owner.others, freedSlot{slot, now})
	default:
		owner.own = append(owner.own, slot)
	}
}

// place is where a live block is.
type place struct {
	slot   uint32
	stream uint32 // that owns the slot
}

// liveTable finds live blocks by the numbers of their allocations: an open hash table with 16 bytes an entry.
type liveTable struct {
	entries []liveEntry
	n       int
}

type liveEntry struct {
	ref uint64 // number of the allocation, plus 1
	place
}

func hashOf(ref uint64) uint64 { return ref * 0x9e3779b97f4a7c15 >> 16 }

func (t *liveTable) put(ref uint64, p place) {
	if 4*(t.n+1) > 3*len(t.entries) {
		old := t.entries
		t.entries = make([]liveEntry, max(1024, 2*len(old)))
		for _, e := range old {
			if e.ref != 0 {
				t.insert(e)
			}
		}
	}
	t.insert(liveEntry{ref + 1, p})
	t.n++
}

func (t *liveTable) insert(e liveEntry) {
	mask := uint64(len(t.entries) - 1)
	i := hashOf(e.ref) & mask
	for t.entries[i].ref != 0 {
		i = (i + 1) & mask
	}
	t.entries[i] = e
}

// take removes a block.
func (t *liveTable) take(ref uint64) (place, bool) {
	if t.n == 0 {
		return place{}, false
	}
	mask := uint64(len(t.entries) - 1)
	i := hashOf(ref+1) & mask
	for t.entries[i].ref != ref+1 {
		if t.entries[i].ref == 0 {
			return place{}, false
		}
		i = (i + 1) & mask
	}
	found := t.entries[i].place
	t.n--
	// Entries behind it move up, unless that would put them before where they belong.
	for j := (i + 1) & mask; t.entries[j].ref != 0; j = (j + 1) & mask {
		home := hashOf(t.entries[j].ref) & mask
		if (j-home)&mask >= (j-i)&mask {
			t.entries[i] = t.entries[j]
			i = j
		}
	}
	t.entries[i] = liveEntry{}
	return found, true
}
