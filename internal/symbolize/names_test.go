package symbolize

import (
	"bytes"
	"context"
	"debug/elf"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/namecache"
)

// The second run knows the names that the first one found, without reading the debug information again: it is made
// unreadable before. A changed file is read again.
func TestNamesAreCached(t *testing.T) {
	t.Parallel()
	whole := build(t, "shapes.cc", "p", "g++", "-std=c++17", "-g", "-O2", "-gz=zlib", "-Wl,--build-id=sha1")
	f := openELF(t, whole)
	addrs := functionBytes(t, f)
	names, err := namecache.Open(filepath.Join(t.TempDir(), "names"))
	if err != nil {
		t.Fatal(err)
	}
	defer names.Close()
	ask := func(names *namecache.Cache) ([][]event.Frame, []string) {
		pcs := make([]event.PC, len(addrs))
		for i, a := range addrs {
			pcs[i] = event.PC{Module: 1, Addr: a, Interrupted: true}
		}
		modules := []event.Module{{ID: 1, Path: whole, BuildID: f.BuildID()}}
		return New(Options{Names: names, DebugDirs: []string{}}).Resolve(context.Background(), modules, pcs)
	}
	want, notes := ask(nil)
	if len(notes) > 0 {
		t.Fatal(notes)
	}
	lines := 0
	for _, list := range want {
		if len(list) > 0 && list[0].Line > 0 {
			lines++
		}
	}
	if lines < minAddresses {
		t.Fatalf("only %d addresses have a line", lines)
	}
	for range 2 {
		if got, _ := ask(names); !cmp.Equal(want, got) {
			t.Fatalf("with a cache (-without +with):\n%s", cmp.Diff(want, got))
		}
	}

	st, err := os.Stat(whole)
	if err != nil {
		t.Fatal(err)
	}
	corrupt(t, whole, ".debug_info")
	if err := os.Chtimes(whole, st.ModTime(), st.ModTime()); err != nil {
		t.Fatal(err)
	}
	if got, _ := ask(nil); cmp.Equal(want, got) {
		t.Fatal("spoil left the debug information readable")
	}
	if got, notes := ask(names); !cmp.Equal(want, got) || len(notes) > 0 {
		t.Fatalf("names were not taken from the cache: %v (-want +got):\n%s", notes, cmp.Diff(want, got))
	}
	later := st.ModTime().Add(1)
	if err := os.Chtimes(whole, later, later); err != nil {
		t.Fatal(err)
	}
	for range 2 { // and names from a damaged file are not cached
		if got, notes := ask(names); cmp.Equal(want, got) || len(notes) == 0 {
			t.Fatal("a changed file was not read again")
		}
	}
}

// corrupt overwrites a section's compressed contents.
func corrupt(t *testing.T, path, section string) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := f.Section(section)
	if s == nil || s.Flags&elf.SHF_COMPRESSED == 0 {
		t.Fatalf("%s has no compressed section %s", path, section)
	}
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.WriteAt(bytes.Repeat([]byte{0xee}, int(s.FileSize)-24), int64(s.Offset)+24); err != nil {
		t.Fatal(err)
	}
}
