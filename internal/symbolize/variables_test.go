package symbolize

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/elfx"
	"github.com/heaptap/heaptap/internal/event"
)

// TestVariables compares names, addresses and sizes with nm, and lines with the marks in the source and with nm.
func TestVariables(t *testing.T) {
	t.Parallel()
	for _, compiler := range []string{"g++", "clang++"} {
		for _, flags := range []string{"-gdwarf-5 -O0", "-gdwarf-4 -O2", "-gdwarf-3 -O1", "-g -O2 -no-pie",
			"-g -O2 -gz=zlib", "-g -O1 apart", "-gdwarf-5 -O1 -gsplit-dwarf", "-gdwarf-4 -O2 -gsplit-dwarf",
			"-g0 -O2", "-g0 -s"} {
			t.Run(compiler+" "+flags, func(t *testing.T) {
				t.Parallel()
				list, apart := strings.CutSuffix(flags, " apart")
				path := build(t, "statics.cc", "statics", compiler, append(strings.Fields(list), "-std=c++17")...)
				full := path
				o := Options{}
				if apart {
					id := openID(t, path)
					full = filepath.Join(t.TempDir(), ".build-id", fmt.Sprintf("%x", id[:1]),
						fmt.Sprintf("%x.debug", id[1:]))
					o.DebugDirs = []string{filepath.Dir(filepath.Dir(filepath.Dir(full)))}
					if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
						t.Fatal(err)
					}
					run(t, "objcopy", "--only-keep-debug", path, full)
					run(t, "strip", path)
				}
				found, data := New(o).Variables(t.Context(), event.Module{ID: 3, Path: path, BuildID: openID(t, path)})
				sameSections(t, path, data)
				if strings.Contains(flags, "-s") {
					for _, v := range found {
						if strings.Contains(v.Name, "big") {
							t.Errorf("%+v in a stripped file", v)
						}
					}
					return
				}
				sameAsNM(t, full, found, flags, compiler == "clang++")
			})
		}
	}
}

func openID(t *testing.T, path string) []byte {
	t.Helper()
	f, err := elfx.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return f.BuildID()
}

// marks returns the lines of testdata/statics.cc, by the names in its comments.
func marks(t *testing.T) map[string]uint32 {
	t.Helper()
	b, err := os.ReadFile("testdata/statics.cc")
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]uint32{}
	for i, line := range strings.Split(string(b), "\n") {
		if _, name, ok := strings.Cut(line, "// "); ok && i > 3 {
			at[name] = uint32(i + 1)
		}
	}
	return at
}

// nmLine is a variable in the output of nm -S -l: address, size, kind, name, and perhaps a line.
var nmLine = regexp.MustCompile(`^([0-9a-f]+) ([0-9a-f]+) ([bBdDrRuV]) ([^\t]*)(?:\t.*:([0-9]+))?$`)

func sameAsNM(t *testing.T, path string, found []event.Variable, flags string, clang bool) {
	t.Helper()
	lines, split := !strings.Contains(flags, "-g0"), strings.Contains(flags, "-gsplit-dwarf")
	byPlace := map[string]event.Variable{}
	key := func(addr, size uint64, thread bool) string { return fmt.Sprint(addr, " ", size, " ", thread) }
	for _, v := range found {
		byPlace[key(v.Addr, v.Size, v.Kind.PerThread())] = v
	}
	marked, large, checked := marks(t), 0, 0
	for _, line := range strings.Split(run(t, "nm", "-S", "-C", "-l", "--defined-only", path), "\n") {
		m := nmLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		addr, _ := strconv.ParseUint(m[1], 16, 64)
		size, _ := strconv.ParseUint(m[2], 16, 64)
		thread := strings.Contains(m[4], "tls_") || strings.Contains(m[4], "scratch")
		if size < tellFrom {
			continue
		}
		v, ok := byPlace[key(addr, size, thread)]
		if !ok {
			t.Errorf("%s is missing", line)
			continue
		}
		large++
		if v.Name != m[4] && m[4] != "alias_of" {
			t.Errorf("%+v, nm says %s", v, line)
		}
		if !lines {
			if v.File != "" {
				t.Errorf("%+v has a file, although there is no debug information", v)
			}
			continue
		}
		if split && thread && !clang {
			continue // gcc writes no offset in thread-local memory there, but one in the file
		}
		want := marked[v.Name]
		if n := marked["clang: "+v.Name]; clang && n > 0 {
			want = n
		}
		if v.Line != want || want == 0 || filepath.Base(v.File) != "statics.cc" {
			t.Errorf("%+v, the source says line %d", v, want)
		}
		if m[5] != "" && !thread && !clang { // nm does not read clang's debug information
			checked++
			if n, _ := strconv.Atoi(m[5]); uint32(n) != v.Line {
				t.Errorf("%+v, want line %s as in nm", v, m[5])
			}
		}
	}
	if large < 14 || lines && !clang && !split && checked < 5 { // nm does not read split debug information
		t.Errorf("nm has %d variables, and %d lines", large, checked)
	}
}

