package symbolize

import (
	"debug/elf"
	"path/filepath"
	"testing"
)

// _start and main of a stripped program are as in the symbol table of the unstripped one, to the byte.
func TestStartupOfStripped(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"pie":    {"-pie", "-fPIE"},
		"fixed":  {"-no-pie"},
		"lazy":   {"-pie", "-fPIE", "-Wl,-z,lazy", "-fplt"},
		"clang":  {"-pie", "-fPIE"},
		"static": {"-static"},
	} {
		compiler := "gcc"
		if name == "clang" {
			compiler = "clang"
		}
		whole := build(t, "startup.c", name, compiler, append(flags, "-O2", "-Wl,--build-id=sha1")...)
		stripped := filepath.Join(t.TempDir(), name)
		run(t, "objcopy", "--strip-all", whole, stripped)
		e, err := elf.Open(whole)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		table, err := e.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		f := openELF(t, stripped)
		want := map[string]elf.Symbol{}
		for _, s := range table {
			if s.Name == "main" || s.Name == "_start" {
				want[s.Name] = s
			}
		}
		if len(want) != 2 {
			t.Fatalf("%s: the unstripped program has %v", name, want)
		}
		got := f.Startup()
		if name == "static" { // main cannot be found: __libc_start_main is called directly and has no name
			if len(got) > 0 {
				t.Errorf("%s: %v", name, got)
			}
			continue
		}
		if len(got) != 2 {
			t.Fatalf("%s: found %v", name, got)
		}
		for _, s := range got {
			w := want[s.Name]
			if s.Start != w.Value || s.Size != w.Size {
				t.Errorf("%s: %s at %#x, %d bytes; want %#x, %d bytes", name, s.Name, s.Start, s.Size, w.Value, w.Size)
			}
			frames := resolve(t, stripped, f.BuildID(), []uint64{w.Value, w.Value + w.Size - 1, w.Value + w.Size})
			if len(frames[0]) != 1 || len(frames[1]) != 1 || frames[0][0].Function != s.Name ||
				frames[1][0].Function != s.Name {
				t.Errorf("%s: %s is called %v", name, s.Name, frames[:2])
			}
			if len(frames[2]) == 1 && frames[2][0].Function == s.Name {
				t.Errorf("%s: the byte after %s has its name, too", name, s.Name)
			}
		}
	}
}
