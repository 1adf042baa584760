//go:build programs

package symbols

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// page writes the results as docs/symbols.md.
func page(t *testing.T, results []result) []byte {
	var b bytes.Buffer
	var all cell
	all.llvm = map[Difference]int{}
	cells, least := 0, 1<<30
	for _, r := range results {
		for _, c := range r.cells {
			all.add(c)
			cells++
			least = min(least, c.equal)
		}
	}
	fmt.Fprintf(&b, head, cells, number(all.addresses), number(all.inlined), number(all.equal), number(least),
		number(all.spelled), number(all.settled()))
	fmt.Fprintf(&b, "\nJudges and compilers: %s.\n", strings.Join(versions(t), "; "))
	b.WriteString(`
## By program
Each has nine cells: the debug sections plain, compressed by zlib, compressed by zstd; in the file itself, in a debug
file that is found by build id, in one that is found by .gnu_debuglink. The least is the cell with the fewest equal
addresses.

| language | program | addresses | inlined calls | equal to addr2line | least | but for the demangler | ` +
		`padding | frames | line | file | function |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
`)
	for _, r := range results {
		sum := cell{llvm: map[Difference]int{}}
		least := 1 << 30
		for _, c := range r.cells {
			sum.add(c)
			least = min(least, c.equal)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |%s\n", r.program.language.name, r.program,
			number(sum.addresses),
			number(sum.inlined), number(sum.equal), number(least), number(sum.spelled), sum.kinds())
	}
	b.WriteString(`
## By place

| sections | debug information | addresses | inlined calls | equal to addr2line | but for the demangler | ` +
		`padding | frames | line | file | function |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
`)
	for _, p := range packings {
		for _, place := range places {
			sum := cell{llvm: map[Difference]int{}}
			for _, r := range results {
				for _, c := range r.cells {
					if c.packing == p.name && c.place == place {
						sum.add(c)
					}
				}
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |%s\n", p.name, place, number(sum.addresses),
				number(sum.inlined), number(sum.equal), number(sum.spelled), sum.kinds())
		}
	}
	b.WriteString(foot)
	return b.Bytes()
}

const head = `# Names, files and lines against addr2line
Written by

    tools/setup.sh programs
    SYMBOLS_PAGE=$PWD/docs/symbols.md go test -tags programs -count=1 -timeout 20m ./tests/symbols

which builds programs, takes addresses evenly over all of their code, padding between functions included, and compares
heaptap's answer for each (inlined calls, functions, files, lines) with addr2line -i -f -C. Where they differ
llvm-symbolizer is asked; the test fails unless it agrees with heaptap.

- cells (a program, how its debug sections are stored, where they lie): %d
- addresses: %s, in them inlined calls: %s
- equal to addr2line: %s, in every cell at least %s
- equal but for what the demangler makes of a linkage name: %s
- different, and llvm-symbolizer has the frames, files and lines that heaptap has, and one of the two tools each ` +
	`name: %s
- different in another way: 0

Paths are compared without . and .., names without spaces, hashes of crates and numbers of lambda expressions. Where
debug information has no linkage name the tools give the last part of a name; heaptap, which puts the scopes in front,
counts as equal.
`

const foot = `
## Where addr2line differs
The columns on the right count differences by what differs first. In all of them llvm-symbolizer sees what heaptap does.

- padding: behind the end of a function there is none. addr2line gives the name of the one before.
- frames: with DWARF 5 addr2line loses inlined calls whose address ranges are indexed, as clang and rustc write them.
- file: with DWARF 5 addr2line takes another file of the line table where functions come from included files, and with
  -flto the linker's artificial one.
- function: addr2line calls an inlined function without a linkage name by the name of the function around it, has no
  name for the part of a constructor that was split off (.cold), and takes another of several labels at one address.

But for the demangler: frames, files, lines and linkage names are addr2line's, the text of a C++ template's name is
not. heaptap's demangler counts the substitutions after clang's sr differently, and leaves the name mangled where that
fails. It writes expressions in a decltype with other parentheses, and gives an inherited constructor the name of the
class that inherits it, as llvm-cxxfilt does. TestNames counts these names.
`

// add adds another cell's numbers.
func (c *cell) add(o cell) {
	c.addresses += o.addresses
	c.inlined += o.inlined
	c.equal += o.equal
	c.spelled += o.spelled
	c.bad += o.bad
	for d, n := range o.llvm {
		c.llvm[d] += n
	}
}

// settled is how many addresses llvm-symbolizer has decided for heaptap.
func (c *cell) settled() int {
	n := 0
	for _, k := range c.llvm {
		n += k
	}
	return n
}

func (c *cell) kinds() string {
	s := ""
	for _, d := range []Difference{Padding, Frames, Line, File, Function} {
		s += " " + number(c.llvm[d]) + " |"
	}
	return s
}

// number writes thousands apart.
func number(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// versions names the tools.
func versions(t *testing.T) []string {
	var list []string
	for _, tool := range []string{"addr2line", symbolizer(t), "gcc", "clang", "gfortran", "rustc", "objcopy"} {
		out, err := exec.Command(tool, "--version").Output()
		if err != nil {
			t.Fatalf("%s --version: %v", tool, err)
		}
		for line := range strings.Lines(string(out)) {
			if line = strings.TrimSpace(line); strings.ContainsAny(line, "0123456789") {
				list = append(list, line)
				break
			}
		}
	}
	return list
}
