package symbolize

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/elfx"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/tests/need"
	"github.com/heaptap/heaptap/tests/symbols"
)

// Wherever the debug information is and however it is packed, the names are those of the plain program.
func TestWhereDebugInformationLies(t *testing.T) {
	t.Parallel()
	program := build(t, "shapes.cc", "program", "g++", "-std=c++17", "-g", "-O2", "-Wl,--build-id=sha1")
	f, err := elfx.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	addrs, id := functionBytes(t, f), f.BuildID()
	want := resolve(t, program, id, addrs)
	if n := len(addrs); n < minAddresses {
		t.Fatalf("only %d addresses", n)
	}
	inlined := 0
	for _, w := range want {
		inlined += max(len(w)-1, 0)
	}
	if inlined < 1000 {
		t.Fatalf("only %d inlined frames: this compares too little", inlined)
	}
	hex := fmt.Sprintf("%x", id)

	for _, c := range []struct {
		name string
		// make returns the program's path and the directories of separate debug files.
		make func(t *testing.T, dir string) (string, []string)
	}{
		{"zlib", func(t *testing.T, dir string) (string, []string) {
			run(t, "objcopy", "--compress-debug-sections=zlib", program, dir+"/p")
			return dir + "/p", nil
		}},
		{"zlib-gnu", func(t *testing.T, dir string) (string, []string) {
			run(t, "objcopy", "--compress-debug-sections=zlib-gnu", program, dir+"/p")
			return dir + "/p", nil
		}},
		{"zstd", func(t *testing.T, dir string) (string, []string) {
			if !strings.Contains(run(t, "objcopy", "--help"), "zstd") {
				t.Skip("objcopy knows no zstd")
			}
			run(t, "objcopy", "--compress-debug-sections=zstd", program, dir+"/p")
			return dir + "/p", nil
		}},
		{"build-id", func(t *testing.T, dir string) (string, []string) {
			debug := filepath.Join(dir, "debug", ".build-id", hex[:2])
			if err := os.MkdirAll(debug, 0o755); err != nil {
				t.Fatal(err)
			}
			run(t, "objcopy", "--only-keep-debug", program, filepath.Join(debug, hex[2:]+".debug"))
			run(t, "objcopy", "--strip-all", program, dir+"/p")
			return dir + "/p", []string{dir + "/debug"}
		}},
		{"debuglink", func(t *testing.T, dir string) (string, []string) {
			run(t, "objcopy", "--only-keep-debug", program, dir+"/p.debug")
			run(t, "objcopy", "--strip-all", "--add-gnu-debuglink="+dir+"/p.debug", program, dir+"/p")
			return dir + "/p", []string{}
		}},
		{"debuglink in .debug, compressed", func(t *testing.T, dir string) (string, []string) {
			if err := os.Mkdir(dir+"/.debug", 0o755); err != nil {
				t.Fatal(err)
			}
			run(t, "objcopy", "--only-keep-debug", "--compress-debug-sections", program, dir+"/.debug/p.debug")
			run(t, "objcopy", "--strip-all", "--add-gnu-debuglink="+dir+"/.debug/p.debug", program, dir+"/p")
			return dir + "/p", []string{}
		}},
		{"debuglink in a global directory", func(t *testing.T, dir string) (string, []string) {
			debug := filepath.Join(dir, "debug", dir)
			if err := os.MkdirAll(debug, 0o755); err != nil {
				t.Fatal(err)
			}
			run(t, "objcopy", "--only-keep-debug", program, debug+"/p.debug")
			run(t, "objcopy", "--strip-all", "--add-gnu-debuglink="+debug+"/p.debug", program, dir+"/p")
			return dir + "/p", []string{dir + "/debug"}
		}},
		{"debug file by build id, program gone", func(t *testing.T, dir string) (string, []string) {
			debug := filepath.Join(dir, "debug", ".build-id", hex[:2])
			if err := os.MkdirAll(debug, 0o755); err != nil {
				t.Fatal(err)
			}
			copyOf(t, program, filepath.Join(debug, hex[2:]+".debug"))
			return dir + "/p", []string{dir + "/debug"}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path, dirs := c.make(t, t.TempDir())
			got, notes := ask(Options{DebugDirs: dirs}, path, id, addrs)
			if len(notes) > 0 {
				t.Errorf("notes: %q", notes)
			}
			sameFrames(t, got, want)
		})
	}
}

