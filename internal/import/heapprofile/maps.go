package heapprofile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/elfx"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/lazy"
	"github.com/heaptap/heaptap/internal/merge"
	"github.com/heaptap/heaptap/internal/symbolize"
)

// Names looks up the functions at addresses, the innermost first, as Symbolizer.Resolve does.
type Names func(ctx context.Context, modules []event.Module, pcs []event.PC) (frames [][]event.Frame, notes []string)

// FromFiles looks functions up in the modules' files.
func FromFiles(ctx context.Context, modules []event.Module, pcs []event.PC) ([][]event.Frame, []string) {
	return symbolize.New(symbolize.Options{}).Resolve(ctx, modules, pcs)
}

// maps are the mappings of files.
type maps struct {
	lines   int // so far
	list    []mapping
	set     []string          // pairs of a variable, with its $, and its value
	replace *strings.Replacer // of the variables; nil: none is set
}

type mapping struct {
	start, end, offset uint64
	path               string
}

// maxLines limits the lines of a map, including those without files.
const maxLines = 1 << 20

// bounded returns a function that takes lines, up to maxLines.
func (m *maps) bounded(take func(text string) error) func(text string) error {
	return func(text string) error {
		if m.lines++; m.lines > maxLines {
			return fmt.Errorf("a memory map of more than %d lines", maxLines)
		}
		return take(text)
	}
}

// line takes a line of /proc/PID/maps.
func (m *maps) line(text string) error {
	f := strings.Fields(text)
	if len(f) == 0 {
		return nil
	}
	low, high, ok := strings.Cut(f[0], "-")
	if !ok || len(f) < 3 {
		return fmt.Errorf("%.80q: expected a line of /proc/PID/maps", text)
	}
	start, err := strconv.ParseUint(low, 16, 64)
	end, err2 := strconv.ParseUint(high, 16, 64)
	offset, err3 := strconv.ParseUint(f[2], 16, 64)
	switch {
	case errors.Join(err, err2, err3) != nil || start >= end:
		return fmt.Errorf("%.80q: invalid addresses", text)
	case len(f) < 6 || !strings.HasPrefix(f[5], "/") && f[5] != "[vdso]":
		return nil
	}
	path := text[strings.Index(text, f[5]):] // may contain blanks
	return m.add(mapping{start, end, offset, strings.TrimSuffix(path, " (deleted)")})
}

// maxMappings limits the mappings of a file: Linux allows a process 65,530 by default.
const maxMappings = 1 << 17

func (m *maps) add(v mapping) error {
	if len(m.list) == maxMappings {
		return fmt.Errorf("more than %d mappings of files", maxMappings)
	}
	m.list = append(m.list, v)
	return nil
}

// briefMapping is a line of a memory map: addresses, then the file's name, its offset and its build id.
var briefMapping = lazy.Regexp(`^ *(?:0x)?([0-9a-fA-F]+)-(?:0x)?([0-9a-fA-F]+):? +(?:[-rwxps]{3,4} +)?` +
	`(\S+)(?: +\(@([0-9a-fA-F]+)\))?(?: +[0-9a-fA-F]*)?$`)

// setName matches the name of a variable in a memory map.
var setName = lazy.Regexp(`^\w{1,32}$`)

// The most variables of a memory map, the longest value, and the most variables in a file's name: values must not make
// a forged map much larger.
const (
	maxSet   = 100
	maxValue = 256
	maxUsed  = 4
)

// briefLine takes a line of a memory map, which may also be one of /proc/PID/maps. A line NAME=VALUE gives the variable
// $NAME a value in the lines that follow. Other lines are ignored.
func (m *maps) briefLine(text string) error {
	b := briefMapping().FindStringSubmatch(text)
	if b == nil {
		text = strings.TrimSpace(text)
		if name, value, ok := strings.Cut(text, "="); ok && setName().MatchString(name) && len(m.set) < 2*maxSet &&
			len(value) <= maxValue {
			m.set = append(m.set, "$"+name, value)
			m.replace = strings.NewReplacer(m.set...)
			return nil
		}
		n := len(m.list)
		if err := m.line(text); n == maxMappings {
			return err
		}
		return nil // not a mapping: ignored, too
	}
	start, err := strconv.ParseUint(b[1], 16, 64)
	end, err2 := strconv.ParseUint(b[2], 16, 64)
	offset := uint64(0)
	var err3 error
	if b[4] != "" {
		offset, err3 = strconv.ParseUint(b[4], 16, 64)
	}
	if errors.Join(err, err2, err3) != nil || start >= end {
		return fmt.Errorf("%.80q: invalid addresses", text)
	}
	path := b[3]
	if n := strings.Count(path, "$"); m.replace != nil && n > 0 && n <= maxUsed {
		path = m.replace.Replace(path)
	}
	if path != "" && path[0] != '[' || path == "[vdso]" {
		return m.add(mapping{start, end, offset, path})
	}
	return nil
}

