package record

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/symbolize"
)

// symbolsTime bounds the search for names of one recording.
const symbolsTime = 10 * time.Minute

// symbolCache remembers what the places in files are called. The processes of a run have most of their code in common: a
// build starts hundreds that all use the same C library.
type symbolCache struct {
	mu     sync.Mutex
	files  map[fileKey]uint32
	frames map[placeKey][]event.Frame
}

type fileKey struct{ path, buildID string }

type placeKey struct {
	file        uint32
	interrupted bool
	addr        uint64 // in the file's own terms
}

// cacheEntries bounds the cache, at about 100 MB with long names.
const cacheEntries = 200_000

func newSymbolCache() *symbolCache {
	return &symbolCache{files: map[fileKey]uint32{}, frames: map[placeKey][]event.Frame{}}
}

// fetchTime bounds the downloads for one recording: what is on this machine must be found in the rest of symbolsTime.
const fetchTime = symbolsTime / 2

var errFetchTime = fmt.Errorf("the downloads for one recording may take no more than %s", fetchTime)

// fetch is Config.Fetch, or nil while other processes of the spool go on: their records come to this goroutine, and would wait.
func (p *process) fetch() func(context.Context, []byte) (string, error) {
	for _, o := range p.w.procs {
		if o != nil && !o.ended && !p.w.final {
			return nil
		}
	}
	return p.w.run.config.Fetch
}

// symbols names the program counters that have not been named yet. With fetch that may take minutes.
func (p *process) symbols(fetch func(context.Context, []byte) (string, error)) {
	pcs := p.stacks.PCs()[p.named:]
	_ = p.pools.frames(p.named, pcs, p.out.Symbols) // its error is seen with those of the others
	if len(pcs) == 0 || p.uncreated || p.w.run.config.nameless {
		return
	}
	p.w.run.symbolizing <- struct{}{}
	defer func() { <-p.w.run.symbolizing }()
	frames := make(map[uint32][]event.Frame, len(pcs))
	keys, missing := p.w.run.cache.find(p.modules, pcs, frames)
	if len(missing) > 0 {
		modules := make([]event.Module, 0, len(p.modules))
		for _, m := range p.modules {
			modules = append(modules, *m)
		}
		places := make([]event.PC, len(missing))
		for i, pc := range missing {
			places[i] = pcs[pc]
		}
		ctx, cancel := context.WithTimeout(p.w.run.symbols, symbolsTime)
		defer cancel()
		if ask := fetch; ask != nil {
			until, cancel := context.WithTimeoutCause(ctx, fetchTime, errFetchTime)
			defer cancel()
			fetch = func(_ context.Context, id []byte) (string, error) {
				path, err := ask(until, id)
				if err != nil && until.Err() != nil {
					err = context.Cause(until)
				}
				return path, err
			}
		}
		found, notes := symbolize.New(symbolize.Options{PID: p.info.PID, User: p.w.user, Fetch: fetch, Names: p.w.run.config.Names}).Resolve(ctx, modules, places)
		for i, f := range found {
			if i < len(missing) && len(f) > 0 {
				frames[missing[i]] = f
			}
		}
		if ctx.Err() == nil && (fetch != nil || p.w.run.config.Fetch == nil) { // else others may find more
			p.w.run.cache.add(keys, missing, frames)
		}
		for _, n := range notes {
			p.note("%s", n)
		}
	}
	named := make(map[uint32][]event.Frame, len(frames))
	for pc, f := range frames {
		named[pc+uint32(p.named)] = f
	}
	p.named += len(pcs)
	if err := p.out.Symbols(named); err != nil {
		p.note("The functions' names could not be written: %v.", err)
	}
}

// find fills in what is known, and returns the places of all pcs and the indexes of those that are not known. Code outside of
// files is never known: it differs between processes.
func (c *symbolCache) find(modules map[uint32]*event.Module, pcs []event.PC, frames map[uint32][]event.Frame) (
	keys []placeKey, missing []uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys = make([]placeKey, len(pcs))
	files := map[uint32]uint32{}
	for i, pc := range pcs {
		m := modules[pc.Module]
		if m != nil && len(m.BuildID) > 0 {
			f, ok := files[m.ID]
			if !ok {
				k := fileKey{m.Path, string(m.BuildID)}
				if f, ok = c.files[k]; !ok {
					f = uint32(len(c.files) + 1)
					c.files[k] = f
				}
				files[m.ID] = f
			}
			keys[i] = placeKey{f, pc.Interrupted, pc.Addr - m.Bias}
			if have, ok := c.frames[keys[i]]; ok {
				if len(have) > 0 {
					frames[uint32(i)] = have
				}
				continue
			}
		}
		missing = append(missing, uint32(i))
	}
	return keys, missing
}

func (c *symbolCache) add(keys []placeKey, missing []uint32, frames map[uint32][]event.Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range missing {
		if keys[i].file != 0 && len(c.frames) < cacheEntries {
			c.frames[keys[i]] = frames[i]
		}
	}
}
