package recording

// numbering gives ids numbers, and forgets all of them at once. Ids are mostly small: those have an array, the others a map.
// The zero value is usable after the first forget.
type numbering struct {
	dense []place
	high  map[uint32]place
	epoch uint32 // from 1; places of another one are void
}

// place is the number of an id in that epoch.
type place struct{ epoch, number uint32 }

const maxDense = 1 << 24

func (n *numbering) forget() {
	if n.epoch++; n.epoch == 0 { // after 4 billion times
		*n = numbering{epoch: 1}
	}
}

// of returns an id's number; false if it has none.
func (n *numbering) of(id uint32) (uint32, bool) {
	if id < uint32(len(n.dense)) {
		p := n.dense[id]
		return p.number, p.epoch == n.epoch
	}
	return n.beyond(id)
}

func (n *numbering) beyond(id uint32) (uint32, bool) {
	p := n.high[id]
	return p.number, p.epoch == n.epoch
}

// set gives an id its number.
func (n *numbering) set(id, number uint32) {
	p := place{n.epoch, number}
	switch {
	case id < uint32(len(n.dense)):
		n.dense[id] = p
	case id < maxDense:
		grown := make([]place, max(int(id)+1, 2*len(n.dense), 64))
		copy(grown, n.dense)
		n.dense = grown
		n.dense[id] = p
	default:
		if n.high == nil {
			n.high = make(map[uint32]place)
		}
		n.high[id] = p
	}
}
