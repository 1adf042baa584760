package notes

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPath(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"a.htap":                        "a.htap.notes",
		"/x/run.htap/":                  "/x/run.htap.notes",
		"run.htap/p/0a/10a-1234.htap":   "run.htap.notes",
		"/x/run.htap/p/0a/10a-12a.htap": "/x/run.htap.notes",
	} {
		if got := Path(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// TestWrite: what was written is read, also in place of what was there; only the user may read it, and nothing else is
// left in the folder.
func TestWrite(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "a.htap")
	if text, err := Read(at); text != nil || err != nil {
		t.Errorf("without notes: %q, %v", text, err)
	}
	for _, want := range []string{"one", "", "two", string(make([]byte, Max))} {
		if err := Write(at, []byte(want)); err != nil {
			t.Fatal(err)
		}
		if text, err := Read(at); err != nil || string(text) != want {
			t.Errorf("%.20q of %d bytes, %v", text, len(text), err)
		}
	}
	if err := Write(at, make([]byte, Max+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("notes of %d bytes: %v", Max+1, err)
	}
	list, err := os.ReadDir(filepath.Dir(at))
	if err != nil || len(list) != 1 || list[0].Name() != "a.htap.notes" {
		t.Fatalf("%v, %v", list, err)
	}
	if st, err := list[0].Info(); err != nil || st.Mode() != 0o600 || st.Size() != Max {
		t.Errorf("%v, %v", st, err)
	}
}

// TestForeign: links, pipes, folders and files of others in the place of notes are neither read nor replaced, nor is
// what is behind them.
func TestForeign(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(path, victim string) error{
		"link":          func(path, victim string) error { return os.Symlink(victim, path) },
		"dangling link": func(path, victim string) error { return os.Symlink(victim+".none", path) },
		"second name":   func(path, victim string) error { return os.Link(victim, path) },
		"pipe":          func(path, _ string) error { return unix.Mkfifo(path, 0o600) },
		"folder":        func(path, _ string) error { return os.Mkdir(path, 0o700) },
		"open to all": func(path, _ string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o666))
		},
		"of another user": func(path, _ string) error {
			if os.Geteuid() != 0 {
				return errors.ErrUnsupported // only root can give files away
			}
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, 12345, 12345))
		},
	} {
		dir := t.TempDir()
		at, victim := filepath.Join(dir, "a.htap"), filepath.Join(dir, "victim")
		if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		switch err := plant(Path(at), victim); {
		case errors.Is(err, errors.ErrUnsupported):
			continue
		case err != nil:
			t.Fatal(err)
		}
		before, err := os.Lstat(Path(at))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := Read(at); err == nil {
			t.Errorf("%s: it was read: %q", name, text)
		}
		if err := Write(at, []byte("new")); err == nil {
			t.Errorf("%s: it was replaced", name)
		}
		after, err := os.Lstat(Path(at))
		if err != nil || !os.SameFile(before, after) || before.Mode() != after.Mode() {
			t.Errorf("%s: %v, %v, before %v", name, after, err, before)
		}
		if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
			t.Errorf("%s: the file behind it holds %q, %v", name, text, err)
		}
		if _, err := os.Lstat(victim + ".none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a file was made where the link leads", name)
		}
	}
}

// TestSudo: notes written under sudo belong to the user who called it, and can be read again, even in a folder that
// everybody may write to.
func TestSudo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	t.Setenv("SUDO_UID", "12345")
	t.Setenv("SUDO_GID", "12345")
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "a.htap")
	for range 2 {
		if err := Write(at, []byte("one")); err != nil {
			t.Fatal(err)
		}
	}
	var st unix.Stat_t
	if err := unix.Lstat(Path(at), &st); err != nil || st.Uid != 12345 || st.Mode != unix.S_IFREG|0o600 {
		t.Errorf("user %d, mode %o, %v", st.Uid, st.Mode, err)
	}
	if text, err := Read(at); err != nil || string(text) != "one" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestNoFolder: a folder that cannot be written to is an error that names the file.
func TestNoFolder(t *testing.T) {
	t.Parallel()
	if err := Write(filepath.Join(t.TempDir(), "none", "a.htap"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
