package profile

import (
	"path"
	"slices"
	"strings"
)

// Heap is a language's or a compiler's own heap: it maps memory and divides it itself, so that an allocator sees
// nothing of what is in it.
type Heap struct {
	Name string // whose heap it is
	Hint string // how to see what is in it

	modules   []string // names of files whose own calls of mmap are the heap's, without a version
	functions []string // beginnings of the names of functions of which one is among the innermost frames
	not       []string // the same for functions that map for other purposes
}

// heaps are the heaps that are known.
var heaps = []*Heap{
	{Name: "Python's own pools",
		Hint:      "record it with PYTHONMALLOC=malloc in its environment to see every object and who allocated it",
		modules:   []string{"libpython2", "libpython3", "python2", "python3"},
		functions: []string{"_PyObject_Arena", "_PyMem_Arena"}, not: []string{"new_mmap_object"}},
	{Name: "GCC's collector", Hint: "g++ -fmem-report lists what is in it",
		modules:   []string{"cc1plus", "cc1obj", "cc1", "lto1", "f951", "gnat1", "go1", "d21", "gm2"},
		functions: []string{"ggc_"}},
	{Name: "Go's heap", Hint: "runtime/pprof and \"go tool pprof\" show what is in it",
		functions: []string{"runtime.sysReserve", "runtime.sysAlloc", "runtime.sysMap", "runtime.mmap", "x_cgo_mmap"}},
	{Name: "V8's heap", Hint: "node --heap-prof, or a heap snapshot, shows what is in it",
		modules:   []string{"node", "libnode", "libv8"},
		functions: []string{"v8::", "node::"}},
	{Name: "Java's heap", Hint: "jcmd PID GC.class_histogram shows what is in it", modules: []string{"libjvm"}},
	{Name: "Ruby's heap", Hint: "ObjectSpace.dump_all shows what is in it", functions: []string{"heap_page_allocate"}},
	{Name: "PHP's heap",
		Hint:      "record it with USE_ZEND_ALLOC=0 in its environment to see every block and who allocated it",
		functions: []string{"zend_mm_"}},
}

// HeapOf returns whose heap a mapping's call stack belongs to; nil: none that is known.
func (p *Profile) HeapOf(stack uint32) *Heap {
	const innermost = 6 // frames that are looked at
	n := 0
	var found *Heap
	p.PCs(stack, func(pc uint32) bool {
		for _, f := range p.PCFrames(pc) {
			for _, h := range heaps {
				if begins(f.Function, h.not) {
					return false
				}
				if n == 0 && h.owns(path.Base(f.Module)) || begins(f.Function, h.functions) {
					found = h
					return false
				}
			}
			if n++; n == innermost {
				return false
			}
		}
		return true
	})
	return found
}

// owns says whether a file is one of the heap's: its name may be followed by a version.
func (h *Heap) owns(file string) bool {
	return slices.ContainsFunc(h.modules, func(name string) bool {
		rest, ok := strings.CutPrefix(file, name)
		return ok && (rest == "" || strings.Contains(".-0123456789", rest[:1]))
	})
}

// begins reports whether a name begins with one of the prefixes.
func begins(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
