package cachedir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var kind = Kind{What: "things", Suffix: ".thing"}

func newFolder(t *testing.T) (*Folder, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "heaptap", "things")
	f, err := kind.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f, dir
}

// names lists what is in a folder.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestReplace: a file has all new contents, and whoever has it open keeps the old ones. Nothing else is left.
func TestReplace(t *testing.T) {
	t.Parallel()
	f, dir := newFolder(t)
	if err := f.Replace("a.thing", []byte("one"), []byte(" and two")); err != nil {
		t.Fatal(err)
	}
	old, err := f.OpenFile("a.thing", os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := f.Replace("a.thing", []byte("three")); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(old); err != nil || string(b) != "one and two" {
		t.Errorf("the old file has %q, %v", b, err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "a.thing")); err != nil || string(b) != "three" {
		t.Errorf("the new file has %q, %v", b, err)
	}
	if list := names(t, dir); len(list) != 1 {
		t.Errorf("%q", list)
	}
}

// TestReplaceFails: if a file cannot be replaced, it stays, and nothing is left over.
func TestReplaceFails(t *testing.T) {
	t.Parallel()
	f, dir := newFolder(t)
	if err := os.MkdirAll(filepath.Join(dir, "a.thing", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := f.Replace("a.thing", []byte("one"))
	if err == nil || !strings.HasPrefix(err.Error(), "the cache of things: ") {
		t.Errorf("%v", err)
	}
	if list := names(t, dir); !slices.Equal(list, []string{"a.thing"}) {
		t.Errorf("%q", list)
	}
}

// TestPrune: what was not used for the longest time goes first; other files, and the one to keep, stay.
func TestPrune(t *testing.T) {
	t.Parallel()
	f, dir := newFolder(t)
	for i, name := range []string{"c.thing", "a.thing", "b.thing", "other"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		used := time.Now().Add(time.Duration(i-20) * time.Hour)
		if err := os.Chtimes(path, used, used); err != nil {
			t.Fatal(err)
		}
	}
	if u, err := f.Usage(); err != nil || u != (Usage{3, 300}) {
		t.Errorf("%+v, %v", u, err)
	}
	file, err := f.OpenFile("a.thing", os.O_RDONLY) // that is a use
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	for _, c := range []struct {
		limit int64
		keep  string
		want  []string
	}{
		{300, "", []string{"a.thing", "b.thing", "c.thing", "other"}},
		{299, "c.thing", []string{"a.thing", "c.thing", "other"}},
		{100, "", []string{"a.thing", "other"}},
		{0, "", []string{"other"}},
	} {
		if err := f.Prune(c.limit, c.keep); err != nil {
			t.Fatal(err)
		}
		if list := names(t, dir); !slices.Equal(list, c.want) {
			t.Errorf("at most %d bytes: %q, want %q", c.limit, list, c.want)
		}
	}
}

// TestRefused: folders and files that others could have written are not used.
func TestRefused(t *testing.T) {
	t.Parallel()
	f, dir := newFolder(t)
	for name, make := range map[string]func(path string) error{
		"open.thing": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o666))
		},
		"link.thing":   func(path string) error { return os.Symlink("/etc/passwd", path) },
		"folder.thing": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		if err := make(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if file, err := f.OpenFile(name, os.O_RDONLY); err == nil {
			file.Close()
			t.Errorf("%s was opened", name)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := kind.OpenExisting(dir); err == nil || !strings.Contains(err.Error(), "lets others write to it") {
		t.Errorf("%v", err)
	}
	if _, err := kind.OpenExisting(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := kind.OpenExisting(""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := kind.Open(""); err == nil {
		t.Error("a folder without a path was opened")
	}
}
