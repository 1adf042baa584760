package agent_test

import (
	"debug/elf"
	"slices"
	"testing"
)

// The agent runs inside malloc: whatever it calls must neither allocate nor lock, and must be there in every libc since
// glibc 2.17, musl included. Weak imports may be missing.
var allowedImports = []string{
	"dl_iterate_phdr", // once, at start
	"__errno_location",
	"memcpy", "memmove", "memset", "memcmp", "strlen",
}

var allowedWeakImports = []string{
	"_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__cxa_finalize", "__gmon_start__", // gcc's start files
	"environ", "__environ", "getauxval",
	"__register_atfork",
	"_dl_find_object",                        // glibc 2.35
	"__tls_get_addr", "gnu_get_libc_version", // only their addresses: which module is the loader, which is glibc
	"__libc_stack_end",
	"on_exit",                                   // once, when the library is initialized
	"pthread_key_create", "pthread_setspecific", // of a key so early that its value needs no memory; see ends.c
}

func TestImports(t *testing.T) {
	f, err := elf.Open("lib/libheaptap.amd64.so")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			continue
		}
		weak := elf.ST_BIND(s.Info) == elf.STB_WEAK
		if !slices.Contains(allowedImports, s.Name) && !(weak && slices.Contains(allowedWeakImports, s.Name)) {
			t.Errorf("the agent imports %s (weak: %v), which is not on the list", s.Name, weak)
		}
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range libraries {
		if l != "libc.so.6" && l != "ld-linux-x86-64.so.2" {
			t.Errorf("the agent needs %s: it may need nothing but libc", l)
		}
	}
}
