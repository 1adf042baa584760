package record

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/symbols"
)

// fetch is Config.Fetch, or nil while other processes of the spool continue: their records come to this goroutine, and
// would wait.
func (p *process) fetch() symbols.Fetch {
	for _, o := range p.w.procs {
		if o != nil && !o.ended && !p.w.final {
			return nil
		}
	}
	return p.w.run.config.Fetch
}

func (p *process) toName() symbols.Process {
	return symbols.Process{PID: p.info.PID, User: p.w.user, Modules: p.modules}
}

// writeNames names the program counters that have not been named yet. With fetch that may take minutes.
func (p *process) writeNames(fetch symbols.Fetch) {
	pcs := p.stacks.PCs()[p.named:]
	if frames := p.pools.Frames(p.named, pcs); len(frames) > 0 {
		_ = p.out.Symbols(frames) // its error is seen with those of the others
	}
	if len(pcs) == 0 || p.uncreated || p.w.run.config.nameless {
		return
	}
	frames, notes := p.w.run.symbols.Names(p.toName(), pcs, fetch)
	for _, n := range notes {
		p.Note("%s", n)
	}
	named := make(map[uint32][]event.Frame, len(frames))
	for pc, f := range frames {
		named[pc+uint32(p.named)] = f
	}
	p.named += len(pcs)
	if err := p.out.Symbols(named); err != nil {
		p.Note("The functions' names could not be written: %v.", err)
	}
}

// writeStatics writes what static data the process's files have, and what was last seen of it in memory.
func (p *process) writeStatics() {
	if p.uncreated || p.w.run.config.nameless {
		return
	}
	s := p.w.run.symbols.Statics(p.toName(), p.memory.residency)
	err := p.out.Variables(s.Variables, s.Sections)
	if err == nil {
		err = p.out.Residency(s.Residency)
	}
	if err != nil {
		p.Note("The static variables could not be written: %v.", err)
	}
}
