package block

// numbering maps ids to numbers, and can forget all of them at once. Ids and numbers are mostly small: those are in an
// array, the others in a map. The zero value is usable after the first forget.
type numbering struct {
	dense []uint32 // by id: an epoch and a number
	high  map[uint32]place
	epoch uint32 // in the bits above the number's, from 1; entries of other epochs do not count
}

// place is the number of an id in that epoch.
type place struct{ epoch, number uint32 }

const (
	maxDense = 1 << 24 // ids, and numbers, in the array
	oneEpoch = maxDense
)

func (n *numbering) forget() {
	if n.epoch += oneEpoch; n.epoch == 0 { // epochs are used up: begin again
		clear(n.dense)
		n.high, n.epoch = nil, oneEpoch
	}
}

// of returns an id's number; false if it has none.
func (n *numbering) of(id uint32) (uint32, bool) {
	if id < uint32(len(n.dense)) {
		if number := n.dense[id] ^ n.epoch; number < maxDense {
			return number, true
		}
	}
	return n.beyond(id)
}

func (n *numbering) beyond(id uint32) (uint32, bool) {
	p := n.high[id]
	return p.number, p.epoch == n.epoch
}

// set gives an id its number.
func (n *numbering) set(id, number uint32) {
	switch {
	case id >= maxDense || number >= maxDense:
		if n.high == nil {
			n.high = make(map[uint32]place)
		}
		n.high[id] = place{n.epoch, number}
	case id < uint32(len(n.dense)):
		n.dense[id] = n.epoch | number
	default:
		grown := make([]uint32, max(int(id)+1, 2*len(n.dense), 64))
		copy(grown, n.dense)
		n.dense = grown
		n.dense[id] = n.epoch | number
	}
}
