package symbols

import (
	"context"
	"maps"
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

// Statics is the static data of a process.
type Statics struct {
	Variables []event.Variable
	Sections  []event.DataSection
	Residency []event.Residency
}

// Statics returns what static data the process's files have, and what was last seen of it in memory.
func (f *Finder) Statics(of Process, seen map[uint32]event.Residency) (s Statics) {
	f.running <- struct{}{}
	defer func() { <-f.running }()
	ctx, cancel := context.WithTimeout(f.config.Context, staticsTime)
	defer cancel()
	finder := symbolize.New(symbolize.Options{})
	done := map[fileKey]bool{}
	for _, id := range slices.Sorted(maps.Keys(of.Modules)) {
		m := of.Modules[id]
		k := fileKey{m.Path, string(m.BuildID)}
		if ctx.Err() != nil || strings.HasPrefix(filepath.Base(m.Path), agentName) {
			continue
		}
		if r, ok := seen[m.ID]; ok {
			s.Residency = append(s.Residency, r)
		}
		if done[k] { // it was loaded several times
			continue
		}
		done[k] = true
		data, ok := f.statics.find(k)
		if !ok {
			data.variables, data.sections = finder.Variables(ctx, *m)
			if ctx.Err() == nil {
				f.statics.add(k, data)
			}
		}
		for _, v := range data.variables {
			v.Module = m.ID
			s.Variables = append(s.Variables, v)
		}
		for _, x := range data.sections {
			x.Module = m.ID
			s.Sections = append(s.Sections, x)
		}
	}
	return s
}
