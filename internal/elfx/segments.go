package elfx

import "debug/elf"

// Writable returns the address ranges of the segments that the program may write to: its data, and what is zero at first.
func (f *File) Writable() []Span {
	var spans []Span
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_W != 0 && p.Vaddr+p.Memsz > p.Vaddr {
			spans = append(spans, Span{p.Vaddr, p.Vaddr + p.Memsz})
		}
	}
	return spans
}
