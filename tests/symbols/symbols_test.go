//go:build programs

package symbols

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/heaptap/heaptap/internal/elfx"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/symbolize"
)

// confirmed is how many addresses of each cell addr2line must confirm. So many more are taken of the compilers on whose
// programs it errs often.
const confirmed = 10000

// TestAgainstAddr2line compares heaptap with addr2line, and where they differ asks llvm-symbolizer.
// SYMBOLS_PAGE: the file to write the results to.
func TestAgainstAddr2line(t *testing.T) {
	list := programs()
	results := make([]result, len(list))
	llvm := symbolizer(t)
	queue := make(chan struct{}, runtime.NumCPU())
	t.Run("programs", func(t *testing.T) {
		for i, p := range list {
			results[i].program = p
			t.Run(p.String(), func(t *testing.T) {
				t.Parallel()
				queue <- struct{}{}
				defer func() { <-queue }()
				results[i].run(t, llvm)
			})
		}
	})
	if path := os.Getenv("SYMBOLS_PAGE"); path != "" && !t.Failed() {
		if err := os.WriteFile(path, page(t, results), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// symbolizer returns the name of an llvm-symbolizer that reads zstd, which version 19 does and 14 does not.
func symbolizer(t *testing.T) string {
	for _, name := range []string{"llvm-symbolizer-19", "llvm-symbolizer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("llvm-symbolizer is not installed")
	return ""
}

// result is what came of one program.
type result struct {
	program program
	cells   []cell
}

// cell is one program with its debug information packed in one way and lying in one place. Every address of it is in
// one of the numbers.
type cell struct {
	packing, place string
	addresses      int
	inlined        int                // inlined calls in heaptap's answers
	equal          int                // as addr2line says
	spelled        int                // the same but for what the demangler makes of a name
	llvm           map[Difference]int // as llvm-symbolizer says, by what addr2line's answer differs in
	bad            int                // as neither says
}

func (r *result) run(t *testing.T, llvm string) {
	dir := t.TempDir()
	path := r.program.build(t, dir)
	text, id := code(t, path)
	for k := range packings {
		for i, place := range places {
			file, dirs, whole := variant(t, path, dir, k, place, id)
			addrs := spread(text, r.program.addresses(), k*len(places)+i, len(packings)*len(places))
			c := cell{packing: packings[k].name, place: place, addresses: len(addrs), llvm: map[Difference]int{}}
			c.compare(t, symbolize.Options{DebugDirs: dirs, Workers: 1}, file, id, whole, addrs, llvm)
			r.cells = append(r.cells, c)
			t.Logf("%s, %s: %d addresses, %d inlined calls; %d as addr2line, %d but for the demangler; as "+
				"llvm-symbolizer: %v",
				c.packing, c.place, c.addresses, c.inlined, c.equal, c.spelled, c.llvm)
		}
	}
}

// code returns the range of .text, and the build id.
func code(t *testing.T, path string) (text elfx.Span, id []byte) {
	t.Helper()
	e, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	f, err := elfx.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := e.Section(".text")
	if s == nil {
		t.Fatal("no code, or no build id")
	}
	return elfx.Span{Start: s.Addr, End: s.Addr + s.Size}, f.BuildID()
}

// spread takes addresses evenly over a range: the one of several sets that do not meet where there is room.
func spread(text elfx.Span, n, set, sets int) []uint64 {
	size := text.End - text.Start
	var addrs []uint64
	for i := range n {
		a := text.Start + uint64(i*sets+set)*size/uint64(n*sets)
		if len(addrs) == 0 || a > addrs[len(addrs)-1] {
			addrs = append(addrs, a)
		}
	}
	return addrs
}

// compare compares the answers about one cell's addresses.
func (c *cell) compare(t *testing.T, o symbolize.Options, file string, id []byte, whole string, addrs []uint64,
	llvm string) {
	const bias = 0x7f0000000000
	pcs := make([]event.PC, len(addrs))
	for i, a := range addrs {
		pcs[i] = event.PC{Addr: a + bias, Module: 7, Interrupted: true} // as it is, not as a return address
	}
	ctx := context.Background()
	got, notes := symbolize.New(o).Resolve(ctx, []event.Module{{ID: 7, Path: file, BuildID: id, Bias: bias}}, pcs)
	for _, n := range notes {
		t.Errorf("%s, %s: note: %s", c.packing, c.place, n)
	}
	want, err := Ask(ctx, "addr2line", whole, addrs)
	if err != nil {
		t.Fatal(err)
	}
	var open []int
	var asked []uint64
	for i := range addrs {
		c.inlined += max(len(got[i])-1, 0)
		if Compare(got[i], want[i]) == None {
			c.equal++
			continue
		}
		open, asked = append(open, i), append(asked, addrs[i])
	}
	third, err := Ask(ctx, llvm, whole, asked)
	if err != nil {
		t.Fatal(err)
	}
	mangled, err := Ask(ctx, llvm, whole, asked, "--no-demangle")
	if err != nil {
		t.Fatal(err)
	}
	again, err := Demangle(got)
	if err != nil {
		t.Fatal(err)
	}
	for k, i := range open {
		confirm(got[i], want[i], third[k], mangled[k])
		d := Compare(again[i], want[i])
		switch {
		case d == None:
			c.spelled++
		case Compare(got[i], third[k]) == None || Compare(again[i], third[k]) == None:
			if c.llvm[d]++; c.llvm[d] == 1 {
				t.Logf("%#x: %s: heaptap and llvm-symbolizer:%s\naddr2line:%s", addrs[i], d, text(got[i]),
					text(want[i]))
			}
		default:
			if c.bad++; c.bad <= 3 {
				t.Errorf("%s, %s, %#x: heaptap:%s\naddr2line:%s\nllvm-symbolizer:%s", c.packing, c.place, addrs[i],
					text(got[i]), text(want[i]), text(third[k]))
			}
		}
	}
	if c.bad > 0 {
		t.Errorf("%s, %s: at %d of %d addresses neither tool sees what heaptap does", c.packing, c.place, c.bad,
			len(addrs))
	}
	if c.equal < confirmed {
		t.Errorf("%s, %s: addr2line confirms %d addresses, fewer than %d", c.packing, c.place, c.equal, confirmed)
	}
}

// confirm gives llvm-symbolizer's frames heaptap's names where the linkage name is the same, since demanglers are not
// compared here, and where addr2line has the name: of functions that the compiler has folded into one, llvm-symbolizer
// takes another.
func confirm(got, want, third, mangled []event.Frame) {
	for i := range min(len(got), len(third), len(mangled)) {
		if got[i].Linkage != "" && got[i].Linkage == mangled[i].Function ||
			len(want) == len(got) && sameName(Spelling(got[i].Function), Spelling(want[i].Function)) {
			third[i].Function = got[i].Function
		}
	}
}

func text(frames []event.Frame) string {
	s := ""
	for _, f := range frames {
		s += fmt.Sprintf("\n\t%s %s:%d", f.Function, filepath.Clean(f.File), f.Line)
	}
	return s
}