// modules returns the files, each with its addresses.
func (m *maps) modules(addresses []uint64) (list []event.Module) {
	byPath := make(map[string]int)
	var first []*mapping
	for i := range m.list {
		v := &m.list[i]
		i, known := byPath[v.path]
		if !known {
			i = len(list)
			byPath[v.path] = i
			list = append(list, event.Module{ID: uint32(i + 1), Path: v.path, Start: v.start, Unload: -1})
			first = append(first, v)
		}
		list[i].Start, list[i].End = min(list[i].Start, v.start), max(list[i].End, v.end)
	}
	slices.SortStableFunc(list, func(a, b event.Module) int { return cmp.Compare(a.Start, b.Start) })
	used := make([]bool, len(list))
	for _, a := range addresses {
		if k := moduleOf(list, a); k >= 0 {
			used[k] = true
		}
	}
	for k := range list {
		v := first[list[k].ID-1]
		list[k].Bias = v.start - v.offset
		if used[k] {
			list[k].Bias = bias(v)
		}
	}
	return list
}

// bias returns the difference between addresses in the process and in a file. A missing file is assumed to be linked to
// address 0.
func bias(v *mapping) uint64 {
	if !filepath.IsAbs(v.path) { // only the file's name is known
		return v.start - v.offset
	}
	f, err := elfx.Open(v.path)
	if err != nil {
		return v.start - v.offset
	}
	defer f.Close()
	address, ok := f.AddressAt(v.offset)
	if !ok {
		return v.start - v.offset
	}
	return v.start - address
}

// place is an address: its number in the import, whether it belongs to the allocator, and whether the profile names its
// function.
type place struct {
	id               int32
	allocator, named bool
}

// allocator matches functions and files of the allocator, which are at the leaves of these tools' call stacks.
var allocator = lazy.Regexp(`^(je_|prof_|imalloc|ialloc|tc_|do_malloc|tcmalloc::|MallocHook|` +
	`(malloc|calloc|realloc|memalign|posix_memalign|aligned_alloc)$|` +
	`operator new)|/lib(jemalloc|tcmalloc)[^/]*\.so[^/]*$`)

// places looks up addresses, which are distinct. known has the names from the profile itself.
func (m *maps) places(t *merge.Imported, addresses []uint64, known map[uint64][]event.Frame, names Names) []place {
	var modules []event.Module
	if names != nil {
		modules = m.modules(addresses)
	}
	order := make([]uint32, len(addresses)) // addresses are looked up, and numbered, in ascending order
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Compare(addresses[a], addresses[b]) })
	pcs := make([]event.PC, len(order))
	for i, n := range order {
		pcs[i].Addr = addresses[n]
		if k := moduleOf(modules, addresses[n]); k >= 0 {
			pcs[i].Module = modules[k].ID
		}
	}
	frames := make([][]event.Frame, len(pcs))
	// If a memory map has only the files' names, the files are unknown.
	files := slices.DeleteFunc(slices.Clone(modules),
		func(m event.Module) bool { return m.Path[0] != '/' && m.Path[0] != '[' })
	if len(files) > 0 {
		frames, _ = names(context.Background(), files, pcs)
		t.Note("Function names come from the modules' current files, which may differ: their build ids are unknown.")
	}
	out := make([]place, len(addresses))
	for i, n := range order {
		a := addresses[n]
		p := place{named: known[a] != nil}
		if p.named {
			frames[i] = known[a]
		}
		number, at := merge.NoModule, a
		if k := moduleOf(modules, a); k >= 0 {
			mod := &modules[k]
			number, at = t.Module(mod.Path, nil, mod.Start-mod.Bias), a-mod.Bias
			p.allocator = allocator().MatchString(mod.Path)
		}
		for _, f := range frames[i] {
			p.allocator = p.allocator || allocator().MatchString(f.Function)
		}
		p.id = t.PC(number, at, false, frames[i])
		out[n] = p
	}
	return out
}

// moduleOf returns the index of the module that contains an address; -1: none.
func moduleOf(modules []event.Module, a uint64) int {
	at, found := slices.BinarySearchFunc(modules, a,
		func(m event.Module, a uint64) int { return cmp.Compare(m.Start, a) })
	if !found {
		at--
	}
	if at >= 0 && a >= modules[at].End {
		return -1
	}
	return at
}