// sameFrames compares answers about the same addresses and shows the first difference.
func sameFrames(t *testing.T, got, want [][]event.Frame) {
	t.Helper()
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("address %d: got%s\nwant%s", i, text(got[i]), text(want[i]))
			return
		}
	}
}

func ask(o Options, path string, id []byte, addrs []uint64) ([][]event.Frame, []string) {
	pcs := make([]event.PC, len(addrs))
	for i, a := range addrs {
		pcs[i] = event.PC{Addr: a, Module: 1, Interrupted: true}
	}
	return New(o).Resolve(context.Background(), []event.Module{{ID: 1, Path: path, BuildID: id}}, pcs)
}

// Names from another build would look right and be wrong: none are used, and a note says why.
func TestAnotherBuild(t *testing.T) {
	t.Parallel()
	one := build(t, "plain.c", "p", "gcc", "-g", "-O2", "-Wl,--build-id=sha1")
	two := build(t, "plain.c", "p", "gcc", "-g", "-O0", "-Wl,--build-id=sha1")
	f, err := elfx.Open(one)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	addrs, id := functionBytes(t, f), f.BuildID()
	hex := fmt.Sprintf("%x", id)

	t.Run("replaced", func(t *testing.T) {
		expectNoNames(t, Options{}, two, id, addrs, "replaced since it was loaded")
	})
	t.Run("without a build id", func(t *testing.T) {
		bare := filepath.Join(t.TempDir(), "p")
		run(t, "objcopy", "--remove-section=.note.gnu.build-id", two, bare)
		expectNoNames(t, Options{}, bare, id, addrs, "missing")
	})
	t.Run("gone", func(t *testing.T) {
		expectNoNames(t, Options{}, one+".gone", id, addrs, "no such file")
	})
	t.Run("not ELF", func(t *testing.T) {
		text := filepath.Join(t.TempDir(), "p")
		if err := os.WriteFile(text, []byte("#!/bin/sh\nexit 0\n# long enough to have a header\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		expectNoNames(t, Options{}, text, id, addrs, "not an ELF file")
	})
	t.Run("debug file of another build by build id", func(t *testing.T) {
		dir := t.TempDir()
		debug := filepath.Join(dir, ".build-id", hex[:2])
		if err := os.MkdirAll(debug, 0o755); err != nil {
			t.Fatal(err)
		}
		copyOf(t, two, filepath.Join(debug, hex[2:]+".debug"))
		run(t, "objcopy", "--strip-all", one, dir+"/p")
		got, notes := ask(Options{DebugDirs: []string{dir}}, dir+"/p", id, addrs)
		noLines(t, got)
		if s := strings.Join(notes, "\n"); !strings.Contains(s, "build id") {
			t.Errorf("notes: %q", notes)
		}
	})
	t.Run("debug file of another build by link", func(t *testing.T) {
		dir := t.TempDir()
		run(t, "objcopy", "--only-keep-debug", one, dir+"/p.debug")
		run(t, "objcopy", "--strip-all", "--add-gnu-debuglink="+dir+"/p.debug", one, dir+"/p")
		copyOf(t, two, dir+"/p.debug")
		got, notes := ask(Options{DebugDirs: []string{}}, dir+"/p", id, addrs)
		noLines(t, got)
		if s := strings.Join(notes, "\n"); !strings.Contains(s, "another build") {
			t.Errorf("notes: %q", notes)
		}
	})
	t.Run("checksum decides without build ids", func(t *testing.T) {
		dir := t.TempDir()
		run(t, "objcopy", "--remove-section=.note.gnu.build-id", one, dir+"/whole")
		run(t, "objcopy", "--only-keep-debug", dir+"/whole", dir+"/p.debug")
		run(t, "objcopy", "--strip-all", "--add-gnu-debuglink="+dir+"/p.debug", dir+"/whole", dir+"/p")
		want, _ := ask(Options{}, dir+"/whole", nil, addrs)
		got, notes := ask(Options{DebugDirs: []string{}}, dir+"/p", nil, addrs)
		sameFrames(t, got, want)
		if len(notes) > 0 {
			t.Errorf("notes %q", notes)
		}
		fd, err := os.OpenFile(dir+"/p.debug", os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		fd.WriteString("x")
		fd.Close()
		got, _ = ask(Options{DebugDirs: []string{}}, dir+"/p", nil, addrs)
		noLines(t, got)
	})
}

// expectNoNames expects no names at all, and a note.
func expectNoNames(t *testing.T, o Options, path string, id []byte, addrs []uint64, note string) {
	t.Helper()
	got, notes := ask(o, path, id, addrs)
	if i := slices.IndexFunc(got, func(f []event.Frame) bool { return len(f) > 0 }); i >= 0 {
		t.Errorf("%#x: got%s", addrs[i], text(got[i]))
	}
	if len(notes) != 1 || !strings.Contains(notes[0], note) {
		t.Errorf("notes %q, want one with %q", notes, note)
	}
}

func noLines(t *testing.T, got [][]event.Frame) {
	t.Helper()
	for _, list := range got {
		for _, f := range list {
			if f.Line != 0 || f.File != "" {
				t.Fatalf("got %+v", f)
			}
		}
	}
}

// Without debug information, the symbol table names functions, exactly as far as they reach.
func TestSymbolsOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		strip   []string
		dynamic bool
	}{
		{"symtab", []string{"--strip-debug"}, false},
		{"dynsym", []string{"--strip-all"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			whole := build(t, "shapes.cc", c.name, "g++", "-std=c++17", "-O1", "-rdynamic", "-Wl,--build-id=sha1")
			path := filepath.Join(t.TempDir(), "p")
			run(t, "objcopy", append(c.strip, whole, path)...)
			f, err := elfx.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			addrs := functionBytes(t, f)
			if len(addrs) < minAddresses {
				t.Fatalf("only %d addresses", len(addrs))
			}
			got := resolve(t, path, f.BuildID(), addrs)
			aliases := namesByAddress(t, path, c.dynamic)
			want := toolFrames(t, "addr2line", path, addrs)
			for i, a := range addrs {
				if len(got[i]) != 1 || got[i][0].File != "" {
					t.Fatalf("%#x: got%s", a, text(got[i]))
				}
				g, w := got[i][0], want[i]
				if len(w) > 0 && symbols.Spelling(g.Function) == symbols.Spelling(w[0].Function) {
					continue
				}
				// One function may have several names: any is right. binutils does not read .dynsym here.
				linkage := g.Linkage
				if linkage == "" {
					linkage = g.Function
				}
				if !covers(aliases[linkage], a) {
					t.Fatalf("%#x: got%s\nwant%s", a, text(got[i]), text(w))
				}
			}
		})
	}
}

type span struct{ start, size uint64 }

// namesByAddress reads a symbol table with nm.
func namesByAddress(t *testing.T, path string, dynamic bool) map[string][]span {
	t.Helper()
	args := []string{"-S", path}
	if dynamic {
		args = append(args, "-D")
	}
	names := map[string][]span{}
	for _, line := range strings.Split(run(t, "nm", args...), "\n") {
		var s span
		var kind, name string
		if n, _ := fmt.Sscanf(line, "%x %x %s %s", &s.start, &s.size, &kind, &name); n == 4 {
			name, _, _ = strings.Cut(name, "@")
			names[name] = append(names[name], s)
		}
	}
	return names
}

func covers(spans []span, a uint64) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return a >= s.start && a-s.start < s.size })
}

