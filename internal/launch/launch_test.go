package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestTargetEnv(t *testing.T) {
	for _, c := range []struct {
		name   string
		env    []string
		expect []string
	}{
		{"empty", nil, []string{"LD_PRELOAD=/a/lib.so", "HEAPTAP_RUN=/run", "HEAPTAP_SPILL_DIR=/out",
			"HEAPTAP_SPILL_LIMIT=7"}},
		{"order is kept", []string{"B=2", "LD_PRELOAD=/x.so", "A=1"},
			[]string{"B=2", "LD_PRELOAD=/a/lib.so:/x.so", "A=1", "HEAPTAP_RUN=/run", "HEAPTAP_SPILL_DIR=/out",
				"HEAPTAP_SPILL_LIMIT=7"}},
		{"several preloads", []string{"LD_PRELOAD=/x.so /y.so::/z.so"},
			[]string{"LD_PRELOAD=/a/lib.so:/x.so:/y.so:/z.so", "HEAPTAP_RUN=/run", "HEAPTAP_SPILL_DIR=/out",
				"HEAPTAP_SPILL_LIMIT=7"}},
		{"a run within a run", []string{"LD_PRELOAD=/tmp/heaptap-agent-0123/$PLATFORM/libheaptap.so:/x.so",
			"HEAPTAP_RUN=/outer", "HEAPTAP_SPILL_LIMIT=1"},
			[]string{"LD_PRELOAD=/a/lib.so:/x.so", "HEAPTAP_RUN=/run", "HEAPTAP_SPILL_LIMIT=7",
				"HEAPTAP_SPILL_DIR=/out"}},
		{"given twice", []string{"HEAPTAP_RUN=/1", "X=", "HEAPTAP_RUN=/2"},
			[]string{"HEAPTAP_RUN=/run", "X=", "LD_PRELOAD=/a/lib.so", "HEAPTAP_SPILL_DIR=/out",
				"HEAPTAP_SPILL_LIMIT=7"}},
	} {
		before := slices.Clone(c.env)
		if got := targetEnv(c.env, "/a/lib.so", "", "/run", "/out", 7); !slices.Equal(got, c.expect) {
			t.Errorf("%s: %q, expected %q", c.name, got, c.expect)
		}
		if !slices.Equal(before, c.env) {
			t.Errorf("%s: changed what it was given", c.name)
		}
	}
}

