package symbolize

import (
	"context"
	"fmt"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/elfx"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/tests/need"
	"github.com/heaptap/heaptap/tests/symbols"
)

// minAddresses is the least number of addresses that are compared in each program.
const minAddresses = 2000

// Compares with two established tools at the same addresses. binutils has errors, at least in 2.40: with DWARF 5 it
// sometimes takes the wrong file, loses inlined calls with indexed ranges (clang), and gives inlined functions without
// a linkage name the name of the surrounding function. Where it disagrees, llvm-symbolizer decides. Where that is not
// installed, only these disagreements are allowed.
func TestAgainstAddr2line(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, source, compiler string
		flags                  string
		agree                  int // percentage that binutils must confirm
	}{
		{"gcc", "shapes.cc", "g++", "-std=c++17 -g -O2", 95},
		{"gcc-O0", "shapes.cc", "g++", "-std=c++17 -g -O0", 98},
		{"gcc-dwarf4", "shapes.cc", "g++", "-std=c++17 -gdwarf-4 -O2", 95},
		{"clang", "shapes.cc", "clang++", "-std=c++17 -g -O2", 50},
		{"clang-dwarf4-O1", "shapes.cc", "clang++", "-std=c++17 -gdwarf-4 -O1", 90},
		{"rustc", "zoo.rs", "rustc", "-g -O", 80},
		{"rustc-v0", "zoo.rs", "rustc", "-g -Csymbol-mangling-version=v0", 90},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			program := build(t, c.source, c.name, c.compiler, strings.Fields(c.flags)...)
			compare(t, program, c.agree)
		})
	}
}

// The same for C, with a small program: every byte of its code, in every version of DWARF that gcc writes.
func TestAgainstAddr2lineC(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, compiler, flags string }{
		{"dwarf2", "gcc", "-gdwarf-2 -gstrict-dwarf -O1"},
		{"dwarf3", "gcc", "-gdwarf-3 -O2"},
		{"dwarf4", "gcc", "-gdwarf-4 -O0"},
		{"dwarf5", "gcc", "-gdwarf-5 -O2"},
		{"dwarf64", "gcc", "-g -gdwarf64 -O2"}, // binutils cannot read gcc's
		{"clang-dwarf4", "clang", "-gdwarf-4 -O2"},
		{"no-pie", "gcc", "-g -O2 -no-pie"},
		{"sections", "gcc", "-g -O2 -ffunction-sections -Wl,--gc-sections"},
		{"line-tables-only", "gcc", "-g1 -O2"},
		{"lto", "gcc", "-g -O2 -flto"}, // binutils takes the wrong unit's file table
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.name == "dwarf64" || c.name == "lto" {
				need.Tool(t, "llvm-symbolizer")
			}
			compare(t, build(t, "plain.c", c.name, c.compiler, strings.Fields(c.flags)...), 0)
		})
	}
}

func compare(t *testing.T, program string, agree int) {
	f, err := elfx.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	addrs := functionBytes(t, f)
	if len(addrs) < minAddresses && agree > 0 {
		t.Fatalf("only %d addresses lie in functions", len(addrs))
	}
	got := resolve(t, program, f.BuildID(), addrs)
	want := toolFrames(t, "addr2line", program, addrs)
	var llvm [][]event.Frame
	if _, err := exec.LookPath("llvm-symbolizer"); err == nil {
		llvm = toolFrames(t, "llvm-symbolizer", program, addrs)
	}
	same, tolerated, spelled, bad := 0, 0, 0, 0
	again, err := symbols.Demangle(got) // so that frames are compared and not demanglers
	if err != nil {
		t.Fatal(err)
	}
	sameNames(t, got, again)
	for i := range addrs {
		agrees := func(with []event.Frame, mode strictness) bool {
			return equal(got[i], with, mode) || equal(again[i], with, mode)
		}
		switch {
		case agrees(want[i], exact):
			same++
		case llvm != nil && agrees(llvm[i], exact), llvm == nil && agrees(want[i], lenient):
			tolerated++
		case agrees(want[i], places), llvm != nil && agrees(llvm[i], places):
			spelled++
		default:
			if bad++; bad <= 3 {
				t.Errorf("%#x:\ngot %s\naddr2line%s", addrs[i], text(got[i]), text(want[i]))
				if llvm != nil {
					t.Errorf("llvm-symbolizer%s", text(llvm[i]))
				}
			}
		}
	}
	t.Logf("%s: %d addresses: %d as addr2line, %d as llvm-symbolizer only, %d with a name spelled differently, %d "+
		"different",
		t.Name(), len(addrs), same, tolerated, spelled, bad)
	if spelled*100 > len(addrs) {
		t.Errorf("%d of %d addresses have names that neither tool spells like that", spelled, len(addrs))
	}
	if same*100 < len(addrs)*agree {
		t.Errorf("addr2line confirms only %d of %d", same, len(addrs))
	}
}

