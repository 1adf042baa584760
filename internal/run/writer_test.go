package run_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/run"
)

// TestKilled kills a recorder at any moment while its run grows. There is always something that opens, with the first
// program, and nothing that is damaged is called complete.
func TestKilled(t *testing.T) {
	if path := os.Getenv("HEAPTAP_TEST_GROW"); path != "" {
		if os.Getenv("HEAPTAP_TEST_LINKS") == "" {
			defer run.WithoutLinks()()
		}
		w := newRecorder(t, path, 7)
		first := w.begin(program{7, 1, []string{"make"}, 10, 1000})
		for pid := 8; pid < 200; pid++ {
			fmt.Println(pid)
			w.begin(program{pid, 7, []string{"cc1", "a.c"}, 500, 9000}).end(1)
		}
		first.end(0)
		w.Close()
		return
	}
	folders, files := 0, 0
	for try := range 60 {
		path := filepath.Join(t.TempDir(), "make.7.htap")
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "HEAPTAP_TEST_GROW="+path, "HEAPTAP_TEST_LINKS="+strings.Repeat("y", try%3))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		steps := bufio.NewReader(out)
		for range 1 + max(0, try-30) { // most often when the file becomes a folder
			if line, err := steps.ReadString('\n'); err != nil {
				t.Fatalf("%q, %v", line, err)
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		r, err := run.Open(path)
		if errors.Is(err, fs.ErrNotExist) && try%3 == 0 {
			// Without links there is a moment without the name; the recording is in the folder that gets it.
			list, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*.tmp-*"))
			if len(list) == 1 {
				r, err = run.Open(list[0])
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Programs()) == 0 || r.Programs()[0].Pid != 7 {
			t.Errorf("%d programs, damage %q", len(r.Programs()), r.Damage())
		}
		if r.Live() || r.Damage() == "" && r.Programs()[0].Running() {
			t.Errorf("live %v, damage %q", r.Live(), r.Damage())
		}
		for i, p := range r.Programs() {
			rec, err := r.OpenProgram(i)
			if err != nil {
				t.Fatalf("process %d: %v", p.Pid, err)
			}
			rec.Close()
		}
		if r.IsRecording() {
			files++
		} else {
			folders++
		}
		r.Close()
	}
	t.Logf("killed as a file %d times, as a folder %d times", files, folders)
	if folders == 0 {
		t.Error("it never was a folder")
	}
}

// TestFull writes a run on a disk that is full for a while: no recording is lost, or taken for another one's.
func TestFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "make.7.htap")
	w := newRecorder(t, path, 7)
	main := w.begin(program{7, 1, []string{"make"}, 10, 1000})
	w.begin(program{8, 7, []string{"cc1", "a.c"}, 500, 9000}).end(1)
	before := w.begin(program{9, 7, []string{"cc1", "b.c"}, 600, 8000})
	undo := w.FillDisk()
	before.end(2)
	during := w.begin(program{10, 7, []string{"cc1", "c.c"}, 700, 7000})
	w.begin(program{11, 7, []string{"cc1", "d.c"}, 800, 6000}).end(4)
	undo()
	after := w.begin(program{12, 7, []string{"cc1", "e.c"}, 900, 5000})
	during.large().end(3)
	after.large().end(5)
	main.end(0)
	w.Close()
	r := open(t, path)
	defer r.Close()
	status := map[int]int{7: 0, 8: 1, 9: 2, 10: 3, 11: 4, 12: 5}
	for i, p := range r.Programs() {
		rec, err := r.OpenProgram(i)
		if err != nil {
			t.Fatalf("process %d: %v", p.Pid, err)
		}
		if pid := rec.Process().PID; pid != p.Pid || p.Exit.Status != status[pid] {
			t.Errorf("process %d ended with %d; its recording is that of process %d", p.Pid, p.Exit.Status, pid)
		}
		rec.Close()
	}
	if len(r.Programs()) != len(status) {
		t.Errorf("%d programs, damage %q", len(r.Programs()), r.Damage())
	}
	// A program that could not be recorded is missed.
	path = filepath.Join(t.TempDir(), "make.7.htap")
	w = newRecorder(t, path, 7)
	w.begin(program{7, 1, []string{"make"}, 10, 1000}).end(0)
	w.begin(program{8, 7, []string{"cc1", "a.c"}, 500, 9000}).end(1)
	if n, _, err := w.Begin(run.Program{Pid: 9, Start: began}, func(path, _ string) (string, error) {
		return path, errors.New("no space left on device")
	}); err == nil || n != -1 {
		t.Errorf("program %d, %v", n, err)
	}
	w.Close()
	if got := open(t, path).Damage(); got != "1 of its programs could not be recorded" {
		t.Errorf("damage %q", got)
	}
}

