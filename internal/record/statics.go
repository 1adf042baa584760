package record

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/symbolize"
)

// staticsTime bounds the search for the static variables of one recording.
const staticsTime = 20 * time.Second

// staticsFiles bounds how many files' variables are remembered for the other processes of a run.
const staticsFiles = 1000

// agentName begins the name of our own library. Its data is not the program's.
const agentName = "libheaptap"

// staticsCache remembers what static data files have: the processes of a run have most files in common.
type staticsCache struct {
	mu    sync.Mutex
	files map[fileKey]fileStatics
}

type fileStatics struct {
	variables []event.Variable
	sections  []event.DataSection
}

func (c *staticsCache) find(k fileKey) (fileStatics, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.files[k]
	return f, ok
}

func (c *staticsCache) add(k fileKey, f fileStatics) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = map[fileKey]fileStatics{}
	}
	if len(c.files) < staticsFiles && k.buildID != "" {
		c.files[k] = f
	}
}

// statics writes what static data the process's files have, and what was last seen of it in memory.
func (p *process) statics() {
	if p.uncreated || p.w.run.config.nameless {
		return
	}
	p.w.run.symbolizing <- struct{}{}
	defer func() { <-p.w.run.symbolizing }()
	ctx, cancel := context.WithTimeout(p.w.run.symbols, staticsTime)
	defer cancel()
	modules := make([]*event.Module, 0, len(p.modules))
	for _, m := range p.modules {
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b *event.Module) int { return cmp.Compare(a.ID, b.ID) })
	finder := symbolize.New(symbolize.Options{})
	var variables []event.Variable
	var sections []event.DataSection
	var residency []event.Residency
	told := map[fileKey]bool{}
	for _, m := range modules {
		k := fileKey{m.Path, string(m.BuildID)}
		if ctx.Err() != nil || strings.HasPrefix(filepath.Base(m.Path), agentName) {
			continue
		}
		if r, ok := p.residency[m.ID]; ok {
			residency = append(residency, r)
		}
		if told[k] { // it was loaded several times
			continue
		}
		told[k] = true
		f, ok := p.w.run.statics.find(k)
		if !ok {
			f.variables, f.sections = finder.Variables(ctx, *m)
			if ctx.Err() == nil {
				p.w.run.statics.add(k, f)
			}
		}
		for _, v := range f.variables {
			v.Module = m.ID
			variables = append(variables, v)
		}
		for _, s := range f.sections {
			s.Module = m.ID
			sections = append(sections, s)
		}
	}
	err := p.out.Variables(variables, sections)
	if err == nil {
		err = p.out.Residency(residency)
	}
	if err != nil {
		p.note("The static variables could not be written: %v.", err)
	}
}
