package symbolize

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/elfx"
	"github.com/heaptap/heaptap/internal/event"
)

// Split debug information gives the same answers as that in the program itself: compilers generate the same code with
// it.
func TestSplit(t *testing.T) {
	t.Parallel()
	for _, compiler := range []string{"g++", "clang++"} {
		for _, version := range []string{"-gdwarf-4", "-gdwarf-5", "-gdwarf-5 -fdebug-types-section"} {
			t.Run(compiler+version, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				whole := compileSplit(t, dir, "whole", compiler, version)
				program := compileSplit(t, dir, "p", compiler, version, "-gsplit-dwarf")
				f, err := elfx.Open(program)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				addrs, id := functionBytes(t, f), f.BuildID()
				want, notes := ask(Options{}, whole, nil, addrs)
				inlined := 0
				for _, w := range want {
					inlined += max(len(w)-1, 0)
				}
				if len(addrs) < minAddresses || inlined < 1000 || len(notes) > 0 {
					t.Fatalf("%d addresses, %d inlined frames: this compares too little; notes %q", len(addrs), inlined,
						notes)
				}
				check := func(how, path string, dirs []string) {
					t.Helper()
					got, notes := ask(Options{DebugDirs: dirs}, path, id, addrs)
					if len(notes) > 0 {
						t.Errorf("%s: notes: %q", how, notes)
					}
					sameFrames(t, got, want)
				}
				check("where the compiler put it", program, nil)

				beside := filepath.Join(t.TempDir(), "beside")
				if err := os.Mkdir(beside, 0o755); err != nil {
					t.Fatal(err)
				}
				copyOf(t, program, beside+"/p")
				run(t, "llvm-dwp", "-e", program, "-o", beside+"/p.dwp")
				dwo, err := filepath.Glob(dir + "/*.dwo")
				if err != nil || len(dwo) != 2 {
					t.Fatal(dwo, err)
				}
				kept := t.TempDir()
				for _, d := range dwo {
					copyOf(t, d, filepath.Join(kept, filepath.Base(d)))
					if err := os.Remove(d); err != nil {
						t.Fatal(err)
					}
				}
				check("in a package", beside+"/p", nil)

				run(t, "objcopy", "--only-keep-debug", program, beside+"/p.debug")
				run(t, "objcopy", "--strip-all", "--add-gnu-debuglink="+beside+"/p.debug", program, beside+"/p")
				check("in a package, stripped", beside+"/p", []string{})

				got, notes := ask(Options{}, program, id, addrs)
				linesOnly(t, got, want)
				if len(notes) != 1 || !strings.Contains(notes[0], "2 files") ||
					!strings.Contains(notes[0], dwo[0]+" is not there") &&
						!strings.Contains(notes[0], dwo[1]+" is not there") {
					t.Errorf("without: notes: %q", notes)
				}

				for _, d := range dwo {
					copyOf(t, filepath.Join(kept, filepath.Base(d)), filepath.Join(beside, filepath.Base(d)))
				}
				if err := os.Remove(beside + "/p.dwp"); err != nil {
					t.Fatal(err)
				}
				check("beside the program", beside+"/p", []string{})

				// Of another build: the two files are swapped, so that both exist but belong to the other unit.
				copyOf(t, filepath.Join(kept, filepath.Base(dwo[0])), filepath.Join(beside, filepath.Base(dwo[1])))
				copyOf(t, filepath.Join(kept, filepath.Base(dwo[1])), filepath.Join(beside, filepath.Base(dwo[0])))
				got, notes = ask(Options{DebugDirs: []string{}}, beside+"/p", id, addrs)
				linesOnly(t, got, want)
				if len(notes) != 1 || !strings.Contains(notes[0], "another build") {
					t.Errorf("files of another build: notes %q", notes)
				}
			})
		}
	}
}

