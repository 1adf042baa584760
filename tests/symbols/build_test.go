//go:build programs

package symbols

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// zstd is a C program of some 50 files, with functions inlined many levels deep and one file in assembly.
const zstd = "github.com/DataDog/zstd@v1.5.7"

// language is a program's source and how it is compiled.
type language struct {
	name      string
	compilers []string
	sources   []string // patterns below src
	module    string   // a Go module that has more of them
	leave     []string // files of the module that are left out
	generate  func(t *testing.T, dir string) []string
	flags     []string
}

var languages = []language{
	{name: "C", compilers: []string{"gcc", "clang"}, sources: []string{"c/*.c"}, module: zstd,
		leave: []string{"zstd_v0", "zbuff", "cover", "zdict", "divsufsort"}, flags: []string{"-pthread"}},
	{name: "C++", compilers: []string{"g++", "clang++"}, sources: []string{"cxx/*.cc"}, flags: []string{"-std=c++17"}},
	{name: "Fortran", compilers: []string{"gfortran"}, generate: vectors, sources: []string{"fortran/longs.F90",
		"fortran/main.F90"}},
	{name: "Rust", compilers: []string{"rustc"}, sources: []string{"rust/main.rs"}},
}

// program is one program to build.
type program struct {
	language *language
	compiler string
	dwarf    int
	options  string // as the page shows them
}

func (p program) String() string {
	return fmt.Sprintf("%s, DWARF %d, %s", p.compiler, p.dwarf, p.options)
}

// addresses is how many addresses are taken of each cell.
func (p program) addresses() int {
	switch {
	case p.compiler == "gcc", p.compiler == "g++":
		return 12000
	case strings.HasPrefix(p.compiler, "clang") && p.dwarf == 5:
		return 24000
	}
	return 18000
}

// programs lists what is built: every compiler with both versions of DWARF, plain and optimised, and then what linkers
// and compilers do to debug information besides. Two things are left out that binutils 2.40 fails on: gcc's 64-bit
// DWARF, whose line tables it cannot read, and its type units in DWARF 5, for which it takes gigabytes.
func programs() []program {
	var list []program
	for i := range languages {
		l := &languages[i]
		for _, c := range l.compilers {
			for _, dwarf := range []int{4, 5} {
				for _, o := range []string{"-O0", "-O2"} {
					list = append(list, program{l, c, dwarf, o})
				}
			}
		}
	}
	c, cxx, fortran, rust := &languages[0], &languages[1], &languages[2], &languages[3]
	return append(list,
		program{c, "gcc", 5, "-O2 -flto"},
		program{c, "gcc", 4, "-O1 -ffunction-sections -Wl,--gc-sections"},
		program{c, "clang", 5, "-Os -ffunction-sections -Wl,--gc-sections"},
		program{cxx, "g++", 4, "-O2 -flto"},
		program{cxx, "clang++", 4, "-O1 -fdebug-types-section -no-pie"},
		program{fortran, "gfortran", 5, "-O3 -flto -rdynamic"},
		program{rust, "rustc", 4, "-O2 -Csymbol-mangling-version=v0 -Clto=fat"},
	)
}

// build builds a program in dir and returns its path.
func (p program) build(t *testing.T, dir string) string {
	t.Helper()
	out := filepath.Join(dir, "program")
	var args []string
	if p.language.name == "Rust" {
		args = p.rustc(t)
	} else {
		args = append([]string{p.compiler, "-g", fmt.Sprintf("-gdwarf-%d", p.dwarf), "-Wl,--build-id=sha1"},
			p.language.flags...)
		args = append(args, strings.Fields(p.options)...)
	}
	args = append(args, "-o", out)
	if p.language.generate != nil {
		args = append(args, p.language.generate(t, dir)...)
	}
	for _, s := range p.language.sources {
		args = append(args, glob(t, filepath.Join("src", s))...)
	}
	if p.language.module != "" {
		module := download(t, p.language.module)
		args = append(args, "-I"+module)
		for _, s := range append(glob(t, module+"/*.c"), glob(t, module+"/*.S")...) {
			if !slices.ContainsFunc(p.language.leave, func(l string) bool { return strings.Contains(s, l) }) {
				args = append(args, s)
			}
		}
	}
	// Compiled elsewhere: the compilation directory is not that of the sources.
	run(t, dir, args...)
	return out
}

