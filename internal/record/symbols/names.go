package symbols

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/symbolize"
)

// namesTime bounds the search for names of one recording.
const namesTime = 10 * time.Minute

// fetchTime bounds the downloads for one recording: what is on this machine must be found in the rest of namesTime.
const fetchTime = namesTime / 2

var errFetchTime = fmt.Errorf("the downloads for one recording may take no more than %s", fetchTime)

// Names finds the names of program counters, by their indexes, and returns sentences for the user. With fetch that may
// take minutes.
func (f *Finder) Names(of Process, pcs []event.PC, fetch Fetch) (frames map[uint32][]event.Frame, notes []string) {
	f.running <- struct{}{}
	defer func() { <-f.running }()
	frames = make(map[uint32][]event.Frame, len(pcs))
	keys, missing := f.names.find(of.Modules, pcs, frames)
	if len(missing) == 0 {
		return frames, nil
	}
	modules := make([]event.Module, 0, len(of.Modules))
	for _, m := range of.Modules {
		modules = append(modules, *m)
	}
	places := make([]event.PC, len(missing))
	for i, pc := range missing {
		places[i] = pcs[pc]
	}
	ctx, cancel := context.WithTimeout(f.config.Context, namesTime)
	defer cancel()
	bounded := fetch
	if fetch != nil {
		until, cancel := context.WithTimeoutCause(ctx, fetchTime, errFetchTime)
		defer cancel()
		bounded = func(_ context.Context, id []byte) (string, error) {
			path, err := fetch(until, id)
			if err != nil && until.Err() != nil {
				err = context.Cause(until)
			}
			return path, err
		}
	}
	options := symbolize.Options{PID: of.PID, User: of.User, Fetch: bounded, Names: f.config.Names}
	found, notes := symbolize.New(options).Resolve(ctx, modules, places)
	for i, list := range found {
		if i < len(missing) && len(list) > 0 {
			frames[missing[i]] = list
		}
	}
	if ctx.Err() == nil && (fetch != nil || f.config.Fetch == nil) { // else others may find more
		f.names.add(keys, missing, frames)
	}
	return frames, notes
}

// nameCache remembers what the places in files are called. The processes of a run have most of their code in common: a
// build starts hundreds that all use the same C library.
type nameCache struct {
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

func newNameCache() *nameCache {
	return &nameCache{files: map[fileKey]uint32{}, frames: map[placeKey][]event.Frame{}}
}

// find fills in what is known, and returns the places of all pcs and the indexes of those that are not known. Code
// outside of files is never known: it differs between processes.
func (c *nameCache) find(modules map[uint32]*event.Module, pcs []event.PC, frames map[uint32][]event.Frame) (
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

func (c *nameCache) add(keys []placeKey, missing []uint32, frames map[uint32][]event.Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range missing {
		if keys[i].file != 0 && len(c.frames) < cacheEntries {
			c.frames[keys[i]] = frames[i]
		}
	}
}
