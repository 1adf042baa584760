package elfx

import (
	"cmp"
	"debug/elf"
	"slices"
	"strings"
)

// Storage says how the loader treats a section that holds data.
type Storage struct {
	Writable  bool
	Zero      bool // it takes no space in the file and is zero at first
	PerThread bool // each thread has a copy
}

// DataSection is a section that holds the program's own data, not that of the loader or the unwinder.
type DataSection struct {
	Storage
	Start, End uint64 // addresses; thread-local: offsets in the module's part of a thread's memory
}

// Object is a variable from the symbol table.
type Object struct {
	Name    string // as in the symbol table, without a version
	Addr    uint64 // thread-local: offset in the module's part of a thread's memory
	Size    uint64
	Section int // index of its DataSection, -1: none
}

// ObjectSum counts the variables of a section and their bytes, each byte once.
type ObjectSum struct{ Objects, Bytes uint64 }

// maxDataSections limits the sections of a file. Real files have about ten.
const maxDataSections = 256

// maxObjects limits the variables that are listed, at 32 bytes each. The largest programs have a million.
const maxObjects = 1 << 22

// DataSections returns the sections that hold data, by address, thread-local ones last. In a separate debug file all
// sections are empty; their names then say what they were.
func (f *File) DataSections() []DataSection {
	base := ^uint64(0)
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_TLS {
			base = p.Vaddr
		}
	}
	var list []DataSection
	for _, s := range f.elf.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Flags&elf.SHF_EXECINSTR != 0 || s.Size == 0 || s.Addr+s.Size < s.Addr ||
			s.Type != elf.SHT_PROGBITS && s.Type != elf.SHT_NOBITS || notProgramData(s) {
			continue
		}
		d := DataSection{Start: s.Addr, End: s.Addr + s.Size}
		d.PerThread, d.Writable = s.Flags&elf.SHF_TLS != 0, s.Flags&elf.SHF_WRITE != 0
		d.Zero = s.Type == elf.SHT_NOBITS && (strings.Contains(s.Name, "bss") || !f.isDebugFile())
		if d.PerThread {
			if base > s.Addr {
				continue
			}
			d.Start, d.End = d.Start-base, d.End-base
		}
		if list = append(list, d); len(list) == maxDataSections {
			break
		}
	}
	slices.SortStableFunc(list, func(a, b DataSection) int {
		return cmp.Or(cmp.Compare(rank(a.PerThread), rank(b.PerThread)), cmp.Compare(a.Start, b.Start))
	})
	return list
}

func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}

// notProgramData reports whether no programmer wrote a section.
func notProgramData(s *elf.Section) bool {
	for _, prefix := range []string{".eh_frame", ".gcc_except_table", ".interp", ".note", ".stapsdt", ".got", ".plt",
		".gnu", ".sframe"} {
		if strings.HasPrefix(s.Name, prefix) {
			return true
		}
	}
	return false
}

// isDebugFile reports whether the file is a separate debug file, which does not contain the code.
func (f *File) isDebugFile() bool {
	return slices.ContainsFunc(f.elf.Sections, func(s *elf.Section) bool {
		return s.Flags&elf.SHF_EXECINSTR != 0 && s.Type == elf.SHT_NOBITS
	})
}

// Objects returns the variables of the sections, largest first: those of at least size bytes, but at most most; and if
// these are fewer than some, the some largest ones. If a variable has several names, one is chosen. The sums are of all
// variables, one sum for each section. The symbols come from .symtab if there is one, else from .dynsym.
func (f *File) Objects(sections []DataSection, size uint64, most, some int) ([]Object, []ObjectSum, error) {
	sums := make([]ObjectSum, len(sections))
	var list []Object
	err := Contain(func() error {
		table := elf.SHT_DYNSYM
		if f.HasSymtab() {
			table = elf.SHT_SYMTAB
		}
		all, names := f.objects(table, sections)
		ends := make([]uint64, len(sections))
		for i := range all {
			o := &all[i]
			k := &sums[o.section]
			k.Objects++
			if end := o.addr + o.size; end > ends[o.section] {
				k.Bytes += end - max(o.addr, ends[o.section])
				ends[o.section] = end
			}
		}
		slices.SortStableFunc(all, func(a, b object) int { return cmp.Compare(b.size, a.size) })
		for i := range all {
			if i >= most || i >= some && all[i].size < size {
				break
			}
			o := &all[i]
			list = append(list, Object{symbolName(rawSymbol{name: o.name}, names), o.addr, o.size, int(o.section)})
		}
		return nil
	})
	return list, sums, err
}

// object is a compact form of Object.
type object struct {
	addr, size uint64
	name       uint32
	section    int32
	bind       elf.SymBind
}

// objects lists the variables of a symbol table by section and address, each once.
func (f *File) objects(table elf.SectionType, sections []DataSection) (all []object, names []byte) {
	f.eachSymbol(table, func(s rawSymbol, strings []byte) bool {
		thread := s.kind == elf.STT_TLS
		if s.kind != elf.STT_OBJECT && !thread || s.shndx == uint16(elf.SHN_UNDEF) || s.size == 0 {
			return true
		}
		if k := sectionAt(sections, s.value, thread); k >= 0 && s.size <= sections[k].End-s.value {
			names = strings
			all = append(all, object{s.value, s.size, s.name, int32(k), s.bind})
		}
		return len(all) < maxObjects
	})
	slices.SortStableFunc(all, func(a, b object) int {
		return cmp.Or(cmp.Compare(a.section, b.section), cmp.Compare(a.addr, b.addr), cmp.Compare(b.size, a.size),
			cmp.Compare(bindRank(b.bind), bindRank(a.bind)))
	})
	kept := all[:0]
	for _, o := range all {
		if n := len(kept); n > 0 && kept[n-1].section == o.section && kept[n-1].addr == o.addr {
			last := &kept[n-1]
			if last.size == o.size && last.bind == o.bind &&
				nameBefore(symbolName(rawSymbol{name: o.name}, names), symbolName(rawSymbol{name: last.name}, names)) {
				last.name = o.name
			}
			continue
		}
		kept = append(kept, o)
	}
	return kept, names
}

// sectionAt returns the index of the section that contains an address, -1 if none does.
func sectionAt(sections []DataSection, addr uint64, thread bool) int {
	for i := range sections {
		if s := &sections[i]; s.PerThread == thread && addr >= s.Start && addr < s.End {
			return i
		}
	}
	return -1
}
