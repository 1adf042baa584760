package elfx

import (
	"bytes"
	"cmp"
	"debug/elf"
	"slices"
	"strings"
)

// Symbol is the function that an address belongs to.
type Symbol struct {
	Name  string // as in the symbol table, without a version; "" if no function covers the address
	Start uint64
	Size  uint64 // 0: the table does not say
}

// maxName limits the length of a symbol's name. Templates make names of tens of thousands of characters.
const maxName = 1 << 16

type rawSymbol struct {
	name  uint32
	kind  elf.SymType
	bind  elf.SymBind
	shndx uint16
	value uint64
	size  uint64
}

// eachSymbol calls visit for every entry of the symbol tables of one type, until visit returns false.
func (f *File) eachSymbol(table elf.SectionType, visit func(s rawSymbol, strings []byte) bool) {
	for _, sec := range f.elf.Sections {
		if sec.Type != table || int64(sec.Link) >= int64(len(f.elf.Sections)) {
			continue
		}
		link := f.elf.Sections[sec.Link]
		names, b := f.slice(link.Offset, link.FileSize), f.slice(sec.Offset, sec.FileSize)
		if link.Type == elf.SHT_NOBITS || sec.Flags&elf.SHF_COMPRESSED != 0 || link.Flags&elf.SHF_COMPRESSED != 0 {
			continue
		}
		o := f.elf.ByteOrder
		entry := elf.Sym64Size
		if f.Class == elf.ELFCLASS32 {
			entry = elf.Sym32Size
		}
		for ; len(b) >= entry; b = b[entry:] {
			var s rawSymbol
			var info byte
			s.name = o.Uint32(b)
			if entry == elf.Sym64Size {
				info, s.shndx, s.value, s.size = b[4], o.Uint16(b[6:]), o.Uint64(b[8:]), o.Uint64(b[16:])
			} else {
				info, s.shndx = b[12], o.Uint16(b[14:])
				s.value, s.size = uint64(o.Uint32(b[4:])), uint64(o.Uint32(b[8:]))
			}
			s.kind, s.bind = elf.ST_TYPE(info), elf.ST_BIND(info)
			if !visit(s, names) {
				return
			}
		}
	}
}

// candidate is the best symbol so far for one address.
type candidate struct {
	s     rawSymbol
	names []byte
	ok    bool
}

// Symbols returns, for every address, the function that it belongs to. The addresses must be in ascending order.
//
// .symtab is searched first, then .dynsym for the remaining addresses. A symbol with a size covers exactly that; one
// without reaches to the next symbol or to the end of its section. Of several that cover an address the innermost is
// chosen, then a function before a label, then global before local before weak, then the name with fewer leading
// underscores, the shorter one, the first in the alphabet.
func (f *File) Symbols(addrs []uint64) ([]Symbol, error) {
	result := make([]Symbol, len(addrs))
	err := Contain(func() error {
		f.lookup(elf.SHT_SYMTAB, addrs, result)
		var rest []uint64
		var where []int
		for i := range result {
			if result[i].Name == "" {
				rest, where = append(rest, addrs[i]), append(where, i)
			}
		}
		if len(rest) > 0 {
			found := make([]Symbol, len(rest))
			f.lookup(elf.SHT_DYNSYM, rest, found)
			for i, w := range where {
				result[w] = found[i]
			}
		}
		return nil
	})
	return result, err
}

func (f *File) lookup(table elf.SectionType, addrs []uint64, result []Symbol) {
	sized := make([]candidate, len(addrs))
	before := make([]candidate, len(addrs)) // the last symbol that starts at or before the address
	budget := 1 << 28                       // forged tables of overlapping symbols must not take too long
	f.eachSymbol(table, func(s rawSymbol, names []byte) bool {
		if !f.isCode(s, names) {
			return true
		}
		first, _ := slices.BinarySearch(addrs, s.value)
		if first == len(addrs) {
			return true
		}
		if better(s, names, &before[first]) {
			before[first] = candidate{s, names, true}
		}
		end := s.value + s.size
		if end < s.value {
			return true
		}
		for i := first; i < len(addrs) && addrs[i] < end; i++ {
			if budget--; better(s, names, &sized[i]) {
				sized[i] = candidate{s, names, true}
			}
		}
		return budget > 0
	})
	var last candidate
	for i, a := range addrs {
		if before[i].ok {
			last = before[i]
		}
		c := sized[i]
		if !c.ok && last.ok && last.s.size == 0 && f.sectionHolds(last.s.shndx, a) {
			c = last
		}
		if c.ok {
			result[i] = Symbol{symbolName(c.s, c.names), c.s.value, c.s.size}
		}
	}
}

// isCode reports whether a symbol names code: a function, or a label of hand-written assembly.
func (f *File) isCode(s rawSymbol, names []byte) bool {
	switch s.kind {
	case elf.STT_FUNC, elf.STT_GNU_IFUNC:
		return s.shndx != uint16(elf.SHN_UNDEF) && s.value != 0
	case elf.STT_NOTYPE:
		if int(s.shndx) >= len(f.elf.Sections) || f.elf.Sections[s.shndx].Flags&elf.SHF_EXECINSTR == 0 {
			return false
		}
		n := rawName(s, names)
		return len(n) > 0 && n[0] != '$' // $x and $d mark code and data on Arm
	}
	return false
}

func (f *File) sectionHolds(index uint16, addr uint64) bool {
	if int(index) >= len(f.elf.Sections) {
		return false
	}
	s := f.elf.Sections[index]
	return addr >= s.Addr && addr-s.Addr < s.Size
}

func better(s rawSymbol, names []byte, than *candidate) bool {
	if !than.ok {
		return true
	}
	t := &than.s
	if s.value != t.value {
		return s.value > t.value
	}
	if c := cmp.Or(cmp.Compare(kindRank(s.kind), kindRank(t.kind)), cmp.Compare(min(s.size, 1), min(t.size, 1)),
		cmp.Compare(bindRank(s.bind), bindRank(t.bind))); c != 0 {
		return c > 0
	}
	return nameBefore(symbolName(s, names), symbolName(than.s, than.names))
}

func kindRank(k elf.SymType) int {
	if k == elf.STT_NOTYPE {
		return 0
	}
	return 1
}

func bindRank(b elf.SymBind) int {
	switch b {
	case elf.STB_GLOBAL:
		return 2
	case elf.STB_LOCAL:
		return 1
	}
	return 0
}

func nameBefore(a, b string) bool {
	underscores := func(s string) int { return len(s) - len(strings.TrimLeft(s, "_")) }
	return cmp.Or(cmp.Compare(underscores(a), underscores(b)), cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) < 0
}

// rawName returns a name's bytes, without the NUL.
func rawName(s rawSymbol, names []byte) []byte {
	if uint64(s.name) >= uint64(len(names)) {
		return nil
	}
	n := names[s.name:min(uint64(s.name)+maxName, uint64(len(names)))]
	if i := bytes.IndexByte(n, 0); i >= 0 {
		return n[:i]
	}
	return n
}

// symbolName returns a name without its version: memcpy@@GLIBC_2.14 is memcpy.
func symbolName(s rawSymbol, names []byte) string {
	n := rawName(s, names)
	if i := bytes.IndexByte(n, '@'); i > 0 {
		n = n[:i]
	}
	return string(n)
}
