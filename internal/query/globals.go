package query

import (
	"cmp"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// Globals are the static and thread-local variables of a process's files.
type Globals struct {
	// The most threads alive at once, as far as known. Each had a copy of the thread-local variables.
	Threads   uint64
	Now       uint64   // threads alive at the last look
	Counted   bool     // false: the threads were not counted; Threads and Now come from the recording's own threads
	At        int64    // when resident pages were last read, ns since the recording's start; -1: never
	Variables []Global // the variables that the recording names, largest first
	Files     []GlobalFile
	Kinds     [event.DataKindEnd]GlobalSum // over all files
	Total     GlobalSum
}

// Global is a variable.
type Global struct {
	event.Variable
	Path     string   // of the file
	Total    uint64   // bytes in all threads
	Resident Resident // how much of it is resident
}

// GlobalFile has the sums of a file.
type GlobalFile struct {
	Path  string
	Kinds [event.DataKindEnd]GlobalSum
	Total GlobalSum
}

// GlobalSum sums up variables and the data between them.
type GlobalSum struct {
	Bytes     uint64 // in one thread
	Total     uint64 // in all Threads
	Variables uint64 // named by the file
	Named     uint64 // bytes of the named variables, in one thread
	Resident  Resident
}

// Resident is the number of bytes that were in memory.
type Resident struct {
	Bytes uint64
	Known bool // known for the variable, or for part of a sum
}

func (r *Resident) add(o Resident) {
	r.Bytes += o.Bytes
	r.Known = r.Known || o.Known
}

func (s *GlobalSum) add(o *GlobalSum) {
	s.Bytes += o.Bytes
	s.Total += o.Total
	s.Variables += o.Variables
	s.Named += o.Named
	s.Resident.add(o.Resident)
}

// Globals sums up the static variables of the files that match one of the patterns (see Query.Modules); nil: all files.
func (s *Source) Globals(modules []string) *Globals {
	g := &Globals{At: -1}
	g.countThreads(s)
	files := newDataFiles(s)
	wanted := func(path string) bool {
		return modules == nil || slices.ContainsFunc(modules, func(p string) bool { return matchModule(p, path) })
	}
	times := func(k event.DataKind, bytes uint64) uint64 {
		if k.PerThread() {
			return bytes * g.Threads
		}
		return bytes
	}
	for _, v := range s.Reader.Variables() {
		f := files.of(v.Module)
		if !wanted(f.path) {
			continue
		}
		g.Variables = append(g.Variables, Global{Variable: v, Path: f.path, Total: times(v.Kind, v.Size),
			Resident: f.resident(v.Kind, v.Addr, v.Addr+v.Size)})
	}
	slices.SortStableFunc(g.Variables, func(a, b Global) int { return cmp.Compare(b.Total, a.Total) })
	at := make(map[uint32]int)
	for _, d := range s.Reader.DataSections() {
		f := files.of(d.Module)
		if !wanted(f.path) {
			continue
		}
		i, ok := at[d.Module]
		if !ok {
			i = len(g.Files)
			at[d.Module] = i
			g.Files = append(g.Files, GlobalFile{Path: f.path})
			g.At = max(g.At, f.at)
		}
		sum := GlobalSum{d.End - d.Start, times(d.Kind, d.End-d.Start), d.Variables, d.Named,
			f.resident(d.Kind, d.Start, d.End)}
		for _, to := range []*GlobalSum{&g.Files[i].Kinds[d.Kind], &g.Files[i].Total, &g.Kinds[d.Kind], &g.Total} {
			to.add(&sum)
		}
	}
	slices.SortStableFunc(g.Files, func(a, b GlobalFile) int { return cmp.Compare(b.Total.Total, a.Total.Total) })
	return g
}

// countThreads determines how many threads were alive at once. Threads that started and ended between two looks are
// known by their events only: if there were any besides the first, at least two were alive.
func (g *Globals) countThreads(s *Source) {
	ever := uint64(max(1, len(s.Reader.Threads())))
	for _, smp := range s.Reader.Samples() {
		if n := uint64(max(0, smp.Threads)); n > 0 {
			g.Threads, g.Now, g.Counted = max(g.Threads, n), n, true
		}
	}
	if !g.Counted {
		g.Threads, g.Now = ever, ever
	}
	g.Threads = max(g.Threads, min(ever, 2))
}

// dataFiles are the files of a process, by the id of each file's first loading.
type dataFiles struct {
	byID map[uint32]*dataFile
}

// dataFile is a file, and which of its pages were resident at the last look, in any of its loadings.
type dataFile struct {
	path  string
	bias  uint64
	at    int64 // -1: never
	pages *event.Residency
}

func newDataFiles(s *Source) *dataFiles {
	type file struct{ path, id string }
	d := &dataFiles{byID: make(map[uint32]*dataFile)}
	same := make(map[file]*dataFile)
	seen := make(map[uint32]*event.Residency)
	list := s.Reader.Residency()
	for i := range list {
		seen[list[i].Module] = &list[i]
	}
	for _, m := range s.Reader.Modules() {
		k := file{m.Path, string(m.BuildID)}
		f := same[k]
		if f == nil {
			f = &dataFile{path: m.Path, at: -1}
			same[k] = f
		}
		if p := seen[m.ID]; p != nil && p.Time > f.at {
			f.at, f.pages, f.bias = p.Time, p, m.Bias
		}
		d.byID[m.ID] = f
	}
	return d
}

func (d *dataFiles) of(id uint32) *dataFile {
	if f := d.byID[id]; f != nil {
		return f
	}
	return &dataFile{at: -1} // a damaged table of modules
}

// resident returns how much of a range was in memory. That is known for writable data, if the whole range was looked
// at.
func (f *dataFile) resident(k event.DataKind, start, end uint64) Resident {
	if f.pages == nil || k != event.Data && k != event.BSS {
		return Resident{}
	}
	start, end = start+f.bias, end+f.bias
	if overlap(f.pages.Looked, start, end) != end-start {
		return Resident{}
	}
	return Resident{overlap(f.pages.Resident, start, end), true}
}

// overlap returns how many bytes of a range lie in ascending ranges.
func overlap(list []event.AddrRange, start, end uint64) (sum uint64) {
	i, _ := slices.BinarySearchFunc(list, start, func(r event.AddrRange, at uint64) int {
		if r.End <= at {
			return -1
		}
		return 1
	})
	for ; i < len(list) && start < end && list[i].Start < end; i++ {
		sum += min(list[i].End, end) - max(list[i].Start, start)
	}
	return sum
}
