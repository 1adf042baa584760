package source

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestFind(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(path, text string) string {
		path = filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	abs := write("build/a.c", "one\r\ntwo\n")
	write("other/lib/a.c", "lib")
	write("flat/a.c", "flat")
	write("flathere/a.c", "another folder that begins so")
	write("dir/rel.c", "rel\n\n")
	write("empty.c", "")
	long := filepath.Join(root, "long.c")
	if err := errors.Join(os.WriteFile(long, nil, 0o644), os.Truncate(long, maxFile+1)); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		f        Finder
		recorded string
		want     string // the first line
		lines    int
		missing  bool
	}{
		{Finder{}, abs, "one", 2, false},
		{Finder{}, "/nowhere/a.c", "", 0, true},
		{Finder{Dir: filepath.Join(root, "dir")}, "rel.c", "rel", 2, false},
		{Finder{Maps: []Map{{"/nowhere", filepath.Join(root, "flat")}}}, "/nowhere/a.c", "flat", 1, false},
		{Finder{Maps: []Map{{"/now", filepath.Join(root, "flat")}}}, "/nowhere/a.c", "", 0, true},
		{Finder{Maps: []Map{{"/x", root}, {"/x/y", "/"}}}, "/x/flat/a.c", "flat", 1, false},
		{Finder{Paths: []string{filepath.Join(root, "other")}}, "/was/there/lib/a.c", "lib", 1, false},
		{Finder{Paths: []string{filepath.Join(root, "none"), filepath.Join(root, "flat")}}, "/was/lib/a.c", "flat", 1, false},
		{Finder{Paths: []string{filepath.Join(root, "flat")}}, "../../a.c", "flat", 1, false},
		{Finder{Paths: []string{filepath.Join(root, "flat")}}, "/was/b.c", "", 0, true},
		{Finder{}, root, "", 0, true},
		{Finder{}, filepath.Join(root, "empty.c"), "", 0, false},
	} {
		got, err := x.f.Find(x.recorded)
		if errors.Is(err, ErrMissing) != x.missing || err != nil && !x.missing {
			t.Errorf("%+v: %v", x, err)
			continue
		}
		if err == nil {
			if line, _ := got.Line(1); line != x.want || len(got.Lines) != x.lines {
				t.Errorf("%+v: %q", x, got.Lines)
			}
		}
	}
	if _, err := (&Finder{}).Find(long); err == nil || errors.Is(err, ErrMissing) {
		t.Errorf("a file of %d bytes: %v", maxFile+1, err)
	}
	at := time.Now().Add(-time.Hour)
	for age, newer := range map[time.Duration]bool{time.Hour: false, -time.Hour: true} {
		if err := os.Chtimes(abs, time.Time{}, at.Add(-age)); err != nil {
			t.Fatal(err)
		}
		if f, err := (&Finder{Recorded: at}).Find(abs); err != nil || f.Newer != newer {
			t.Errorf("%v before the recording: %+v, %v", age, f, err)
		}
	}
}

func TestParseMap(t *testing.T) {
	t.Parallel()
	if m, err := ParseMap("/a=/b=c"); err != nil || m != (Map{"/a", "/b=c"}) {
		t.Errorf("%v, %v", m, err)
	}
	for _, wrong := range []string{"", "/a", "=/b"} {
		if _, err := ParseMap(wrong); err == nil {
			t.Errorf("%q is a substitution", wrong)
		}
	}
}
