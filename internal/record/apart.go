package record

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/heaptap/heaptap/internal/elfx"
	"github.com/heaptap/heaptap/internal/spool"
	"github.com/heaptap/heaptap/internal/wire"
)

// Allocations that go past the agent are named in the recording, and in the run's summary (Report.Unseen).

// past takes what the agent says of a file whose allocations go past it.
func (p *process) past(m *spool.Module) {
	name := m.Path
	switch m.Apart {
	case wire.ApartMalloc:
		p.ownMalloc = true
	case wire.ApartDeepbind:
		p.goesPast("%s was opened with RTLD_DEEPBIND: it calls the C library's malloc and free directly, unseen. "+
			"What it allocates and others free counts as deallocations of addresses that were not live; "+
			"what others allocate and it frees, as leaked.", filepath.Base(name))
	case wire.ApartNamespace:
		p.goesPast("%s was opened by dlmopen: in its namespace it has a C library of its own, whose malloc and free are not seen.",
			filepath.Base(name))
	}
}

func (p *process) goesPast(format string, args ...any) {
	n := fmt.Sprintf(format, args...)
	p.note("%s", n)
	if p.unseen == "" {
		p.unseen = n
	}
}

// judgeMalloc says so if the program has a malloc of its own. The agent sees one that is exported; one that is not shows by symbols,
// if nothing was allocated otherwise.
func (p *process) judgeMalloc(allocations uint64) {
	if mode, _ := p.w.spool.Mode(); !p.ownMalloc && (allocations > 0 || mode != wire.ModeExact) {
		return
	}
	own := mallocOf(p.w.meta.Exe)
	if !p.ownMalloc && own.where != elfx.MallocLocal {
		return
	}
	allocator := ""
	if own.name != "" {
		allocator = " (" + own.name + ")"
	}
	if !p.ownMalloc {
		p.goesPast("%s has its own malloc%s, to which its calls are bound: what it allocates there is not recorded. Build it without that allocator.",
			p.w.meta.Exe, allocator)
		return
	}
	hook := ""
	if len(own.exports) > 0 {
		hook = " To record it all the same, the functions that it exports would have to be patched in the running process: " +
			strings.Join(own.exports, ", ") + "."
	}
	p.goesPast("%s has its own malloc%s, which comes before any preloaded one: what is allocated there is not recorded. "+
		"Build it without that allocator.%s", p.w.meta.Exe, allocator, hook)
}

type malloc struct {
	where   elfx.Malloc
	name    string
	exports []string
}

// mallocs remembers what was found of executables: a browser starts the same one a dozen times.
var mallocs sync.Map

func mallocOf(exe string) malloc {
	if m, ok := mallocs.Load(exe); ok {
		return m.(malloc)
	}
	var m malloc
	if info, err := elfx.Inspect(exe); err == nil {
		m.where = info.Malloc
	}
	if f, err := elfx.Open(exe); err == nil {
		m.name, m.exports = f.Allocator()
		f.Close()
	}
	mallocs.Store(exe, m)
	return m
}
