package ledger

import (
	"cmp"
	"slices"
)

// Backing is memory that serves a pool: what another ledger needs to know to go on as this one does.
type Backing struct {
	Pool, Addr, Size uint64
	Ref              uint64 // number of its allocation, if another pool gave it out
	Parent           uint8  // what it was; only the ledger reads this
	Over             bool   // the pool was destroyed
}

// BackingChanges is how often what Backings returns has changed.
func (l *Ledger) BackingChanges() uint64 { return l.pools.moves }

// Backings returns the memory that serves pools. Of several that begin at one address, the innermost is the last.
func (l *Ledger) Backings() (list []Backing) {
	for _, at := range l.pools.at {
		for _, b := range at {
			list = append(list, Backing{
				Pool: b.of, Addr: b.addr, Size: b.size, Ref: b.ref, Parent: uint8(b.parent), Over: b.pool == nil,
			})
		}
	}
	return list
}

// restoreBackings gives a new ledger, which has its live blocks, the memory that serves pools. What pools have given
// out is taken to belong to the innermost memory in which it lies. If it lies in none, its pool is not known any more.
func (l *Ledger) restoreBackings(list []Backing, pooled []Block) {
	var inner []*backing
	for i := range list {
		o := &list[i]
		b := &backing{addr: o.Addr & addrMask, size: o.Size, of: o.Pool, parent: parent(o.Parent), ref: o.Ref}
		if b.parent == pooledParent {
			l.pools.get(b.of)
			l.pools.within[b.ref] = b
			pooled = append(pooled, Block{Addr: b.addr, Ref: b.ref}) // its pool has it in its lists
		} else if _, _, ok := l.live.find(b.addr); !ok {
			l.silence(&Op{}, b.addr)
		}
		if l.attach(b); o.Over {
			b.pool.drop(b)
			continue
		}
		inner = append(inner, b)
	}
	slices.SortFunc(inner, func(a, b *backing) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(b.size, a.size))
	})
	slices.SortFunc(pooled, func(a, b Block) int { return cmp.Compare(a.Ref, b.Ref) })
	for _, x := range pooled {
		addr := x.Addr &^ poolBit
		i, _ := slices.BinarySearchFunc(inner, addr+1, compareAddr)
		for k := i - 1; k >= max(0, i-nestedBackings); k-- {
			if b := inner[k]; addr-b.addr < b.size && (b.parent != pooledParent || b.ref < x.Ref) {
				b.list = append(b.list, content{addr | poolBit, x.Ref})
				break
			}
		}
	}
}
