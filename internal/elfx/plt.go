package elfx

import (
	"debug/elf"
	"slices"
	"strings"
)

// PLT names the stubs of the procedure linkage table: for each address, in ascending order, that is in a stub, the
// function to which the stub jumps. x86-64 only; elsewhere all names are empty.
func (f *File) PLT(addrs []uint64) ([]string, error) {
	names := make([]string, len(addrs))
	if f.Machine != elf.EM_X86_64 || !f.Little() || f.Class != elf.ELFCLASS64 {
		return names, nil
	}
	err := Contain(func() error {
		slots := map[uint64][]int{} // address in the global offset table -> indexes of addrs
		for _, s := range f.elf.Sections {
			if s.Name != ".plt" && !strings.HasPrefix(s.Name, ".plt.") || s.Type != elf.SHT_PROGBITS {
				continue
			}
			i, _ := slices.BinarySearch(addrs, s.Addr)
			for ; i < len(addrs) && addrs[i]-s.Addr < s.Size; i++ {
				if slot, ok := f.stub(s, addrs[i]); ok {
					slots[slot] = append(slots[slot], i)
				}
			}
		}
		if len(slots) > 0 {
			f.relocations(slots, names)
		}
		return nil
	})
	return names, err
}

// stub returns the slot through which the stub around addr jumps: jmp *disp32(%rip), at an offset of at most 5 in a
// stub of 8 (.plt.got) or 16 bytes.
func (f *File) stub(s *elf.Section, addr uint64) (uint64, bool) {
	size := uint64(16)
	if s.Name == ".plt.got" && s.Entsize == 8 {
		size = 8
	}
	start := (addr - s.Addr) / size * size
	b := f.slice(s.Offset+start, min(size, s.Size-start))
	for i := 0; i <= 5 && i+6 <= len(b); i++ {
		if b[i] == 0xff && b[i+1] == 0x25 {
			disp := int32(f.elf.ByteOrder.Uint32(b[i+2:]))
			return s.Addr + start + uint64(i) + 6 + uint64(int64(disp)), true
		}
	}
	return 0, false
}

// relocations finds the symbols whose addresses the loader writes to the slots.
func (f *File) relocations(slots map[uint64][]int, names []string) {
	const entry = 24
	for _, s := range f.elf.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 || int64(s.Link) >= int64(len(f.elf.Sections)) {
			continue
		}
		table := f.elf.Sections[s.Link]
		if table.Type != elf.SHT_DYNSYM || int64(table.Link) >= int64(len(f.elf.Sections)) {
			continue
		}
		symbols := f.slice(table.Offset, table.FileSize)
		link := f.elf.Sections[table.Link]
		stringsOf := f.slice(link.Offset, link.FileSize)
		for b := f.slice(s.Offset, s.FileSize); len(b) >= entry; b = b[entry:] {
			at := slots[f.elf.ByteOrder.Uint64(b)]
			if at == nil {
				continue
			}
			index := f.elf.ByteOrder.Uint64(b[8:]) >> 32
			if (index+1)*elf.Sym64Size > uint64(len(symbols)) {
				continue
			}
			sym := rawSymbol{name: f.elf.ByteOrder.Uint32(symbols[index*elf.Sym64Size:])}
			for _, i := range at {
				names[i] = symbolName(sym, stringsOf)
			}
		}
	}
}