func TestResolveOutput(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	must(t, os.Mkdir("folder", 0o755))
	must(t, os.WriteFile("file", nil, 0o644))
	must(t, unix.Mkfifo("fifo", 0o644))
	for _, c := range []struct{ output, template, err string }{
		{"", dir + "/%n.%p.htap", ""},
		{"folder", dir + "/folder/%n.%p.htap", ""},
		{"folder/", dir + "/folder/%n.%p.htap", ""},
		{"x.htap", dir + "/x.htap", ""},
		{"file", dir + "/file", ""},
		{"folder/a-%p-%%", dir + "/folder/a-%p-%%", ""},
		{"none/", dir + "/none/%n.%p.htap", ""},
		{"made/here/x", dir + "/made/here/x", ""},
		{"folder/below", dir + "/folder/below", ""},
		{"file/", "", "is not a folder"},
		{"file/x", "", "is not a folder"},
		{"%q", "", "unknown placeholder"},
		{"x%", "", "unknown placeholder"},
		{"fifo", "", "not a regular file"},
		{"/proc/x", "", "cannot write recordings to /proc"},
	} {
		out, err := ResolveOutput(c.output)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: error %v, expected %q", c.output, err, c.err)
			}
			continue
		}
		if err != nil || out.Template != c.template || out.Dir != filepath.Dir(c.template) {
			t.Errorf("%q: %+v, %v; expected %q", c.output, out, err, c.template)
		}
	}
	if left, _ := filepath.Glob(".heaptap*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestUnpackAgent(t *testing.T) {
	lib, none := []byte(strings.Repeat("library", 1000)), []byte("none")
	base := filepath.Join(t.TempDir(), "made", "here")
	// Many at once agree on one folder.
	folders := make([]string, 16)
	var all sync.WaitGroup
	for i := range folders {
		all.Go(func() {
			var err error
			if folders[i], err = unpackInto(base, agentFolder(lib, none), lib, none); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, f := range folders {
		if f != folders[0] {
			t.Fatalf("two folders: %s and %s", f, folders[0])
		}
	}
	if left, _ := filepath.Glob(base + "/*"); len(left) != 1 {
		t.Errorf("left behind: %q", left)
	}
	for p, want := range map[string][]byte{"x86_64": lib, "haswell": lib, "xeon_phi": lib, "$PLATFORM": lib,
		"i686": none, "i386": none} {
		if b, err := os.ReadFile(filepath.Join(folders[0], p, agentName)); err != nil || !bytes.Equal(b, want) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if st, err := os.Stat(filepath.Join(folders[0], agentName)); err != nil || st.Mode().Perm()&0o555 != 0o555 {
		t.Errorf("another user cannot use it: %v %v", st.Mode(), err)
	}

	// Another version has a folder of its own.
	changed := []byte(strings.Repeat("LIBRARY", 1000))
	other, err := unpackInto(base, agentFolder(changed, none), changed, none)
	if err != nil || other == folders[0] {
		t.Errorf("another version: %s, %v", other, err)
	}

	// What was changed is not used.
	for name, damage := range map[string]func(folder string) error{
		"content": func(f string) error {
			return os.WriteFile(filepath.Join(f, agentName), bytes.ToUpper(lib), 0o755)
		},
		"length":   func(f string) error { return os.Truncate(filepath.Join(f, agentName), 10) },
		"link":     func(f string) error { return os.Remove(filepath.Join(f, "i686", agentName)) },
		"writable": func(f string) error { return os.Chmod(f, 0o777) },
		"missing":  func(f string) error { return os.Remove(filepath.Join(f, none32Name)) },
	} {
		base := t.TempDir()
		folder, err := unpackInto(base, agentFolder(lib, none), lib, none)
		must(t, err)
		must(t, damage(folder))
		again, err := unpackInto(base, agentFolder(lib, none), lib, none)
		if err != nil || again == folder {
			t.Errorf("%s: used %s again, %v", name, again, err)
		} else if err := checkFolder(again, lib, none); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnpackAgentRealLibrary(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/proc/no such place")
	lib, err := UnpackAgent()
	must(t, err)
	if strings.ContainsAny(lib.Preload, " :") {
		t.Errorf("the loader would split %q", lib.Preload)
	}
	if err := checkExec(lib.Path); err != nil {
		t.Error(err)
	}
}

func TestLookUp(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, mode := range map[string]os.FileMode{"a/run": 0o755, "a/no": 0o644, "b/no": 0o755, "b/only": 0o644,
		"here": 0o644} {
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte("#!/bin/sh\n"), mode))
	}
	must(t, os.Mkdir("a/folder", 0o755))
	path := "none:" + dir + "/a:" + dir + "/b"
	for _, c := range []struct {
		name, path, expect string
		status             int
	}{
		{"run", path, dir + "/a/run", 0},
		{"no", path, dir + "/b/no", 0}, // the first one found that can be executed
		{"only", path, "", 126},
		{"folder", path, "", 127}, // a folder is no command
		{"nothing", path, "", 127},
		{"here", path, "", 127},
		{"", path, "", 127},
		{"a/run", "", "a/run", 0},
		{"./a/run", "", "./a/run", 0},
		{"a/none", path, "", 127},
		{"a/run/x", path, "", 127},
		{"a/no", path, "", 126},
		{"a", "", "", 127},
		{"./a", path, "", 126},
		{"run", "a:", "a/run", 0},
	} {
		got, err := LookUp(c.name, c.path)
		var status *StatusError
		switch {
		case c.status == 0 && (err != nil || got != c.expect):
			t.Errorf("%q: %q, %v; expected %q", c.name, got, err, c.expect)
		case c.status != 0 && (!errors.As(err, &status) || status.Status != c.status):
			t.Errorf("%q: %q, %v; expected status %d", c.name, got, err, c.status)
		}
	}
}

func TestConsoleDoesNotWait(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer w.Close()
	c := NewConsole(w)
	c.patience = 50 * time.Millisecond
	began := time.Now()
	c.Write(bytes.Repeat([]byte("x"), 1<<20)) // a pipe takes 64 KiB
	c.Warn("nobody reads this")
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("it waited %v for a reader", d)
	}
	if !c.dead {
		t.Error("it believes that all was read")
	}
}

func TestConsoleClosedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	r.Close()
	s := takeSignals() // as run does: SIGPIPE must not end it
	defer s.release()
	c := NewConsole(w)
	c.Warn("nobody reads this")
	c.Warn("nor this")
	w.Close()
}

func TestConsoleSlowReader(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	c := NewConsole(w)
	text := bytes.Repeat([]byte("0123456789"), 30000)
	go func() {
		c.Write(text)
		w.Close()
	}()
	var got bytes.Buffer
	b := make([]byte, 5000)
	for {
		n, err := r.Read(b)
		got.Write(b[:n])
		if err == io.EOF {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if !bytes.Equal(got.Bytes(), text) {
		t.Errorf("%d bytes came, expected %d", got.Len(), len(text))
	}
}

func TestLines(t *testing.T) {
	var b bytes.Buffer
	l := newLines(&b)
	must(t, l.send(fromRecorder{Note: "one\ntwo"}))
	must(t, l.send(fromRecorder{Settled: &Settled{Seen: 3, Running: []int{4}}}))
	var m fromRecorder
	if err := l.receive(&m); err != nil || m.Note != "one\ntwo" {
		t.Errorf("%+v, %v", m, err)
	}
	m = fromRecorder{}
	if err := l.receive(&m); err != nil || m.Settled == nil || m.Settled.Seen != 3 {
		t.Errorf("%+v, %v", m, err)
	}
	if err := l.receive(&m); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	endless := &lines{r: newLines(struct {
		io.Reader
		io.Writer
	}{zeros{}, io.Discard}).r}
	if err := endless.receive(&m); err == nil {
		t.Error("an endless line was taken in")
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}

func TestWitness(t *testing.T) {
	w, err := newWitness()
	must(t, err)
	defer w.end()
	if w.saw(unix.SIGUSR1) {
		t.Error("it saw a signal that nobody sent")
	}
	for range 3 {
		must(t, unix.Kill(w.pid, unix.SIGUSR1)) // as if sent to its group
		if !w.saw(unix.SIGUSR1) {
			t.Error("it did not see the signal")
		}
		if w.saw(unix.SIGUSR1) {
			t.Error("it did not forget the signal")
		}
	}
	if entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", w.pid)); err == nil && len(entries) != 2 {
		t.Errorf("it keeps %d descriptors open", len(entries))
	}
}

func TestSpoolPID(t *testing.T) {
	for name, want := range map[string]int{"/x/123-abc.spool": 123, "abc.spool": 0, "/9/7.spool": 7} {
		if got := spoolPID(name); got != want {
			t.Errorf("%s: %d, expected %d", name, got, want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