// sameSections compares with readelf.
func sameSections(t *testing.T, path string, data []event.DataSection) {
	t.Helper()
	sizes := map[string]uint64{}
	row := regexp.MustCompile(`(?m)\] (\.\S+) +(?:PROGBITS|NOBITS) +\S+ \S+ ([0-9a-f]+) `)
	for _, m := range row.FindAllStringSubmatch(run(t, "readelf", "-SW", path), -1) {
		n, _ := strconv.ParseUint(m[2], 16, 64)
		sizes[m[1]] += n
	}
	got := map[string]uint64{}
	for _, d := range data {
		if d.Module != 3 || d.Named > d.End-d.Start {
			t.Errorf("%+v", d)
		}
		got[d.Kind.String()] += d.End - d.Start
	}
	for _, kind := range []string{".data", ".bss", ".rodata", ".tdata", ".tbss"} {
		want := sizes[kind]
		if kind == ".data" {
			want += sizes[".data.rel.ro"] + sizes[".data.rel.ro.local"] + sizes[".tm_clone_table"]
		}
		if kind == ".rodata" {
			want += sizes[".rodata.cst4"] + sizes[".rodata.str1.1"]
		}
		if got[kind] != want || want == 0 {
			t.Errorf("%s: %d bytes, readelf says %d", kind, got[kind], want)
		}
	}
}

// TestDroppedVariables: the debug information of a thread-local variable that the linker dropped has offset 0, which is
// another variable's.
func TestDroppedVariables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.c": "__thread int dropped[500] = {1};\nint unused(void) { return dropped[3]; }\n",
		"b.c": "\n\n__thread int kept[500] = {1};\nint main(int argc, char **argv) { return kept[argc]; }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "dropped")
	run(t, "gcc", "-g", "-fdata-sections", "-ffunction-sections", "-Wl,--gc-sections", "-o", path,
		filepath.Join(dir, "a.c"), filepath.Join(dir, "b.c"))
	list, _ := New(Options{}).Variables(t.Context(), event.Module{ID: 1, Path: path})
	if len(list) == 0 || list[0].Name != "kept" || list[0].Addr != 0 || list[0].File != "" && list[0].Line != 3 ||
		strings.HasSuffix(list[0].File, "a.c") {
		t.Errorf("%+v", list)
	}
}

// TestVariablesOfDamagedFiles: whatever is in a file, an answer comes soon.
func TestVariablesOfDamagedFiles(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile(build(t, "statics.cc", "statics", "g++", "-g", "-O1", "-std=c++17"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "damaged")
	rnd := rand.New(rand.NewPCG(1, 2))
	start := time.Now()
	for i := range 400 {
		b := append([]byte(nil), good...)
		if i%8 == 0 {
			b = b[:rnd.IntN(len(b))]
		}
		for range min(1+i/8, len(b)) {
			b[rnd.IntN(len(b))] = byte(rnd.Uint32())
		}
		if err := os.WriteFile(path, b, 0o755); err != nil {
			t.Fatal(err)
		}
		list, _ := New(Options{}).Variables(t.Context(), event.Module{ID: 1, Path: path})
		for _, v := range list {
			if len(v.Name) > maxVariableName || v.Addr+v.Size < v.Addr {
				t.Fatalf("%+v", v)
			}
		}
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("%v", took)
	}
}

// TestVariableLimits: of many variables, the largest are listed, and all are counted.
func TestVariableLimits(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&b, "char v%d[%d];\n", i, 1024+i)
	}
	for i := range 100 {
		fmt.Fprintf(&b, "char small%d[%d];\n", i, 1+i)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"many": b.String() + "int main(void) { return 0; }\n",
		"few": "char a[1000]; int b; int main(void) { return 0; }\n"} {
		source := filepath.Join(dir, name+".c")
		if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		run(t, "gcc", "-o", filepath.Join(dir, name), source)
	}
	list, data := New(Options{}).Variables(t.Context(), event.Module{ID: 1, Path: filepath.Join(dir, "many")})
	if len(list) != tellMost || list[0].Name != "v1499" || list[tellMost-1].Size != 1024+500 {
		t.Errorf("%d variables, %+v to %+v", len(list), list[0], list[len(list)-1])
	}
	for _, d := range data {
		if want := uint64(1500*1024 + 1499*1500/2 + 100*101/2); d.Kind == event.BSS &&
			(d.Variables < 1600 || d.Named < want || d.Named > want+64) {
			t.Errorf("%+v, want %d bytes", d, want)
		}
	}
	list, _ = New(Options{}).Variables(t.Context(), event.Module{ID: 1, Path: filepath.Join(dir, "few")})
	if len(list) < 2 || list[0].Name != "a" || list[1].Name != "b" && list[1].Name != "_IO_stdin_used" {
		t.Errorf("%+v", list)
	}
}
