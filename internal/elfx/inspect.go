package elfx

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Malloc says where a program's own malloc is, if it has one.
type Malloc int

// A program with its own malloc may never call the one that a preloaded library offers.
const (
	MallocNone Malloc = iota // the usual case: malloc comes from a library
	// Defined and exported by the executable: it comes first in the search order, before any preloaded library.
	MallocDynamic
	MallocLocal // defined in the executable, in .symtab only: the executable's calls are bound to it
)

// Info is what a launcher must know about a program before it runs it.
type Info struct {
	Class   int         // 32 or 64
	Machine elf.Machine // EM_X86_64, EM_AARCH64, ...
	Type    elf.Type    // ET_EXEC, ET_DYN, ...
	// Static: no dynamic loader will run, so nothing can be preloaded. False for the loader itself, which can be run as
	// a command.
	Static bool
	PIE    bool   // position-independent executable
	Interp string // the dynamic loader that it requests
	Malloc Malloc
	// Sanitizer names the sanitizer that the program is built with, if its library must come before any other:
	// "AddressSanitizer" and similar. If one is linked into the program, Malloc is MallocDynamic instead.
	Sanitizer string
	BuildID   []byte
	// Script: the file is not an ELF file but a script, to be run by the program Script with ScriptArg. Nothing else is
	// set then.
	Script    string
	ScriptArg string
}

// DefinesMalloc reports whether the executable has its own malloc.
func (i Info) DefinesMalloc() bool { return i.Malloc != MallocNone }

// Inspect determines what kind of program a file is. A script is not an error, see Info.Script; any other file that is
// not ELF gives an error with ErrNotELF in its chain.
func Inspect(path string) (Info, error) {
	f, err := Open(path)
	if err != nil {
		if errors.Is(err, ErrNotELF) {
			if interp, arg, ok := shebang(path); ok {
				return Info{Script: interp, ScriptArg: arg}, nil
			}
		}
		return Info{}, err
	}
	defer f.Close()
	var info Info
	err = Contain(func() error {
		info = f.inspect()
		return nil
	})
	return info, err
}

func (f *File) inspect() Info {
	info := Info{Class: 64, Machine: f.Machine, Type: f.Type, BuildID: f.BuildID()}
	if f.Class == elf.ELFCLASS32 {
		info.Class = 32
	}
	dynamic := false
	for _, p := range f.elf.Progs {
		switch p.Type {
		case elf.PT_INTERP:
			info.Interp = cString(f.slice(p.Off, min(p.Filesz, 4096)))
		case elf.PT_DYNAMIC:
			dynamic = true
		}
	}
	soname, flags := f.dynamic()
	// A static PIE has a dynamic segment but no loader; a shared library, such as the loader, has a name.
	info.Static = info.Interp == "" && (!dynamic || !soname)
	info.PIE = f.Type == elf.ET_DYN && (info.Interp != "" || flags&uint64(elf.DF_1_PIE) != 0)
	switch {
	case f.defines(elf.SHT_DYNSYM, "malloc"):
		info.Malloc = MallocDynamic
	case f.defines(elf.SHT_SYMTAB, "malloc"):
		info.Malloc = MallocLocal
	}
	libraries, _ := f.elf.ImportedLibraries() // an unreadable list is treated as empty
	for _, l := range libraries {
		for prefix, name := range sanitizers {
			if strings.HasPrefix(l, prefix) {
				info.Sanitizer = name
			}
		}
	}
	return info
}

// sanitizers whose libraries replace malloc and must come before any other library. (UBSan's need not.)
var sanitizers = map[string]string{
	"libasan.":            "AddressSanitizer",
	"libhwasan.":          "HWAddressSanitizer",
	"liblsan.":            "LeakSanitizer",
	"libtsan.":            "ThreadSanitizer",
	"libclang_rt.asan":    "AddressSanitizer",
	"libclang_rt.hwasan":  "HWAddressSanitizer",
	"libclang_rt.tsan":    "ThreadSanitizer",
	"libclang_rt.memprof": "MemProf",
	"libclang_rt.dfsan":   "DataFlowSanitizer",
}

