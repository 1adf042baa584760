package symbolize

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/elfx"
	"github.com/heaptap/heaptap/internal/event"
)

// symbolAddress asks nm for the address of a function.
func symbolAddress(t *testing.T, path, name string) (addr, size uint64) {
	t.Helper()
	s := namesByAddress(t, path, false)[name]
	if len(s) != 1 {
		t.Fatalf("%s: nm knows %d functions %s", path, len(s), name)
	}
	return s[0].start, s[0].size
}

// A return address belongs to the call before it, even if that call is the last instruction of its function. The
// address of an interrupted instruction belongs to that instruction.
func TestReturnAddresses(t *testing.T) {
	t.Parallel()
	path := build(t, "plain.c", "p", "gcc", "-g", "-O0", "-fno-pie", "-no-pie")
	addr, size := symbolAddress(t, path, "ends_with_call")
	end := addr + size // the return address of the call of exit
	const bias = 0x10000
	modules := []event.Module{{ID: 3, Path: path, Bias: bias}}
	pcs := []event.PC{
		{Addr: end + bias, Module: 3},
		{Addr: addr + bias, Module: 3, Interrupted: true},
		{Addr: addr + bias, Module: 3},
		{Addr: end + bias, Module: 3},
		{Addr: end + bias, Module: 99},
		{Addr: 0, Module: 3},
	}
	frames, notes := New(Options{}).Resolve(context.Background(), modules, pcs)
	if len(notes) > 0 || len(frames) != len(pcs) {
		t.Fatalf("%d results, notes %q", len(frames), notes)
	}
	name := func(i int) string {
		if len(frames[i]) == 0 {
			return ""
		}
		return frames[i][len(frames[i])-1].Function
	}
	if name(0) != "ends_with_call" || name(1) != "ends_with_call" || name(2) == "ends_with_call" {
		t.Errorf("got %q, %q, %q", name(0), name(1), name(2))
	}
	if d := cmp.Diff(frames[0], frames[3]); d != "" {
		t.Errorf("two equal pcs have different frames: %s", d)
	}
	if name(4) != "" || name(5) != "" {
		t.Errorf("unknown module: %q, address 0: %q; want no names", name(4), name(5))
	}
	source, _ := os.ReadFile("testdata/plain.c")
	line := strings.Split(string(source), "\n")[frames[0][0].Line-1]
	if !strings.Contains(line, "exit(n & 1)") || !strings.HasSuffix(frames[0][0].File, "testdata/plain.c") {
		t.Errorf("the call of exit is placed at %s:%d: %q", frames[0][0].File, frames[0][0].Line, line)
	}
}

// Of several names for one function, the global one is used, then the local one, then the weak one.
func TestAliases(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"-O2", "-O0"} {
		path := build(t, "plain.c", "p", "gcc", "-rdynamic", flags)
		for symbol, want := range map[string]string{"exported": "exported", "also_exported": "exported",
			"a_weak":      "exported",
			"in_assembly": "in_assembly", "local_function": "local_function", "main": "main"} {
			a, _ := symbolAddress(t, path, symbol)
			f, err := elfx.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			got := resolve(t, path, f.BuildID(), []uint64{a})
			f.Close()
			if d := cmp.Diff([]event.Frame{{Function: want}}, got[0]); d != "" {
				t.Errorf("%s %s: %s", flags, symbol, d)
			}
		}
	}
}

// Names of stubs of the procedure linkage table.
func TestPLT(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"-O1"}, {"-O1", "-fcf-protection=full", "-Wl,-z,now"},
		{"-O1", "-no-pie", "-fno-pie"}} {
		path := build(t, "plain.c", "p", "gcc", flags...)
		disassembly := run(t, "objdump", "-d", "-j.plt", "-j.plt.sec", "-j.plt.got", path)
		var addrs []uint64
		var want []string
		for _, line := range strings.Split(disassembly, "\n") { // 0000000000001040 <strlen@plt>:
			hex, name, ok := strings.Cut(strings.TrimSuffix(line, ">:"), " <")
			if a, err := strconv.ParseUint(hex, 16, 64); ok && err == nil && strings.HasSuffix(name, "@plt") {
				addrs, want = append(addrs, a+4), append(want, name)
			}
		}
		if len(want) < 4 {
			t.Fatalf("objdump shows only %d stubs: %q", len(want), want)
		}
		f, err := elfx.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got := resolve(t, path, f.BuildID(), addrs)
		f.Close()
		for i := range want {
			if len(got[i]) != 1 || got[i][0].Function != want[i] {
				t.Errorf("%q: %#x: got %+v, want %s", flags, addrs[i], got[i], want[i])
			}
		}
	}
}

func TestVDSO(t *testing.T) {
	t.Parallel()
	v, err := elfx.VDSO()
	if err != nil {
		t.Skip(err)
	}
	start := v.Code()[0]
	var addrs []uint64
	for a := start.Start; a < start.End; a++ {
		addrs = append(addrs, a)
	}
	found := map[string]bool{}
	for _, list := range resolve(t, "[vdso]", v.BuildID(), addrs) {
		for _, f := range list {
			found[f.Function] = true
		}
	}
	if !found["__vdso_clock_gettime"] && !found["clock_gettime"] && !found["__kernel_clock_gettime"] {
		t.Errorf("functions of the vdso: %v", found)
	}
	got, _ := ask(Options{}, "[vdso]", []byte{1, 2, 3}, addrs)
	for _, list := range got {
		if len(list) > 0 {
			t.Fatalf("the vdso of another kernel has names: %v", list)
		}
	}
}

