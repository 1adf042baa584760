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
)

// minAddresses is how many addresses of each program are compared at least.
const minAddresses = 2000

// The two tools that others trust, on the same addresses. binutils has errors of its own, in 2.40 at least: with DWARF 5
// it takes the wrong file in places, loses inlined calls whose ranges are indexed (clang), and calls inlined functions
// without a linkage name by the name of the function around. Where it disagrees, llvm-symbolizer decides. Where that is
// not installed, just these disagreements are let pass.
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

// The same for C, small: every byte of its code, in every version of DWARF that gcc writes.
func TestAgainstAddr2lineC(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, compiler, flags string }{
		{"dwarf2", "gcc", "-gdwarf-2 -gstrict-dwarf -O1"},
		{"dwarf3", "gcc", "-gdwarf-3 -O2"},
		{"dwarf4", "gcc", "-gdwarf-4 -O0"},
		{"dwarf5", "gcc", "-gdwarf-5 -O2"},
		{"dwarf64", "gcc", "-g -gdwarf64 -O2"},
		{"clang-dwarf4", "clang", "-gdwarf-4 -O2"},
		{"no-pie", "gcc", "-g -O2 -no-pie"},
		{"sections", "gcc", "-g -O2 -ffunction-sections -Wl,--gc-sections"},
		{"line-tables-only", "gcc", "-g1 -O2"},
		{"lto", "gcc", "-g -O2 -flto"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
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
	want := addr2line(t, "addr2line", program, addrs)
	var llvm [][]event.Frame
	for _, tool := range []string{"llvm-symbolizer", "llvm-symbolizer-14", "llvm-symbolizer-19"} {
		if _, err := exec.LookPath(tool); err == nil {
			llvm = addr2line(t, tool, program, addrs)
			break
		}
	}
	same, tolerated, bad := 0, 0, 0
	for i := range addrs {
		switch {
		case equal(got[i], want[i], false):
			same++
		case llvm != nil && equal(got[i], llvm[i], false), llvm == nil && equal(got[i], want[i], true):
			tolerated++
		default:
			if bad++; bad <= 3 {
				t.Errorf("%#x:\ngot%s\naddr2line%s", addrs[i], text(got[i]), text(want[i]))
				if llvm != nil {
					t.Errorf("llvm-symbolizer%s", text(llvm[i]))
				}
			}
		}
	}
	t.Logf("%d addresses: %d as addr2line, %d as llvm-symbolizer only, %d different", len(addrs), same, tolerated, bad)
	if same*100 < len(addrs)*agree {
		t.Errorf("addr2line confirms only %d of %d", same, len(addrs))
	}
}

// functionBytes returns addresses in functions that have a size and are no runtime startup code, evenly spread.
func functionBytes(t *testing.T, f *elfx.File) []uint64 {
	t.Helper()
	var all []uint64
	for _, c := range f.Code() {
		step := max((c.End-c.Start)/20000, 1)
		for a := c.Start; a < c.End; a += step {
			all = append(all, a)
		}
	}
	symbols, err := f.Symbols(all)
	if err != nil {
		t.Fatal(err)
	}
	startup := map[string]bool{"_start": true, "_init": true, "_fini": true, "": true}
	var addrs []uint64
	for i, s := range symbols {
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

// equal compares what we say with what a tool says. With lenient only the known errors of binutils are let pass.
func equal(got, want []event.Frame, lenient bool) bool {
	if lenient && len(want) < len(got) && len(want) > 0 {
		got = got[len(got)-len(want):]
		return spelling(got[len(got)-1].Function) == spelling(want[len(want)-1].Function)
	}
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		g, w := got[i], want[i]
		if g.Line != w.Line {
			return false
		}
		sameFile := path.Clean(g.File) == path.Clean(w.File)
		// Without a line the tools sometimes name the compiled file, from the symbol table.
		if !sameFile && !lenient && !(g.File == "" && g.Line == 0) {
			return false
		}
		a, b := spelling(g.Function), spelling(w.Function)
		around := lenient && g.Inlined && b == spelling(want[len(want)-1].Function)
		if a != b && !strings.HasSuffix(a, "::"+b) && !around {
			return false
		}
	}
	return true
}

func text(frames []event.Frame) string {
	var b strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&b, "\n\t%s %s:%d inlined=%v", f.Function, f.File, f.Line, f.Inlined)
	}
	return b.String()
}
