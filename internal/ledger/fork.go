package ledger

// addresses is a set of addresses: a bit for each 8 bytes of the pages that have any.
type addresses struct {
	pages map[uint64]*[pageWords]uint64
	odd   map[uint64]struct{} // those that are no multiples of 8
	last  *[pageWords]uint64
	page  uint64
}

const (
	pageShift = 12
	pageWords = 1 << pageShift / 8 / 64
)

func newAddresses() *addresses {
	return &addresses{pages: make(map[uint64]*[pageWords]uint64), odd: make(map[uint64]struct{})}
}

// add puts an address into the set and says whether it was not there.
func (a *addresses) add(addr uint64) bool {
	if addr&7 != 0 {
		n := len(a.odd)
		a.odd[addr] = struct{}{}
		return len(a.odd) > n
	}
	page := addr >> pageShift
	p := a.last
	if p == nil || page != a.page {
		if p = a.pages[page]; p == nil {
			p = new([pageWords]uint64)
			a.pages[page] = p
		}
		a.last, a.page = p, page
	}
	bit := addr & (1<<pageShift - 1) / 8
	if p[bit/64]>>(bit%64)&1 != 0 {
		return false
	}
	p[bit/64] |= 1 << (bit % 64)
	return true
}

// remove takes an address out of the set.
func (a *addresses) remove(addr uint64) {
	if addr&7 != 0 {
		delete(a.odd, addr)
		return
	}
	if p := a.pages[addr>>pageShift]; p != nil {
		bit := addr & (1<<pageShift - 1) / 8
		p[bit/64] &^= 1 << (bit % 64)
	}
}