func TestPerfMap(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long", 5000)
	path := filepath.Join(t.TempDir(), "perf-1.map")
	text := "1000 100 LazyCompile:~first /app/a.js:1\n" +
		"0x2000 0x10 with prefix\n" +
		"broken\n" + "zzzz 10 not hexadecimal\n" + "3000\n" + "ffffffffffffff00 ffffffffffffffff wraps\n" +
		"4000 10 " + long + "\n" +
		"1080 10 newer\n" +
		"5000 10 last without newline"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var pcs []event.PC
	want := map[uint64]string{
		0xfff: "", 0x1000: "LazyCompile:~first /app/a.js:1", 0x107f: "LazyCompile:~first /app/a.js:1", 0x1080: "newer",
		0x1090: "LazyCompile:~first /app/a.js:1", 0x1100: "", 0x2008: "with prefix", 0x3000: "",
		0x4001: long[:maxPerfName],
		0x500f: "last without newline", 0x5010: "",
	}
	for a := range want {
		pcs = append(pcs, event.PC{Addr: a, Interrupted: true})
	}
	frames, notes := New(Options{PerfMap: path}).Resolve(context.Background(), nil, pcs)
	if len(notes) > 0 {
		t.Errorf("notes %q", notes)
	}
	for i, pc := range pcs {
		got := ""
		if len(frames[i]) > 0 {
			got = frames[i][0].Function
		}
		if got != want[pc.Addr] {
			t.Errorf("%#x: got %.60q, want %.60q", pc.Addr, got, want[pc.Addr])
		}
	}
	if os.Geteuid() == 0 { // another user's map is read only for that user's programs
		if err := os.Chown(path, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		for user, want := range map[uint32]int{0: 1, 65534: 1, 12345: 0} {
			if _, notes := New(Options{PerfMap: path, User: user}).Resolve(context.Background(), nil,
				pcs); len(notes) != want {
				t.Errorf("another user's map for a program of user %d: notes %q", user, notes)
			}
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, notes := New(Options{PerfMap: link}).Resolve(context.Background(), nil, pcs); len(notes) != 1 {
		t.Errorf("a link as map: notes %q", notes)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if exec.Command("mkfifo", fifo).Run() == nil {
		if _, notes := New(Options{PerfMap: fifo}).Resolve(context.Background(), nil, pcs); len(notes) != 1 {
			t.Errorf("a FIFO as map: notes %q", notes)
		}
	}
}

// One file loaded twice, at two addresses, and one missing file: each is handled by itself.
func TestModules(t *testing.T) {
	t.Parallel()
	path := build(t, "plain.c", "p", "gcc", "-g", "-O2")
	f, err := elfx.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	id := f.BuildID()
	f.Close()
	a, _ := symbolAddress(t, path, "exported")
	modules := []event.Module{
		{ID: 1, Path: path, BuildID: id, Bias: 0x1000000},
		{ID: 2, Path: path, BuildID: id, Bias: 0x2000000},
		{ID: 3, Path: "/nowhere/libgone.so"},
		{ID: 4, Path: "/nowhere/libunused.so"},
	}
	pcs := []event.PC{
		{Addr: a + 0x1000000, Module: 1, Interrupted: true},
		{Addr: a + 0x2000000, Module: 2, Interrupted: true},
		{Addr: a + 0x2000000, Module: 3},
	}
	frames, notes := New(Options{Workers: 1}).Resolve(context.Background(), modules, pcs)
	if len(frames[0]) == 0 || frames[0][len(frames[0])-1].Function != "exported" || !cmp.Equal(frames[0], frames[1]) {
		t.Errorf("got%s\nand%s", text(frames[0]), text(frames[1]))
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "libgone.so") {
		t.Errorf("notes %q", notes)
	}
	root := t.TempDir() // like /proc/PID/root of a container
	inside := "/elsewhere/p"
	if err := os.Mkdir(root+"/elsewhere", 0o755); err != nil {
		t.Fatal(err)
	}
	copyOf(t, path, root+inside)
	got, notes := ask(Options{Root: root}, inside, id, []uint64{a})
	if len(notes) > 0 || !cmp.Equal(got[0], frames[0]) {
		t.Errorf("with a root directory: got%s\nnotes %q", text(got[0]), notes)
	}
	got, notes = ask(Options{Root: root}, path, id, []uint64{a})
	if len(notes) > 0 || !cmp.Equal(got[0], frames[0]) {
		t.Errorf("outside of the root directory: got%s\nnotes %q", text(got[0]), notes)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	path := build(t, "plain.c", "p", "gcc", "-g")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	frames, notes := New(Options{}).Resolve(ctx, []event.Module{{ID: 1, Path: path}},
		[]event.PC{{Addr: 0x1200, Module: 1}})
	if len(frames) != 1 || len(notes) != 1 || !strings.Contains(notes[0], "ended early") {
		t.Errorf("got %v, notes %q", frames, notes)
	}
}