// dynamic returns whether the file has a DT_SONAME, and its DT_FLAGS_1.
func (f *File) dynamic() (soname bool, flags uint64) {
	for _, p := range f.elf.Progs {
		if p.Type != elf.PT_DYNAMIC {
			continue
		}
		b, word := f.slice(p.Off, p.Filesz), 8
		if f.Class == elf.ELFCLASS32 {
			word = 4
		}
		for ; len(b) >= 2*word; b = b[2*word:] {
			tag, value := f.word(b), f.word(b[word:])
			switch elf.DynTag(tag) {
			case elf.DT_NULL:
				return soname, flags
			case elf.DT_SONAME:
				soname = true
			case elf.DT_FLAGS_1:
				flags = value
			}
		}
	}
	return soname, flags
}

func (f *File) word(b []byte) uint64 {
	if f.Class == elf.ELFCLASS32 {
		return uint64(f.elf.ByteOrder.Uint32(b))
	}
	return f.elf.ByteOrder.Uint64(b)
}

// defines reports whether the file itself defines a function of that name in a symbol table.
func (f *File) defines(table elf.SectionType, name string) bool {
	found := false
	f.eachSymbol(table, func(s rawSymbol, strings []byte) bool {
		if s.shndx == uint16(elf.SHN_UNDEF) || s.kind != elf.STT_FUNC && s.kind != elf.STT_GNU_IFUNC {
			return true
		}
		if uint64(s.name) < uint64(len(strings)) {
			rest := strings[s.name:]
			found = len(rest) > len(name) && string(rest[:len(name)]) == name &&
				(rest[len(name)] == 0 || rest[len(name)] == '@')
		}
		return !found
	})
	return found
}

// allocators that are linked into programs, and texts that identify them. Chromium's comes first: it contains code of
// others.
var allocators = []struct{ text, name string }{
	{"PartitionAlloc", "PartitionAlloc"}, {"<jemalloc>", "jemalloc"}, {"tcmalloc", "tcmalloc"}, {"mimalloc",
		"mimalloc"},
}

// entries are the functions of an allocator that a program may export.
var entries = []struct{ symbol, name string }{
	{"malloc", "malloc"}, {"calloc", "calloc"}, {"realloc", "realloc"}, {"free", "free"}, {"posix_memalign",
		"posix_memalign"},
	{"aligned_alloc", "aligned_alloc"}, {"memalign", "memalign"}, {"valloc", "valloc"}, {"_Znwm",
		"operator new"}, {"_ZdlPv", "operator delete"},
}

// Allocator returns the allocator that a program seems to contain, "" if unknown, and which of its functions the
// program exports.
func (f *File) Allocator() (name string, exported []string) {
	_ = Contain(func() error {
		for _, e := range entries {
			if f.defines(elf.SHT_DYNSYM, e.symbol) {
				exported = append(exported, e.name)
			}
		}
		for _, s := range f.elf.Sections {
			if s.Type != elf.SHT_PROGBITS || !strings.HasPrefix(s.Name, ".rodata") || s.Flags&elf.SHF_COMPRESSED != 0 {
				continue
			}
			text := f.slice(s.Offset, s.Size)
			for _, a := range allocators {
				if name == "" && bytes.Contains(text, []byte(a.text)) {
					name = a.name
				}
			}
		}
		return nil
	})
	return name, exported
}

// shebang reads the first line of a script.
func shebang(path string) (interp, arg string, ok bool) {
	fd, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // path may be a FIFO
	if err != nil {
		return "", "", false
	}
	defer fd.Close()
	if st, err := fd.Stat(); err != nil || !st.Mode().IsRegular() {
		return "", "", false
	}
	b := make([]byte, 256) // as much as the kernel reads
	n, _ := fd.Read(b)
	line, _, _ := bytes.Cut(b[:n], []byte("\n"))
	rest, ok := strings.CutPrefix(string(line), "#!")
	if !ok {
		return "", "", false
	}
	interp, arg, _ = strings.Cut(strings.Trim(rest, " \t"), " ")
	return interp, strings.Trim(arg, " \t"), interp != ""
}