// TestHalfGrown goes on with a run whose recorder was killed while the run became a folder.
func TestHalfGrown(t *testing.T) {
	for _, moved := range []bool{false, true} { // moved: on a file system without links
		path := filepath.Join(t.TempDir(), "make.7.htap")
		info := run.NewInfo()
		info.Pid = 7
		w := &recorder{t: t, start: began}
		w.Writer = run.NewWriter(path, info, 0, nil)
		main := w.begin(program{7, 6, []string{"make"}, 10, 1000})
		if err := w.HalfGrow(moved); err != nil {
			t.Fatal(err)
		}
		again, err := run.Resume(path, info, 0, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		w.Writer = again
		if n := again.Find(main.path); n != 0 {
			t.Fatalf("moved %v: the recording is program %d", moved, n)
		}
		w.begin(program{8, 7, []string{"cc1", "a.c"}, 500, 9000}).end(1)
		main.n = 0
		main.end(0)
		again.Close()
		r := open(t, path)
		if len(r.Programs()) != 2 || r.Damage() != "" {
			t.Errorf("moved %v: %d programs, damage %q", moved, len(r.Programs()), r.Damage())
		}
		r.Close()
		if list, _ := os.ReadDir(filepath.Dir(path)); len(list) != 1 {
			t.Errorf("moved %v: left behind: %v", moved, list)
		}
	}
}

// TestResume goes on with a run whose recorder was killed.
func TestResume(t *testing.T) {
	for _, programs := range []int{1, 2, 5} {
		path := filepath.Join(t.TempDir(), "make.7.htap")
		info := run.NewInfo()
		info.Pid = 7
		w := &recorder{t: t, start: began}
		w.Writer = run.NewWriter(path, info, 0, nil)
		var left []*recorded
		for pid := 7; pid < 7+programs; pid++ {
			d := w.begin(program{pid, 6, []string{"make"}, 10, 1000})
			if pid%2 == 0 {
				d.end(3)
			} else {
				left = append(left, d)
			}
		}
		w.Abandon()
		again, err := run.Resume(path, info, 0, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		w.Writer = again
		for _, d := range left {
			if n := again.Find(d.path); n != d.n {
				t.Fatalf("%s is program %d, not %d", d.path, n, d.n)
			}
			d.end(4)
		}
		w.begin(program{50, 7, []string{"late"}, 10, 1000}).end(5)
		again.Close()
		r := open(t, path)
		if len(r.Programs()) != programs+1 || r.Damage() != "" || r.Live() {
			t.Errorf("of %d: damage %q\n%s", programs, r.Damage(), text(r))
		}
		for i, p := range r.Programs() {
			if want := 4 - p.Pid%2; p.Pid < 50 && p.Exit.Status != 3+p.Pid%2 {
				t.Errorf("program %d ended with %d, not %d", i, p.Exit.Status, want)
			}
		}
	}
	// Another run has the name.
	path := made(t)
	if _, err := run.Resume(path, run.NewInfo(), 0, nil, true); err == nil {
		t.Error("another run was resumed")
	}
}

// TestMany records ten thousand programs while a reader looks at the run: it sees some of them, in order, each with its
// recording, and no damage.
func TestMany(t *testing.T) {
	count := 10000
	if testing.Short() {
		count = 500
	}
	path := filepath.Join(t.TempDir(), "make.7.htap")
	sample := filepath.Join(t.TempDir(), "sample.htap")
	s := newRecorder(t, sample, 1)
	s.begin(program{1, 0, []string{"true"}, 100, 1000}).end(0)
	content, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	w := newRecorder(t, path, 7)
	var done atomic.Bool
	ended := make(chan int)
	go func() {
		looks := 0
		for !done.Load() {
			r, err := run.Open(path)
			if errors.Is(err, fs.ErrNotExist) { // not begun
				continue
			}
			if err != nil {
				t.Error(err)
				break
			}
			list := r.Programs()
			if r.Damage() != "" {
				t.Errorf("damage after %d programs: %s", len(list), r.Damage())
			}
			if n := len(list); n > 0 {
				i := rand.IntN(n)
				rec, err := r.OpenProgram(i)
				if err != nil {
					t.Errorf("program %d of %d: %v", i, n, err)
				} else {
					rec.Close()
				}
			}
			r.Close()
			looks++
		}
		ended <- looks
	}()
	started := time.Now()
	for i := range count {
		n, address, err := w.Begin(run.Program{Pid: 100 + i, ParentPid: 7, Start: began.Add(time.Duration(i)),
			Exe: "/usr/bin/true", Command: []string{"true"}, Folder: "/src"}, func(path, _ string) (string, error) {
			return path, errors.Join(os.WriteFile(sample, content, 0o600), os.Rename(sample, path))
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.End(n, run.Program{End: began.Add(time.Hour), Exit: run.Exit{Known: true}, PeakLive: 100},
			func(path string) (string, error) { return path, nil }); err != nil {
			t.Fatal(address, err)
		}
	}
	w.Close()
	wrote := time.Since(started)
	done.Store(true)
	looks := <-ended
	started = time.Now()
	r := open(t, path)
	if len(r.Programs()) != count || r.Damage() != "" {
		t.Errorf("%d programs, damage %q", len(r.Programs()), r.Damage())
	}
	t.Logf("%d programs written in %v, %d times read meanwhile, opened in %v", count, wrote, looks, time.Since(started))
	// Nothing but the pack is left of them, and the whole run can be removed.
	if got := names(t, path); got != "index p run.json small.pack" {
		t.Errorf("the folder has %s", got)
	}
}

// TestReplace: a new run takes the place of an earlier one, but never of anything that is not one.
func TestReplace(t *testing.T) {
	again := func(path string) error {
		w := newRecorder(t, path, 7)
		n, _, err := w.Begin(run.Program{Pid: 1, Start: began}, func(path, _ string) (string, error) {
			return path, os.WriteFile(path, nil, 0o600)
		})
		if err == nil && n != 0 {
			t.Errorf("number %d", n)
		}
		return err
	}
	path := made(t)
	if err := again(path); err != nil {
		t.Error(err)
	}
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		t.Errorf("%v, %v", st, err)
	}
	for name, file := range map[string]string{"a file of the user": "notes.txt", "one that is hidden": ".x",
		"one among the recordings": "p/07/7-1.htap", "a folder": "p/zz/x"} {
		path := made(t)
		file := filepath.Join(path, file)
		_ = os.MkdirAll(filepath.Dir(file), 0o700)
		if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		before := text(open(t, path))
		if err := run.CheckReplaceable(path); err == nil {
			t.Errorf("%s: would be replaced", name)
		}
		if err := again(path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := names(t, filepath.Dir(path)); got != "make.7.2.htap make.7.htap" {
			t.Errorf("%s: %s", name, got)
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != "mine" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		if after := text(open(t, path)); !strings.HasPrefix(after, before) {
			t.Errorf("%s: the run has changed:\n%s", name, after)
		}
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "index"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := again(other); err != nil {
		t.Error(err)
	}
	if got := names(t, other) + " " + names(t, filepath.Dir(other)); got != "index other other.2" {
		t.Errorf("a folder that is not a run was replaced: %s", got)
	}
	// A run that is being recorded stays; the new one gets another name.
	path = filepath.Join(t.TempDir(), "x.htap")
	for _, programs := range []int{1, 2} {
		w := newRecorder(t, path, 7)
		for pid := range programs {
			w.begin(program{pid + 1, 0, []string{"sleep"}, 1, 1})
		}
		if err := again(path); err != nil {
			t.Error(err)
		}
		if got := names(t, filepath.Dir(path)); got != "x.2.htap x.htap" {
			t.Errorf("%d programs: %s", programs, got)
		}
		if !open(t, path).Live() {
			t.Error("the earlier run is not being recorded any more")
		}
		w.Abandon()
		_ = os.Remove(filepath.Join(filepath.Dir(path), "x.2.htap"))
		_ = os.Remove(path)
	}
}

// TestMoved: somebody moves or removes the run while it is being written.
func TestMoved(t *testing.T) {
	for name, do := range map[string]func(path string) error{
		"moved":   func(path string) error { return os.Rename(path, path+".away") },
		"removed": os.RemoveAll,
	} {
		path := filepath.Join(t.TempDir(), "x.htap")
		w := newRecorder(t, path, 1)
		w.begin(program{1, 0, []string{"a"}, 1, 1}).end(0)
		w.begin(program{2, 1, []string{"b"}, 1, 1}).end(0)
		if err := do(path); err != nil {
			t.Fatal(err)
		}
		w.begin(program{3, 1, []string{"c"}, 1, 1}).end(0)
		w.Close()
		if r := open(t, path); len(r.Programs()) != 3 || r.Damage() != "" {
			t.Errorf("%s: %d programs, damage %q", name, len(r.Programs()), r.Damage())
		}
		if len(w.notes) != 1 {
			t.Errorf("%s: notes %q", name, w.notes)
		}
	}
	// A file is replaced by one of the user's, which stays.
	path := filepath.Join(t.TempDir(), "x.htap")
	w := newRecorder(t, path, 1)
	w.begin(program{1, 0, []string{"a"}, 1, 1}).end(0)
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("mine"), 0o600)); err != nil {
		t.Fatal(err)
	}
	w.begin(program{2, 1, []string{"b"}, 1, 1}).end(0)
	w.Close()
	if b, err := os.ReadFile(path); err != nil || string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
	if got := names(t, filepath.Dir(path)); got != "x.2.htap x.htap" {
		t.Error(got)
	}
}

// TestMatters: which program the user named.
func TestMatters(t *testing.T) {
	for _, test := range []struct {
		name     string
		programs []program
		want     int // process id
		sure     bool
	}{
		{"one program", []program{{7, 1, []string{"sort"}, 1, 1}}, 7, true},
		{"a shim", []program{{7, 1, []string{"env", "bash"}, 1, 1}, {7, 1, []string{"bash", "python3"}, 1, 1},
			{8, 7, []string{"sed"}, 1, 99}, {7, 1, []string{"python3", "x.py"}, 1, 5}, {9, 7, []string{"gcc"}, 1, 99}},
			7, true},
		{"a shell that executes nothing else", []program{{7, 1, []string{"sh"}, 1, 1}, {8, 7, []string{"python3"}, 1,
			5}},
			8, true},
		{"with helpers", []program{{7, 1, []string{"sh"}, 1, 1}, {8, 7, []string{"sed"}, 1, 50},
			{9, 7, []string{"python3"}, 1, 5}}, 9, true},
		{"a script by itself", []program{{7, 1, []string{"bash"}, 1, 1}, {8, 7, []string{"sleep"}, 1, 50}}, 7, true},
		{"a shell with two programs", []program{{7, 1, []string{"sh"}, 1, 1}, {8, 7, []string{"python3"}, 1, 5},
			{9, 7, []string{"node"}, 1, 6}}, 9, false},
		{"make", []program{{7, 1, []string{"make"}, 1, 1}, {8, 7, []string{"sh"}, 1, 1}, {9, 8, []string{"gcc"}, 1, 1},
			{10, 9, []string{"cc1"}, 1, 90}, {11, 9, []string{"as"}, 1, 9}}, 10, false},
		{"a program that starts others", []program{{7, 1, []string{"server"}, 1, 1}, {8, 7, []string{"worker"}, 1,
			90}}, 7,
			true},
		{"a program that executes itself anew", []program{{7, 1, []string{"server"}, 1, 1}, {7, 1, []string{"server"},
			1, 9}},
			7, true},
		{"through timeout", []program{{7, 1, []string{"timeout", "5"}, 1, 1}, {8, 7, []string{"x"}, 1, 9}}, 8, true},
		{"a target that was not recorded", []program{{8, 7, []string{"x"}, 1, 9}, {9, 8, []string{"y"}, 1, 99}}, 8,
			true},
	} {
		path := filepath.Join(t.TempDir(), "x.htap")
		w := newRecorder(t, path, 7)
		for _, p := range test.programs {
			w.begin(p).end(0)
		}
		w.Close()
		r := open(t, path)
		i, why, sure := r.Matters()
		if i < 0 || r.Programs()[i].Pid != test.want || sure != test.sure || r.Programs()[i].Named != test.sure {
			t.Errorf("%s: %d, %v (%s)\n%s", test.name, i, sure, why, text(r))
		}
		if test.name == "a shim" && r.Programs()[i].Exec != 2 {
			t.Errorf("image %d", r.Programs()[i].Exec)
		}
	}
}

func TestLabel(t *testing.T) {
	for command, want := range map[string]string{
		"/usr/bin/python3.12 -X dev big.py --fast": "big.py", "/usr/bin/python3 -m http.server 80": "-m http.server",
		"/usr/bin/python3 -c pass": "", "/bin/bash -e ./build.sh x": "./build.sh", "/usr/bin/node app.js": "app.js",
		"/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus -quiet -I inc -dumpbase x.cc -o /tmp/a.s src/big.cc": "src/big.cc",
		"/usr/bin/x86_64-linux-gnu-gcc-12 -c -o a.o a.c":                                               "a.c",
		"/usr/bin/clang++-16 -O2 -MF d -include h.h a.cpp":                                             "a.cpp",
		"/usr/bin/rustc --crate-name x src/main.rs":                                                    "src/main.rs",
		"/usr/bin/ls -l a.c": "", "/usr/bin/perl": "",
		"/usr/bin/git -C r -c a.b=c --no-pager log -p": "log", "/usr/bin/git --version": "",
		"/usr/bin/python3 -E -s big.py": "big.py", "/usr/bin/perl -E say": "",
	} {
		args := strings.Fields(command)
		if got := run.Label(args[0], args); got != want {
			t.Errorf("%s: %q, not %q", command, got, want)
		}
	}
}

// TestPack: a run as one file says what the folder says.
func TestPack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "make.7.htap")
	w := newRecorder(t, path, 7)
	w.begin(program{7, 1, []string{"make"}, 10, 1000}).end(0)
	w.begin(program{8, 7, []string{"cc1", "a.c"}, 500, 9000}).end(1)
	large := w.begin(program{9, 7, []string{"cc1", "b.c"}, 600, 8000}).large()
	large.end(0)
	w.Close()
	if run.File(large.path) == "" {
		t.Error("the large recording is in the pack")
	}
	folder := open(t, path)
	want := strings.ReplaceAll(text(folder), " packed", "")
	one := filepath.Join(t.TempDir(), "one.htap")
	if err := run.Pack(path, one); err != nil {
		t.Fatal(err)
	}
	r := open(t, one)
	if got := strings.ReplaceAll(text(r), " packed", ""); got != want || r.Damage() != "" || r.Live() ||
		r.Info().ID != folder.Info().ID || !run.Is(one) {
		t.Errorf("damage %q, got\n%s, want\n%s", r.Damage(), got, want)
	}
	if err := run.Pack(one, one); err == nil {
		t.Error("an existing file was overwritten")
	}
	st, err := os.Stat(one)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{st.Size() - 1, st.Size() / 2} {
		if err := os.Truncate(one, size); err != nil {
			t.Fatal(err)
		}
		if r := open(t, one); r.Damage() == "" || len(r.Programs()) == 0 {
			t.Errorf("cut to %d: %d programs, damage %q", size, len(r.Programs()), r.Damage())
		}
	}
}

// TestSingle: of a run, only the program that matters is kept, as a file.
func TestSingle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sh.7.htap")
	w := newRecorder(t, path, 7)
	w.begin(program{7, 1, []string{"sh"}, 10, 1000}).end(0)
	w.begin(program{8, 7, []string{"x"}, 500, 9000}).large().end(1)
	w.Close()
	if err := run.Single(path); err != nil {
		t.Fatal(err)
	}
	if r := open(t, path); !r.IsRecording() || r.Programs()[0].Pid != 8 || r.Damage() != "" {
		t.Errorf("%s, damage %q", text(r), r.Damage())
	}
	if got := names(t, filepath.Dir(path)); got != "sh.7.htap" {
		t.Error(got)
	}
}

// TestRewrite: each recording is changed, and so is what the run says of its program.
func TestRewrite(t *testing.T) {
	path := made(t)
	before := text(open(t, path))
	err := run.Rewrite(path, func(rec *recording.Reader, to string) error {
		return recording.Rename(rec, to, shouting{})
	})
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, path)
	if got := text(r); !strings.EqualFold(got, before) || got == before || r.Damage() != "" || r.Info().Pid != 7 {
		t.Errorf("damage %q, %+v\n%s", r.Damage(), r.Info(), got)
	}
	for _, file := range []string{"index", "run.json", "small.pack"} {
		b, err := os.ReadFile(filepath.Join(path, file))
		if err != nil || strings.Contains(string(b), "cc1") || strings.Contains(string(b), "a.c") {
			t.Errorf("%s, %v: %q", file, err, b)
		}
	}
	if got := names(t, filepath.Dir(path)); got != filepath.Base(path) {
		t.Error(got)
	}
	// What cannot be changed stays as it was.
	before = text(open(t, path))
	if err := run.Rewrite(path, func(*recording.Reader, string) error { return errors.New("no") }); err == nil {
		t.Error("no error")
	}
	if got := text(open(t, path)); got != before || names(t, filepath.Dir(path)) != filepath.Base(path) {
		t.Error(got)
	}
}

// shouting writes names in capitals.
type shouting struct{}

func (shouting) Path(s string) string     { return strings.ToUpper(s) }
func (shouting) Word(s string) string     { return strings.ToUpper(s) }
func (shouting) Function(s string) string { return strings.ToUpper(s) }
func (shouting) Text(s string) string     { return strings.ToUpper(s) }