// rustc returns the compiler's command line. That of Debian 12 takes the version of DWARF as an unstable option only.
func (p program) rustc(t *testing.T) []string {
	rustc, err := exec.LookPath("rustc")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{rustc, "-g", "-Clink-arg=-Wl,--build-id=sha1"}
	for _, o := range strings.Fields(p.options) {
		args = append(args, strings.Replace(o, "-O", "-Copt-level=", 1))
	}
	if exec.Command(rustc, "-Cdwarf-version=5", "--print=sysroot").Run() == nil {
		return append(args, fmt.Sprintf("-Cdwarf-version=%d", p.dwarf))
	}
	args = append([]string{"env", "RUSTC_BOOTSTRAP=1"}, args...)
	return append(args, fmt.Sprintf("-Zdwarf-version=%d", p.dwarf))
}

// vectors writes the same Fortran module for several types. (longs.F90 includes it instead: its code is in another file
// than its unit's.)
func vectors(t *testing.T, dir string) []string {
	t.Helper()
	b, err := os.ReadFile("src/fortran/vectors.inc")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, m := range []struct{ name, typ, kind string }{
		{"singles", "real", "4"}, {"doubles", "real", "8"}, {"quads", "real", "16"}, {"integers", "integer", "4"},
	} {
		file := filepath.Join(dir, m.name+".F90")
		text := strings.NewReplacer("MODULE_NAME", m.name, "TYPE_OF_VALUE", m.typ, "KIND_OF_VALUE",
			m.kind).Replace(string(b))
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// download returns the folder of a Go module, which need not be one that heaptap depends on.
func download(t *testing.T, module string) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", module)
	out, err := cmd.Output()
	var m struct{ Dir string }
	if err == nil {
		err = json.Unmarshal(out, &m)
	}
	if err != nil {
		t.Fatalf("go mod download %s: %v\n%s", module, err, out)
	}
	return m.Dir
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no such files (%v)", pattern, err)
	}
	for i := range files {
		if files[i], err = filepath.Abs(files[i]); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// packings are the ways in which debug sections are stored, and the type of compression that ELF has for it.
var packings = []struct {
	name string
	kind elf.CompressionType
}{{"plain", 0}, {"zlib", elf.COMPRESS_ZLIB}, {"zstd", elf.COMPRESS_ZSTD}}

// places are where debug information lies.
var places = []string{"in the file", "by build id", "by debuglink"}

// variant makes of a program one with its debug information packed so and lying there. It returns the file to name
// functions of, the directories of debug files, and a file that has it all, for the judges.
func variant(t *testing.T, program, dir string, packing int, place string, id []byte) (file string, dirs []string,
	whole string) {
	t.Helper()
	k := packings[packing]
	whole = filepath.Join(dir, k.name)
	if _, err := os.Stat(whole); err != nil {
		arg := "--compress-debug-sections=" + k.name
		if k.kind == 0 {
			arg = "--decompress-debug-sections"
		}
		run(t, dir, "objcopy", arg, program, whole)
	}
	debug := whole
	switch place {
	case "in the file":
		file, dirs = whole, []string{}
	case "by build id":
		hex := fmt.Sprintf("%x", id)
		folder := filepath.Join(dir, k.name+"-debug")
		debug = filepath.Join(folder, ".build-id", hex[:2], hex[2:]+".debug")
		if err := os.MkdirAll(filepath.Dir(debug), 0o755); err != nil {
			t.Fatal(err)
		}
		run(t, dir, "objcopy", "--only-keep-debug", whole, debug)
		file, dirs = whole+"-stripped", []string{folder}
		run(t, dir, "objcopy", "--strip-all", whole, file)
	case "by debuglink":
		debug = whole + ".debug"
		run(t, dir, "objcopy", "--only-keep-debug", whole, debug)
		file, dirs = whole+"-linked", []string{}
		run(t, dir, "objcopy", "--strip-all", "--add-gnu-debuglink="+debug, whole, file)
	}
	if got := compression(t, debug); got != k.kind {
		t.Fatalf("%s: .debug_info is compressed by %v, not %v", debug, got, k.kind)
	}
	return file, dirs, whole
}

// compression returns how .debug_info is compressed, 0 if it is not.
func compression(t *testing.T, file string) elf.CompressionType {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := f.Section(".debug_info")
	if s == nil {
		t.Fatalf("%s has no .debug_info", file)
	}
	if s.Flags&elf.SHF_COMPRESSED == 0 {
		return 0
	}
	header := make([]byte, 4)
	st, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := st.ReadAt(header, int64(s.Offset)); err != nil {
		t.Fatal(err)
	}
	return elf.CompressionType(f.ByteOrder.Uint32(header))
}
