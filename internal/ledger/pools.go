package ledger

import (
	"cmp"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// A program's own pools give out blocks that lie in other blocks, so that several may be live at one address. Blocks
// of pools have poolBit in their keys. User addresses have 47 bits (on x86-64 without five-level paging, which
// programs must ask for).
//
// When a block becomes the backing of a pool, the block ends. Its place in the table stays taken, by a silent block:
// the end of that writes no event for itself, but ends what the pool has given out in it. If the backing was itself
// given out by a pool, its place is needed, because the first block that is given out in it lies at the same address.
// Such a backing is found by the number of its allocation, which is in the lists of the pool that gave it out.
const poolBit = 1 << (addrBits - 1)

// key is the table's key of what op is about.
func (op *Op) key() uint64 {
	addr := op.Addr & addrMask
	if op.Pool != 0 && addr != 0 {
		addr |= poolBit
	}
	return addr
}

// plainAddr is the address of a key.
func plainAddr(key uint64, pooled bool) uint64 {
	if pooled {
		return key &^ poolBit
	}
	return key
}

// pools are those of the process that have given out something or have backings.
type pools struct {
	byID    map[uint64]*pool
	at      map[uint64][]*backing // by first address, the innermost last
	within  map[uint64]*backing   // those that another pool gave out, by the number of their allocation
	silent  uint64                // silent blocks in the table
	serial  uint64                // silent blocks so far
	moves   uint64                // see Ledger.BackingChanges
	changed []BackingChange       // since the latest batch
}

type pool struct {
	id       uint64
	backings []*backing // by address
	loose    contents   // what lies in none of them
}

// backing is memory that serves a pool.
type backing struct {
	addr, size uint64
	of         uint64 // pool
	pool       *pool  // nil once that is destroyed
	parent     parent
	ref        uint64 // of the block that it was, if parent is pooledParent
	contents
}

func compareAddr(b *backing, addr uint64) int { return cmp.Compare(b.addr, addr) }

// parent says what a backing was.
type parent uint8

const (
	heapParent    parent = iota // a block of this ledger
	pooledParent                // a block of a pool
	unknownParent               // neither: mapped, static, or not recorded
)

// contents are blocks that a pool has given out, in order. Some have ended: they are dropped now and then.
type contents struct {
	list []content
	kept int // blocks that were live when the others were last dropped
}

type content struct{ key, ref uint64 }

func (p *pools) get(id uint64) *pool {
	if p.byID == nil {
		p.byID, p.at, p.within = map[uint64]*pool{}, map[uint64][]*backing{}, map[uint64]*backing{}
	}
	q := p.byID[id]
	if q == nil {
		q = &pool{id: id}
		p.byID[id] = q
	}
	return q
}

// nestedBackings is how many backings of one pool are searched that may lie one within the other.
const nestedBackings = 8

// drop removes memory from the pool.
func (p *pool) drop(b *backing) {
	i, _ := slices.BinarySearchFunc(p.backings, b.addr, compareAddr)
	for p.backings[i] != b { // others may begin at the same address
		i++
	}
	p.backings = slices.Delete(p.backings, i, i+1)
	b.pool = nil
}

// contents returns where the pool keeps what it gives out at addr.
func (p *pool) contents(addr uint64) *contents {
	i, _ := slices.BinarySearchFunc(p.backings, addr+1, compareAddr)
	for k := i - 1; k >= max(0, i-nestedBackings); k-- {
		if b := p.backings[k]; addr-b.addr < b.size {
			return &b.contents
		}
	}
	return &p.loose
}

// holds says whether the block with that number is among what was given out.
func (c *contents) holds(ref uint64) bool {
	_, ok := slices.BinarySearchFunc(c.list, ref, func(x content, ref uint64) int { return cmp.Compare(x.ref, ref) })
	return ok
}

// given notes what a pool has given out.
func (l *Ledger) given(id, key, ref uint64) {
	c := l.pools.get(id).contents(key &^ poolBit)
	if len(c.list) > 2*c.kept+64 {
		c.list = slices.DeleteFunc(c.list, func(x content) bool { return l.pools.within[x.ref] == nil && !l.isLive(x) })
		c.kept = len(c.list)
	}
	c.list = append(c.list, content{key, ref})
}

func (l *Ledger) isLive(x content) bool {
	g, i, ok := l.live.find(x.key)
	return ok && g.slots[i].ref>>16&refMask == x.ref
}

// back makes memory serve a pool.
func (l *Ledger) back(op *Op) {
	addr := op.Addr & addrMask
	if addr == 0 || op.Pool == 0 {
		return
	}
	for _, key := range [2]uint64{addr | poolBit, addr} {
		l.forceAt(key)
	}
	b := &backing{addr: addr, size: op.Size, of: op.Pool, parent: unknownParent}
	list := l.pools.at[addr]
	if g, i, ok := l.live.find(addr | poolBit); ok {
		l.end(op, g, i, 0)
		b.parent, b.ref = pooledParent, l.ending.Ref
		l.pools.get(op.Pool)
		l.pools.within[b.ref] = b
	} else if g, i, ok := l.live.find(addr); ok && g.slots[i].ref&silent == 0 {
		l.end(op, g, i, 0)
		b.parent = heapParent
	} else if len(list) > 0 {
		l.backAgain(op, list[len(list)-1])
		return
	}
	if b.parent != unknownParent {
		b.size = cmp.Or(b.size, l.ending.Size)
	}
	if b.parent != pooledParent {
		l.silence(op, addr)
	}
	l.attach(b)
}

// silence puts a silent block at an address.
func (l *Ledger) silence(op *Op, addr uint64) {
	g, i, _ := l.live.find(addr)
	l.pools.serial++
	l.live.set(g, i, addr, &Op{Thread: op.Thread}, refMask-l.pools.serial, l.written)
	g, i, _ = l.live.find(addr)
	g.slots[i].ref |= silent
	l.pools.silent++
}

// backAgain moves memory that serves a pool to the pool of op.
func (l *Ledger) backAgain(op *Op, b *backing) {
	if b.of == op.Pool && b.pool != nil {
		return
	}
	l.detach(b)
	l.endContents(&b.contents, l.ender(op, event.PoolReturned))
	b.of, b.size = op.Pool, cmp.Or(op.Size, b.size)
	l.attach(b)
}

func (l *Ledger) attach(b *backing) {
	p := l.pools.get(b.of)
	i, _ := slices.BinarySearchFunc(p.backings, b.addr+1, compareAddr)
	p.backings = slices.Insert(p.backings, i, b)
	b.pool = p
	l.pools.at[b.addr] = append(l.pools.at[b.addr], b)
	for _, x := range p.loose.list { // given out before this memory was announced
		if x.key&^poolBit-b.addr < b.size {
			b.list = append(b.list, x)
		}
	}
	if len(b.list) > 0 {
		p.loose.list = slices.DeleteFunc(p.loose.list, func(x content) bool { return x.key&^poolBit-b.addr < b.size })
	}
	l.pools.serves(b.of, int64(b.size))
}

// detach removes memory from the books.
func (l *Ledger) detach(b *backing) {
	if b.pool != nil {
		b.pool.drop(b)
	}
	if list := slices.DeleteFunc(l.pools.at[b.addr], func(o *backing) bool { return o == b }); len(list) > 0 {
		l.pools.at[b.addr] = list
	} else {
		delete(l.pools.at, b.addr)
	}
	l.pools.serves(b.of, -int64(b.size))
}

// serves notes that so many bytes more, or less, serve a pool.
func (p *pools) serves(id uint64, bytes int64) {
	p.moves++
	p.changed = append(p.changed, BackingChange{id, bytes})
}

// ender is op as what ends blocks that were not freed one by one.
func (l *Ledger) ender(op *Op, f event.Func) *Op {
	return &Op{Time: op.Time, Late: op.Late, Func: f, Thread: op.Thread, FreeStack: op.FreeStack, Region: op.Region}
}

// returned ends what lies in the silent block at addr, which op has ended.
func (l *Ledger) returned(op *Op, addr uint64) {
	l.pools.silent--
	for _, b := range l.pools.at[addr] {
		if b.parent != pooledParent {
			l.release(b, l.ender(op, event.PoolReturned))
			return
		}
	}
}

// release ends what lies in memory that no longer serves a pool.
func (l *Ledger) release(b *backing, by *Op) {
	if b.parent == pooledParent {
		delete(l.pools.within, b.ref)
	}
	l.detach(b)
	l.endContents(&b.contents, by)
}

// returns says whether what op gives back to its pool is memory that serves another pool. Then it no longer does.
func (l *Ledger) returns(op *Op) bool {
	addr := op.Addr & addrMask
	list := l.pools.at[addr]
	if len(list) == 0 {
		return false
	}
	p := l.pools.byID[op.Pool]
	for _, b := range list {
		if b.parent == pooledParent && p != nil && p.contents(addr).holds(b.ref) {
			l.release(b, l.ender(op, event.PoolReturned))
			return true
		}
	}
	return false
}

// endContents ends all that was given out.
func (l *Ledger) endContents(c *contents, by *Op) {
	for len(c.list) > 0 { // what is settled meanwhile may add to it
		list := c.list
		c.list, c.kept = nil, 0
		for _, x := range list {
			if b := l.pools.within[x.ref]; b != nil {
				l.release(b, by)
				continue
			}
			l.forceAt(x.key)
			if g, i, ok := l.live.find(x.key); ok && g.slots[i].ref>>16&refMask == x.ref {
				l.end(by, g, i, 0)
			}
		}
	}
}

// clearPool ends all that a pool has given out; destroy: the pool as well.
func (l *Ledger) clearPool(op *Op, destroy bool) {
	p := l.pools.byID[op.Pool]
	if p == nil {
		return
	}
	by := l.ender(op, op.Func)
	for _, b := range slices.Clone(p.backings) {
		l.endContents(&b.contents, by)
	}
	l.endContents(&p.loose, by)
	if !destroy {
		return
	}
	for _, b := range slices.Clone(p.backings) {
		if b.parent != unknownParent {
			b.pool = nil // it serves nobody until it is freed
			l.pools.moves++
			continue
		}
		l.detach(b)
		if g, i, ok := l.live.find(b.addr); ok && g.slots[i].ref&silent != 0 {
			l.live.get(g, i, &l.ending)
			l.live.remove(g, i, &l.ending)
			l.pools.silent--
		}
	}
	delete(l.pools.byID, op.Pool)
}