// toolFrames asks a tool for the frames of addresses.
func toolFrames(t *testing.T, tool, program string, addrs []uint64) [][]event.Frame {
	t.Helper()
	frames, err := symbols.Ask(t.Context(), tool, program, addrs)
	if err != nil {
		t.Fatal(err)
	}
	return frames
}

// functionBytes returns addresses, evenly spread, in functions that have a size and are not runtime startup code.
func functionBytes(t *testing.T, f *elfx.File) []uint64 {
	t.Helper()
	var all []uint64
	for _, c := range f.Code() {
		step := max((c.End-c.Start)/2600, 1)
		for a := c.Start; a < c.End; a += step {
			all = append(all, a)
		}
	}
	found, err := f.Symbols(all)
	if err != nil {
		t.Fatal(err)
	}
	startup := map[string]bool{"_start": true, "_init": true, "_fini": true, "": true}
	var addrs []uint64
	for i, s := range found {
		if !startup[s.Name] && all[i]-s.Start < s.Size {
			addrs = append(addrs, all[i])
		}
	}
	return addrs
}

// resolve names addresses of a program as they are, not as return addresses.
func resolve(t testing.TB, program string, buildID []byte, addrs []uint64) [][]event.Frame {
	t.Helper()
	const bias = 0x7f0000000000
	pcs := make([]event.PC, len(addrs))
	for i, a := range addrs {
		pcs[i] = event.PC{Addr: a + bias, Module: 7, Interrupted: true}
	}
	modules := []event.Module{{ID: 7, Path: program, BuildID: buildID, Bias: bias}}
	frames, notes := New(Options{}).Resolve(context.Background(), modules, pcs)
	if len(notes) > 0 {
		t.Errorf("notes: %q", notes)
	}
	return frames
}

// strictness says how equal frames must be.
type strictness int

const (
	exact   strictness = iota
	lenient            // allow the known errors of binutils
	places             // compare files and lines only: demanglers differ in rare templates
)

// equal compares our frames with a tool's.
func equal(got, want []event.Frame, mode strictness) bool {
	if mode == lenient && len(want) < len(got) && len(want) > 0 {
		got = got[len(got)-len(want):]
		return symbols.Spelling(got[len(got)-1].Function) == symbols.Spelling(want[len(want)-1].Function)
	}
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		g, w := &got[i], &want[i]
		if g.Line != w.Line {
			return false
		}
		sameFile := g.File == w.File || path.Clean(g.File) == path.Clean(w.File)
		// Without a line, the tools sometimes name the compiled file, from the symbol table.
		if !sameFile && mode != lenient && !(g.File == "" && g.Line == 0) {
			return false
		}
		if mode == places || g.Function == w.Function {
			continue
		}
		a, b := symbols.Spelling(g.Function), symbols.Spelling(w.Function)
		around := mode == lenient && g.Inlined && b == symbols.Spelling(want[len(want)-1].Function)
		// Without a linkage name, the tools know only the last part of the name.
		if a != b && !strings.HasSuffix(a, "::"+b) && !strings.Contains(a, "::"+b+"(") && !around {
			return false
		}
	}
	return true
}

// sameNames compares our demangler with c++filt. Ours is wrong in a few template arguments (substitutions after clang's
// sr).
func sameNames(t *testing.T, got, again [][]event.Frame) {
	t.Helper()
	names := map[string]bool{}
	for i, list := range got {
		for k, f := range list {
			if f.Linkage != "" {
				names[f.Linkage] = symbols.Spelling(f.Function) == symbols.Spelling(again[i][k].Function)
			}
		}
	}
	differ := 0
	for _, same := range names {
		if !same {
			differ++
		}
	}
	if differ*20 > len(names)+20 {
		t.Errorf("%d of %d names differ from c++filt's", differ, len(names))
	}
}

func text(frames []event.Frame) string {
	var b strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&b, "\n\t%s %s:%d inlined=%v", f.Function, f.File, f.Line, f.Inlined)
	}
	return b.String()
}
