package elfx

import "debug/elf"

// Writable returns the address ranges of the segments that the program may write to: its data, also zero-initialised.
func (f *File) Writable() []Span {
	var spans []Span
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_W != 0 && p.Vaddr+p.Memsz > p.Vaddr {
			spans = append(spans, Span{p.Vaddr, p.Vaddr + p.Memsz})
		}
	}
	return spans
}

// AddressAt returns the address of a mapping that begins at an offset of the file; false if nothing that is loaded is
// there.
func (f *File) AddressAt(offset uint64) (uint64, bool) {
	const page = 4096
	for _, p := range f.elf.Progs {
		if begin := p.Off &^ (page - 1); p.Type == elf.PT_LOAD && offset >= begin && offset < p.Off+p.Filesz {
			return p.Vaddr - p.Off + offset, true
		}
	}
	return 0, false
}
