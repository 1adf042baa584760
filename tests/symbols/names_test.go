//go:build programs

package symbols

import (
	"cmp"
	"debug/elf"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/symbolize"
)

// TestNames compares what heaptap makes of linkage names with what c++filt makes of them: every function of programs
// that are not optimised, so that all instances of templates are there, and all that is inlined where they begin.
func TestNames(t *testing.T) {
	cxx, rust := &languages[1], &languages[3]
	for _, c := range []struct {
		program program
		names   int // at least
		percent int // that differ, at most: docs/symbols.md says in what
	}{
		{program{cxx, "g++", 5, "-O0"}, 3000, 4},
		{program{cxx, "clang++", 5, "-O0"}, 3000, 4},
		{program{rust, "rustc", 5, "-O0"}, 1000, 0},
		{program{rust, "rustc", 5, "-O0 -Csymbol-mangling-version=v0"}, 1000, 0},
	} {
		t.Run(c.program.String(), func(t *testing.T) {
			path := c.program.build(t, t.TempDir())
			_, id := code(t, path)
			frames := functions(t, path, id)
			again, err := Demangle(frames)
			if err != nil {
				t.Fatal(err)
			}
			same := map[string]bool{}
			for i, list := range frames {
				for k, f := range list {
					if name := linkage(f); again[i][k].Function != name { // c++filt knows it
						same[name] = Spelling(f.Function) == Spelling(again[i][k].Function)
						if !same[name] && c.percent == 0 {
							t.Errorf("%s\ngot     %s\nc++filt %s", name, f.Function, again[i][k].Function)
						}
					}
				}
			}
			differ := 0
			for _, ok := range same {
				if !ok {
					differ++
				}
			}
			t.Logf("%d of %d names differ from c++filt's", differ, len(same))
			if len(same) < c.names || differ*100 > len(same)*c.percent {
				t.Errorf("%d of %d names differ from c++filt's", differ, len(same))
			}
		})
	}
}

// functions returns the frames at the beginning of every function of the symbol table.
func functions(t *testing.T, path string, id []byte) [][]event.Frame {
	t.Helper()
	e, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	symbols, err := e.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	symbols = slices.DeleteFunc(symbols, func(s elf.Symbol) bool {
		return elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Value == 0
	})
	slices.SortFunc(symbols, func(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	var pcs []event.PC
	for _, s := range symbols {
		pcs = append(pcs, event.PC{Addr: s.Value, Module: 1, Interrupted: true})
	}
	frames, notes := symbolize.New(symbolize.Options{}).Resolve(t.Context(),
		[]event.Module{{ID: 1, Path: path, BuildID: id}}, pcs)
	if len(notes) > 0 {
		t.Errorf("notes: %q", notes)
	}
	return frames
}
