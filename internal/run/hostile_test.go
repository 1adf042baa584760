package run_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/run"
)

// made makes a run of three programs, and returns its path.
func made(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "make.7.htap")
	w := newRecorder(t, path, 7)
	w.begin(program{7, 1, []string{"make"}, 10, 1000}).end(0)
	w.begin(program{8, 7, []string{"cc1", "a.c"}, 500, 9000}).end(1)
	w.begin(program{9, 7, []string{"cc1", "b.c"}, 600, 8000}).end(0)
	w.Close()
	return path
}

// line is a line of an index.
func line(v any) []byte {
	b, _ := json.Marshal(v)
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)), b)
}

// TestCutIndex cuts the index at every place, as a recorder that is killed does: the run opens, says so, and has all
// programs with their recordings.
func TestCutIndex(t *testing.T) {
	path := made(t)
	want := text(open(t, path))
	index := filepath.Join(path, "index")
	whole, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	for n := len(whole) - 1; n >= 0; n -= 37 {
		if err := os.WriteFile(index, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		r := open(t, path)
		got := text(r)
		// Which process started another one is not in recordings, only in the index and in the pack.
		if short := func(s string) string { return strings.ReplaceAll(s, "9<0", "9<-1") }; short(got) != short(want) {
			t.Fatalf("cut at %d:\n%s\nwant:\n%s", n, got, want)
		}
		if r.Damage() == "" || r.Live() {
			t.Errorf("cut at %d: damage %q", n, r.Damage())
		}
		r.Close()
	}
}

// TestHostile opens runs whose files say what no recorder writes.
func TestHostile(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	for name, spoil := range map[string]func(dir string) error{
		"a path out of the folder": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "index"),
				line(object{"begin": object{"pid": 1, "member": "../../secret"}}), 0o600)
		},
		"a link": func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "index"),
				line(object{"begin": object{"pid": 1, "member": "p/01/1-2.htap"}}), 0o600); err != nil {
				return err
			}
			_ = os.MkdirAll(filepath.Join(dir, "p/01"), 0o700)
			return os.Symlink(secret, filepath.Join(dir, "p/01/1-2.htap"))
		},
		"a folder that is a link": func(dir string) error {
			_ = os.RemoveAll(filepath.Join(dir, "p"))
			return os.Symlink(filepath.Dir(secret), filepath.Join(dir, "p"))
		},
		"a place beyond the pack": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "index"), line(object{"begin": object{"pid": 1,
				"member": "p/01/1-2.htap", "packed": object{"offset": 1 << 62, "size": 1 << 62}}}), 0o600)
		},
		"numbers of programs": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "index"), line(object{"n": 1 << 60, "now": object{}}), 0o600)
		},
		"a long line": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "index"), bytes.Repeat([]byte("x"), 4<<20), 0o600)
		},
		"no index":           func(dir string) error { return os.Remove(filepath.Join(dir, "index")) },
		"an index as a pipe": func(dir string) error { return pipe(filepath.Join(dir, "index")) },
		"a pack as a pipe":   func(dir string) error { return pipe(filepath.Join(dir, "small.pack")) },
		"run.json as a pipe": func(dir string) error { return pipe(filepath.Join(dir, "run.json")) },
		"an empty run.json": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "run.json"), nil,
				0o600)
		},
		"a newer run": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "run.json"), []byte(`{"format": 9}`), 0o600)
		},
	} {
		path := made(t)
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		r, err := run.Open(path)
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("%s: the error does not name the run: %v", name, err)
			}
			continue
		}
		if r.Damage() == "" && name != "a folder that is a link" { // all that the run has is in the pack
			t.Errorf("%s: no damage", name)
		}
		for i := range r.Programs() {
			if rec, err := r.OpenProgram(i); err == nil {
				if rec.Process().PID == 0 {
					t.Errorf("%s: program %d is not a recording", name, i)
				}
				rec.Close()
			}
		}
		r.Close()
	}
}

// FuzzIndex gives a run any index.
func FuzzIndex(f *testing.F) {
	path := made(f)
	whole, err := os.ReadFile(filepath.Join(path, "index"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(line(map[string]any{"begin": map[string]any{"pid": 3, "ppid": 3, "member": "p/03/3-4.htap"}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		// Half of the inputs get right checksums, so that what they say is looked at.
		if len(b) > 0 && b[0]&1 == 1 {
			var lines []byte
			for _, l := range bytes.Split(b[1:], []byte("\n")) {
				lines = fmt.Appendf(lines, "%08x %s\n", crc32.Checksum(l, crc32.MakeTable(crc32.Castagnoli)), l)
			}
			b = lines
		}
		if err := os.WriteFile(filepath.Join(path, "index"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		use(t, path)
	})
}

// FuzzPack gives a run any pack, and opens it as a run in one file.
func FuzzPack(f *testing.F) {
	path := made(f)
	pack := filepath.Join(path, "small.pack")
	whole, err := os.ReadFile(pack)
	if err != nil {
		f.Fatal(err)
	}
	if err := os.Remove(filepath.Join(path, "index")); err != nil { // so that the pack is read
		f.Fatal(err)
	}
	f.Add(whole)
	one := filepath.Join(f.TempDir(), "one.htap")
	if err := run.Pack(path, one); err != nil {
		f.Fatal(err)
	}
	if whole, err = os.ReadFile(one); err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, file := range []string{pack, one} {
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		use(t, path)
		use(t, one)
	})
}

// FuzzInfo gives a run any run.json.
func FuzzInfo(f *testing.F) {
	path := made(f)
	whole, err := os.ReadFile(filepath.Join(path, "run.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(filepath.Join(path, "run.json"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		use(t, path)
	})
}

// use opens a run and all that is in it.
func use(t *testing.T, path string) {
	r, err := run.Open(path)
	if err != nil {
		return
	}
	defer r.Close()
	for i, p := range r.Programs() {
		if p.Parent >= i {
			t.Errorf("program %d was started by %d", i, p.Parent)
		}
		if rec, err := r.OpenProgram(i); err == nil {
			rec.Close()
		}
	}
	if i, why, _ := r.Matters(); i >= len(r.Programs()) || why == "" {
		t.Errorf("%d matters: %q", i, why)
	}
	_ = r.Size()
}