// dwz moves what several files share to a third file, and within a file to partial units.
func TestSupplementaryFile(t *testing.T) {
	t.Parallel()
	need.Tool(t, "dwz")
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		one := build(t, "shapes.cc", "one", "g++", "-std=c++17", version, "-O2", "-Wl,--build-id=sha1")
		two := build(t, "shapes.cc", "two", "g++", "-std=c++17", version, "-O1", "-Wl,--build-id=sha1")
		f, err := elfx.Open(one)
		if err != nil {
			t.Fatal(err)
		}
		addrs, id := functionBytes(t, f), f.BuildID()
		f.Close()
		want := resolve(t, one, id, addrs)
		dir := t.TempDir()
		a, b := copyOf(t, one, dir+"/one"), copyOf(t, two, dir+"/two")
		run(t, "dwz", "-m", dir+"/shared", "-r", a, b)
		if f, err = elfx.Open(a); err != nil {
			t.Fatal(err)
		}
		if !f.HasSection(".gnu_debugaltlink") {
			t.Fatal("dwz made no shared file")
		}
		f.Close()
		got, notes := ask(Options{}, a, id, addrs)
		sameFrames(t, got, want)
		if len(notes) > 0 {
			t.Errorf("%s: notes %q", version, notes)
		}
		if err := os.Remove(dir + "/shared"); err != nil {
			t.Fatal(err)
		}
		got, notes = ask(Options{}, a, id, addrs)
		if len(notes) != 1 || !strings.Contains(notes[0], "shared") {
			t.Errorf("%s: without the shared file: notes %q", version, notes)
		}
		lines := 0
		for i := range got {
			if n := len(got[i]); n > 0 && got[i][n-1].Line == want[i][len(want[i])-1].Line {
				lines++
			}
		}
		if lines < len(addrs)*9/10 {
			t.Errorf("%s: without the shared file only %d of %d lines are right", version, lines, len(addrs))
		}
	}
}

