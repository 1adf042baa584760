package record

import (
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/wire"
)

// unknownPool is the pool of what does not say in which it is.
const unknownPool = 1 << 32

// pools are the books of a process's pools, by the PC that stands for those of one name.
type pools struct {
	byName map[string]event.PC
	names  map[event.PC]string
	books  map[event.PC]*event.Pool
}

// pc is the PC of a pool's name, whose id is one of perhaps several.
func (p *pools) pc(id uint32, name string) event.PC {
	pc, ok := p.byName[name]
	if !ok {
		if p.byName == nil {
			p.byName, p.names, p.books = map[string]event.PC{}, map[event.PC]string{}, map[event.PC]*event.Pool{}
		}
		pc = event.PoolPC(id)
		p.byName[name], p.names[pc] = pc, name
	}
	return pc
}

func (p *pools) book(pc event.PC) *event.Pool {
	b := p.books[pc]
	if b == nil {
		b = &event.Pool{Name: p.names[pc]}
		p.books[pc] = b
	}
	return b
}

// frames writes the names of the pools among pcs, of which the first one has a number.
func (p *pools) frames(first int, pcs []event.PC, write func(map[uint32][]event.Frame) error) error {
	frames := map[uint32][]event.Frame{}
	for i, pc := range pcs {
		if name, ok := p.names[pc]; ok {
			frames[uint32(first+i)] = []event.Frame{event.PoolFrame(name)}
		}
	}
	if len(frames) == 0 {
		return nil
	}
	return write(frames)
}

// poolEvent takes an event into the books; of is the function that allocated the block which a Free ends.
func (p *process) poolEvent(e *event.Event, of event.Func) {
	switch {
	case e.Kind == event.Alloc && e.Func.InPool():
		if b := p.poolOf(e.Stack); b != nil {
			blocks, bytes := e.Weight()
			b.Allocations += blocks
			b.Bytes += bytes
			b.Blocks += blocks
			b.Live += bytes
			b.PeakLive = max(b.PeakLive, b.Live)
		}
	case e.Kind == event.Free && of.InPool():
		if b := p.poolOf(e.Stack); b != nil {
			blocks, bytes := e.Weight()
			b.Frees += blocks
			b.Blocks -= min(blocks, b.Blocks)
			b.Live -= min(bytes, b.Live)
		}
	}
}

// poolOf is the book of the pool in which an allocation with that call stack lies; nil if its stack is not known.
func (p *process) poolOf(stack uint32) *event.Pool {
	pc, _ := p.stacks.Innermost(stack)
	if _, ok := pc.Pool(); !ok {
		return nil
	}
	return p.pools.book(pc)
}

// backed takes into the books how much memory serves a pool.
func (p *process) backed(pool uint64, bytes int64) {
	v, ok := p.w.tables.PC(uint32(pool))
	if !ok || v.Module != 0 || v.Addr&wire.PCPool == 0 {
		return // damaged
	}
	b := p.pools.book(p.PoolPC(uint32(v.Addr)))
	b.Backing += uint64(bytes)
	b.PeakBacking = max(b.PeakBacking, b.Backing)
}

// writePools writes what the pools came to.
func (p *process) writePools() {
	list := make([]event.Pool, 0, len(p.pools.books))
	for _, b := range p.pools.books {
		list = append(list, *b)
	}
	slices.SortFunc(list, event.ComparePools)
	_ = p.out.Pools(list) // its error is seen at the end
}

// PoolPC is the PC that stands for the pools with the name of this id.
func (p *process) PoolPC(id uint32) event.PC { return p.pools.pc(id, p.w.name(id)) }
