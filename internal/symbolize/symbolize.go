package symbolize

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/heaptap/heaptap/internal/elfx"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/namecache"
)

// Options configure New. The zero value suits a process of this machine without a JIT compiler.
type Options struct {
	// PID is the process that was recorded: its /tmp/perf-PID.map is read. 0: none.
	PID int
	// Root is put before the modules' paths, as /proc/PID/root for a process in a container. A path that does not exist
	// there is tried without Root.
	Root string
	// DebugDirs are the directories of separate debug files; nil means elfx.DebugDirs.
	DebugDirs []string
	// Fetch gets the debug file with a build id if there is none here. It returns the file's path, "" if nobody has it.
	// It may be nil. Several goroutines may call it at once.
	Fetch func(ctx context.Context, id []byte) (path string, err error)
	// Names caches names; nil: no cache.
	Names *namecache.Cache
	// PerfMap is the perf map's path; "" means /tmp/perf-PID.map.
	PerfMap string
	// User is the process's user. Anybody can make a perf map: only one of this user, root or our own user is read.
	User uint32
	// Workers is how many modules, and units of a module, are read at the same time; 0 means one per processor.
	Workers int
}

// Symbolizer names program counters.
type Symbolizer struct{ o Options }

// New returns a Symbolizer. It holds no files open between calls.
func New(o Options) *Symbolizer {
	if o.DebugDirs == nil {
		o.DebugDirs = elfx.DebugDirs
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.PerfMap == "" && o.PID > 0 {
		o.PerfMap = fmt.Sprintf("/tmp/perf-%d.map", o.PID)
	}
	return &Symbolizer{o: o}
}

// Resolve returns the frames of every pc, leaf to root; none where nothing is known. The notes are sentences that say
// which modules could not be read, or not fully, and why. When ctx ends, Resolve returns what is known by then.
func (s *Symbolizer) Resolve(ctx context.Context, modules []event.Module, pcs []event.PC) (frames [][]event.Frame,
	notes []string) {
	frames = make([][]event.Frame, len(pcs))
	jobs := s.jobs(modules, pcs)
	names := newDemangler()
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, s.o.Workers)
	for i := range jobs {
		j := &jobs[i]
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if ctx.Err() != nil {
				return
			}
			err := elfx.Contain(func() error {
				s.resolve(ctx, j, names)
				return nil
			})
			if err != nil {
				j.note("%v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			for k, w := range j.where {
				for _, at := range w {
					frames[at] = j.frames[k]
				}
			}
		})
	}
	wg.Wait()
	for i := range jobs {
		notes = append(notes, jobs[i].notes...)
	}
	if err := ctx.Err(); err != nil {
		notes = append(notes, fmt.Sprintf("finding function names ended early (%v); some are unknown", err))
	}
	slices.Sort(notes)
	return frames, slices.Compact(notes)
}

// job is the work for one module: distinct addresses in ascending order, relative to the file.
type job struct {
	module event.Module
	addrs  []uint64
	where  [][]int // for each address, the indexes of the pcs that have it
	frames [][]event.Frame
	notes  []string
	split  bool // names also come from split debug files
}

func (j *job) note(format string, args ...any) {
	if len(j.notes) < 8 {
		j.notes = append(j.notes, fmt.Sprintf(format, args...))
	}
}

// jobs groups the pcs by module. Modules that are several loadings of one file, at whatever addresses, are one job.
func (s *Symbolizer) jobs(modules []event.Module, pcs []event.PC) []job {
	type file struct{ path, id string }
	byFile, byID := map[file]int{}, map[uint32]int{}
	jobs := []job{{module: event.Module{Path: "code outside of any file"}}}
	bias := map[uint32]uint64{}
	for _, m := range modules {
		if m.ID == 0 {
			continue
		}
		key := file{m.Path, string(m.BuildID)}
		i, ok := byFile[key]
		if !ok {
			i = len(jobs)
			byFile[key] = i
			jobs = append(jobs, job{module: m})
		}
		byID[m.ID], bias[m.ID] = i, m.Bias
	}
	type place struct {
		addr uint64
		pc   int
	}
	places := make([][]place, len(jobs))
	for i, pc := range pcs {
		a := pc.Addr
		if !pc.Interrupted && a > 0 {
			a--
		}
		k := byID[pc.Module] // an unknown module: no file
		places[k] = append(places[k], place{a - bias[pc.Module], i})
	}
	for k := range jobs {
		j := &jobs[k]
		slices.SortFunc(places[k], func(a, b place) int { return cmp.Compare(a.addr, b.addr) })
		for i, p := range places[k] {
			if i == 0 || p.addr != places[k][i-1].addr {
				j.addrs, j.where = append(j.addrs, p.addr), append(j.where, nil)
			}
			last := len(j.where) - 1
			j.where[last] = append(j.where[last], p.pc)
		}
		j.frames = make([][]event.Frame, len(j.addrs))
	}
	jobs = slices.DeleteFunc(jobs, func(j job) bool { return len(j.addrs) == 0 })
	// The largest first: it determines how long all take.
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(len(b.addrs), len(a.addrs)) })
	return jobs
}
