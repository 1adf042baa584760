package elfx

import (
	"debug/elf"
	"sort"
)

// startupLength limits the code at the entry point that is searched: glibc's _start has 34 to 47 bytes.
const startupLength = 64

// Startup returns the functions that can be found even in a stripped program: _start at the entry point, and main,
// whose address _start passes to __libc_start_main as its first argument (System V ABI, AMD64 supplement, "Process
// Initialization"). Their sizes come from .eh_frame. The list is empty unless the file is an x86-64 program for glibc.
func (f *File) Startup() (list []Symbol) {
	if f.Machine != elf.EM_X86_64 || !f.Little() || f.Class != elf.ELFCLASS64 || f.elf.Entry == 0 {
		return nil
	}
	err := Contain(func() error {
		main, ok := f.mainFunction()
		if !ok {
			return nil
		}
		for _, s := range []Symbol{{Name: "_start", Start: f.elf.Entry}, {Name: "main", Start: main}} {
			if s.Size, ok = f.unwindRange(s.Start); ok {
				list = append(list, s)
			}
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return list
}

// mainFunction finds the address of main in the code at the entry point: the last value that %rdi gets before the call
// of __libc_start_main.
func (f *File) mainFunction() (main uint64, ok bool) {
	entry := f.elf.Entry
	code := f.loaded(entry, startupLength)
	for i := 0; i+7 <= len(code); i++ {
		at := entry + uint64(i)
		operand := func(n int) uint64 { return uint64(int64(int32(f.elf.ByteOrder.Uint32(code[i+n:])))) }
		switch {
		case code[i] == 0x48 && code[i+1] == 0x8d && code[i+2] == 0x3d: // lea main(%rip),%rdi
			main = at + 7 + operand(3)
		case code[i] == 0x48 && code[i+1] == 0xc7 && code[i+2] == 0xc7: // mov $main,%rdi
			main = operand(3)
		case code[i] == 0xff && code[i+1] == 0x15: // call *slot(%rip)
			name := make([]string, 1)
			f.relocations(map[uint64][]int{at + 6 + operand(2): {0}}, name)
			return main, main != 0 && name[0] == "__libc_start_main"
		case code[i] == 0xe8: // call stub
			names, err := f.PLT([]uint64{at + 5 + operand(1)})
			if err == nil && names[0] == "__libc_start_main" {
				return main, main != 0
			}
		}
	}
	return 0, false
}

// loaded returns up to n bytes of the file that are loaded at an address.
func (f *File) loaded(addr, n uint64) []byte {
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr < p.Filesz {
			off := addr - p.Vaddr
			return f.slice(p.Off+off, min(n, p.Filesz-off))
		}
	}
	return nil
}

// Encodings of pointers in .eh_frame_hdr and .eh_frame (Linux Standard Base, "DWARF Extensions").
const (
	peUdata4  = 0x03
	peSdata4  = 0x0b
	pePCRel   = 0x10
	peDataRel = 0x30
)

// unwindRange returns the size of the function that starts at an address, from .eh_frame. It reads only what linkers
// and compilers for x86-64 write: a sorted table of 4-byte distances, and code with 4-byte addresses relative to their
// own place.
func (f *File) unwindRange(start uint64) (size uint64, ok bool) {
	const header, entry = 12, 8
	var hdr uint64
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_GNU_EH_FRAME {
			hdr = p.Vaddr
		}
	}
	head := f.loaded(hdr, header)
	if hdr == 0 || len(head) < header || head[0] != 1 || head[1] != pePCRel|peSdata4 || head[2] != peUdata4 ||
		head[3] != peDataRel|peSdata4 {
		return 0, false
	}
	o := f.elf.ByteOrder
	count := uint64(o.Uint32(head[8:]))
	table := f.loaded(hdr+header, count*entry)
	distance := func(b []byte) uint64 { return hdr + uint64(int64(int32(o.Uint32(b)))) }
	i := sort.Search(len(table)/entry, func(i int) bool { return distance(table[i*entry:]) >= start })
	if i == len(table)/entry || distance(table[i*entry:]) != start {
		return 0, false
	}
	fde := distance(table[i*entry+4:])
	b := f.loaded(fde, 16) // length, distance to the common entry, start, size
	if len(b) < 16 || fde+8+uint64(int64(int32(o.Uint32(b[8:])))) != start {
		return 0, false
	}
	size = uint64(o.Uint32(b[12:]))
	return size, size > 0
}
