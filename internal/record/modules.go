package record

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/wire"
)

// HasModule says whether a module is known, if need be after a look for new ones.
func (p *process) HasModule(id uint32) bool {
	if p.modules[id] == nil {
		p.loadModules()
	}
	return p.modules[id] != nil
}

// loadModules takes the modules that were logged since the last time: the process's own, and those that its parent had
// when it was forked.
func (p *process) loadModules() {
	p.w.readModules()
	for ; p.moduleAt < len(p.w.modules); p.moduleAt++ {
		m := &p.w.modules[p.moduleAt]
		if !p.has(m.Proc, m.Time) {
			continue
		}
		if m.Apart != 0 {
			p.unseen.Module(m)
			continue
		}
		if m.Unload {
			if have := p.modules[m.ID]; have != nil {
				have.Unload = p.order.Clock.At(m.Time)
				p.putModule(have)
			}
			continue
		}
		have := &event.Module{
			ID: m.ID, Path: m.Path, BuildID: m.BuildID, Start: m.Start, End: m.End, Bias: m.Bias,
			Loaded: p.order.Clock.At(m.Time), Unload: -1,
		}
		p.modules[m.ID] = have
		p.putModule(have)
	}
}

func (p *process) putModule(m *event.Module) {
	p.out.Module(*m)
	p.layout.PutModule(*m)
}

// has says whether what happened in a process at some time is part of this one's past.
func (p *process) has(slot uint32, time uint64) bool {
	q := p
	for range len(p.w.procs) + 1 {
		if q.slot == slot {
			return true
		}
		if q.parent == nil || time > q.info.ForkTime {
			return false
		}
		q = q.parent
	}
	return false
}

func (w *worker) readModules() {
	list, err := w.tables.Modules()
	w.modules = append(w.modules, list...)
	if err != nil && !w.badModules {
		w.badModules = true
		w.note(err.Error())
	}
}

// PoolPC is the PC that stands for the pools with the name of this id.
func (p *process) PoolPC(id uint32) event.PC { return p.pools.PC(id, p.w.name(id)) }

// backed takes into the books that more memory, or less, serves a pool.
func (p *process) backed(pool uint64, bytes int64) {
	if v, ok := p.w.tables.PC(uint32(pool)); ok && v.Module == 0 && v.Addr&wire.PCPool != 0 { // else it is damaged
		p.pools.Backed(p.PoolPC(uint32(v.Addr)), bytes)
	}
}
