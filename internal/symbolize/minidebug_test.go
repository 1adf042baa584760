package symbolize

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/elfx"
	"github.com/heaptap/heaptap/tests/need"
	"github.com/heaptap/heaptap/tests/symbols"
)

// A stripped program with a small symbol table in .gnu_debugdata, as Fedora makes it, has the names of the unstripped
// one.
func TestMiniDebugInfo(t *testing.T) {
	t.Parallel()
	need.Tool(t, "xz")
	dir := t.TempDir()
	whole := build(t, "shapes.cc", "whole", "g++", "-std=c++17", "-O1", "-Wl,--build-id=sha1")
	mini, path := filepath.Join(dir, "mini"), filepath.Join(dir, "p")
	run(t, "objcopy", "--strip-debug", "--only-keep-debug", whole, mini)
	for _, level := range []string{"-6", "-9e", "--block-size=1MiB", "--check=crc32"} {
		run(t, "xz", "-kf", level, mini)
		run(t, "objcopy", "--strip-all", "--add-section=.gnu_debugdata="+mini+".xz", whole, path)
		f, err := elfx.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		addrs := functionBytes(t, openELF(t, whole))
		if len(addrs) < minAddresses || f.HasSymtab() {
			t.Fatalf("%d addresses, full symbol table: %v", len(addrs), f.HasSymtab())
		}
		got := resolve(t, path, f.BuildID(), addrs)
		f.Close()
		for i, w := range toolFrames(t, "addr2line", whole, addrs) {
			if len(got[i]) != 1 || len(w) != 1 ||
				symbols.Spelling(got[i][0].Function) != symbols.Spelling(w[0].Function) {
				t.Fatalf("%s: %#x: got%s\nwant%s", level, addrs[i], text(got[i]), text(w))
			}
		}
	}

	// If it is damaged, there is a note, and the dynamic symbols are used.
	packed, err := os.ReadFile(mini + ".xz")
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(b []byte) []byte{
		"cut":        func(b []byte) []byte { return b[:len(b)/2] },
		"empty":      func(b []byte) []byte { return b[:1] },
		"dictionary": func(b []byte) []byte { b[12+2+2] = 40; return b },
		"filter":     func(b []byte) []byte { b[12+2] = 3; return b },
	} {
		bad := filepath.Join(dir, "bad")
		if err := os.WriteFile(bad, damage(append([]byte(nil), packed...)), 0o644); err != nil {
			t.Fatal(err)
		}
		run(t, "objcopy", "--strip-all", "--add-section=.gnu_debugdata="+bad, whole, path)
		f := openELF(t, path)
		_, notes := ask(Options{DebugDirs: []string{}}, path, f.BuildID(), []uint64{f.Code()[0].Start})
		if len(notes) != 1 || !strings.Contains(notes[0], "section .gnu_debugdata: ") {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
}

func openELF(t *testing.T, path string) *elfx.File {
	t.Helper()
	f, err := elfx.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