// Bytes of split debug information are replaced at random, and files truncated.
func TestSplitDamaged(t *testing.T) {
	t.Parallel()
	for seed, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		dir := t.TempDir()
		source, err := filepath.Abs("testdata/plain.c")
		if err != nil {
			t.Fatal(err)
		}
		runIn(t, dir, "gcc", version, "-gsplit-dwarf", "-O2", "-c", "-o", "p.o", source)
		runIn(t, dir, "gcc", "-o", "p", "p.o")
		f, err := elfx.Open(dir + "/p")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var addrs []uint64
		for _, c := range f.Code() {
			for a := c.Start; a < c.End; a += 3 {
				addrs = append(addrs, a)
			}
		}
		for _, name := range []string{"/p.dwo", "/p.dwp"} {
			if name == "/p.dwp" {
				run(t, "llvm-dwp", "-e", dir+"/p", "-o", dir+"/p.dwp")
			}
			whole, err := os.ReadFile(dir + name)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(uint64(seed), 2))
			for round := range 150 {
				b := slices.Clone(whole)
				if round%10 == 0 {
					b = b[:r.IntN(len(b))]
				}
				for range 1 + r.IntN(8) {
					if len(b) > 0 {
						b[r.IntN(len(b))] ^= 1 << r.IntN(8)
					}
				}
				if err := os.WriteFile(dir+name, b, 0o644); err != nil {
					t.Fatal(err)
				}
				survive(t, dir+"/p", addrs)
			}
			if err := os.WriteFile(dir+name, whole, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// compileSplit builds a program of two units, and of two more files if it is split.
func compileSplit(t *testing.T, dir, name, compiler string, flags ...string) string {
	t.Helper()
	var objects []string
	for _, source := range []string{"shapes.cc", "statics.cc"} {
		path, err := filepath.Abs("testdata/" + source)
		if err != nil {
			t.Fatal(err)
		}
		o := filepath.Join(dir, name+strings.TrimSuffix(source, ".cc")+".o")
		args := append([]string{"-std=c++17", "-O2", "-c", "-o", o}, strings.Fields(strings.Join(flags, " "))...)
		if source == "statics.cc" {
			args = append(args, "-Dmain=other") // only one of them may have main
		}
		run(t, compiler, append(args, path)...)
		objects = append(objects, o)
	}
	path := filepath.Join(dir, name)
	run(t, compiler, append([]string{"-Wl,--build-id=sha1", "-o", path}, objects...)...)
	return path
}

// linesOnly checks that functions' own lines, and their names by the symbol table, are known without split files.
func linesOnly(t *testing.T, got, want [][]event.Frame) {
	t.Helper()
	for i := range want {
		if n := len(want[i]); len(got[i]) != 1 || got[i][0].Line != want[i][0].Line ||
			got[i][0].File != want[i][0].File || got[i][0].Function != want[i][n-1].Function {
			t.Fatalf("address %d: got%s\nof%s", i, text(got[i]), text(want[i]))
		}
	}
}

// A program of many small split files is not mistaken for a forged one.
func TestSplitMany(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const files = 90
	args := []string{"-gdwarf-5", "-gsplit-dwarf", "-O1", "-c"}
	var objects []string
	for i := range files {
		text := fmt.Sprintf("int f%d(int a)\n{\n\treturn a + %d;\n}\n", i, i)
		if i == 0 {
			text += "int main(void)\n{\n\treturn 0;\n}\n"
		}
		name := fmt.Sprintf("f%d.c", i)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
		objects = append(objects, fmt.Sprintf("f%d.o", i))
	}
	runIn(t, dir, "gcc", args...)
	runIn(t, dir, "gcc", append([]string{"-o", "p"}, objects...)...)
	var addrs []uint64
	for i := range files {
		a, _ := symbolAddress(t, dir+"/p", fmt.Sprintf("f%d", i))
		addrs = append(addrs, a)
	}
	got, notes := ask(Options{}, dir+"/p", nil, addrs)
	if len(notes) > 0 {
		t.Errorf("notes: %q", notes)
	}
	for i, f := range got {
		if name := fmt.Sprintf("f%d", i); len(f) != 1 || f[0].Function != name ||
			filepath.Base(f[0].File) != name+".c" {
			t.Errorf("%s: got%s", name, text(f))
		}
	}
}