// A debug file that is not here is fetched, and used only if it has the right build id.
func TestFetch(t *testing.T) {
	t.Parallel()
	program := build(t, "plain.c", "p", "gcc", "-g", "-O2", "-Wl,--build-id=sha1")
	other := build(t, "plain.c", "p", "gcc", "-g", "-O0", "-Wl,--build-id=sha1")
	f, err := elfx.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	addrs, id := functionBytes(t, f), f.BuildID()
	want := resolve(t, program, id, addrs)
	stripped := filepath.Join(t.TempDir(), "p")
	run(t, "objcopy", "--strip-all", program, stripped)
	for _, c := range []struct {
		answer string
		err    error
		note   string
	}{{program, nil, ""}, {"", nil, "none"}, {other, nil, "build id"}, {"", errors.New("no way"), "no way"},
		{stripped + ".gone", nil, "no such file"}} {
		asked := 0
		o := Options{DebugDirs: []string{}, Fetch: func(_ context.Context, which []byte) (string, error) {
			if asked++; !bytes.Equal(which, id) {
				t.Errorf("asked for %x", which)
			}
			return c.answer, c.err
		}}
		got, notes := ask(o, stripped, id, addrs)
		if asked != 1 {
			t.Errorf("%q: asked %d times", c.answer, asked)
		}
		switch {
		case c.note == "":
			sameFrames(t, got, want)
		case c.note == "none":
			noLines(t, got)
		default:
			noLines(t, got)
			if len(notes) != 1 || !strings.Contains(notes[0], c.note) {
				t.Errorf("%q: notes %q", c.answer, notes)
			}
			continue
		}
		if len(notes) > 0 {
			t.Errorf("%q: notes %q", c.answer, notes)
		}
	}
	asked := false
	ask(Options{Fetch: func(context.Context, []byte) (string, error) { asked = true; return "", nil }}, program, id,
		addrs)
	if asked {
		t.Error("Fetch was called for a file that is here")
	}
}
