package private

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// strangers are the users that attack: an ordinary one and nobody.
var strangers = []uint32{12345, 65534}

// asStranger runs a shell's commands as another user; that takes root, which CI has.
func asStranger(t *testing.T, uid uint32, script string, args ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("these tests need root, to attack as another user")
		}
		t.Skip("only root can become another user")
	}
	cmd := exec.Command("/bin/sh", append([]string{"-ec", script, "sh"}, args...)...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("as user %d: %v\n%s", uid, err, out)
	}
}

// openToAll is a folder that everybody may write to, as /tmp is.
func openToAll(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "heaptap-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	return dir
}

func contents(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestCreate has strangers put things where a file is to be made: none of them is written to, and the file is ours.
func TestCreate(t *testing.T) {
	const victim = "not to be touched"
	for name, plant := range map[string]string{
		"link":          `ln -s "$2" "$1"`,
		"dangling link": `ln -s "$2.none" "$1"`,
		"file":          `echo theirs > "$1"; chmod 666 "$1"`,
		"chain":         `ln -s "$2" "$1.second"; ln -s "$1.second" "$1"`,
	} {
		for _, uid := range strangers {
			dir := openToAll(t)
			precious := filepath.Join(t.TempDir(), "precious")
			if err := os.WriteFile(precious, []byte(victim), 0o600); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "out")
			asStranger(t, uid, plant, path, precious)
			f, err := Create(path, 0o600)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			f.WriteString("ours")
			f.Close()
			var st unix.Stat_t
			if err := unix.Lstat(path, &st); err != nil || st.Mode != unix.S_IFREG|0o600 ||
				st.Uid != uint32(os.Geteuid()) {
				t.Errorf("%s: mode %o, user %d, %v", name, st.Mode, st.Uid, err)
			}
			if got := contents(t, precious); got != victim {
				t.Errorf("%s: the file it led to now holds %q", name, got)
			}
			if _, err := os.Lstat(precious + ".none"); err == nil {
				t.Errorf("%s: a file was made where the link led", name)
			}
		}
	}
}

// TestCreateFIFO does not wait for somebody who reads from a pipe.
func TestCreateFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	if err := unix.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if f, err := Create(path, 0o600); err == nil {
		f.Close()
		t.Error("a pipe was replaced")
	}
}

// TestCreateDevice leaves a device what it is.
func TestCreateDevice(t *testing.T) {
	before, err := os.Stat("/dev/full")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Create("/dev/full", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("x"); err == nil {
		t.Error("it is not full")
	}
	if after, err := os.Stat("/dev/full"); err != nil || after.Mode() != before.Mode() {
		t.Errorf("%v %v, before %v", after, err, before)
	}
}

// TestCreateOwnLink follows a link that the user has made, and keeps to the permissions that were asked for.
func TestCreateOwnLink(t *testing.T) {
	defer unix.Umask(unix.Umask(0o077))
	dir := t.TempDir()
	for _, link := range []string{filepath.Join(dir, "there"), "there"} {
		path := filepath.Join(dir, "link")
		os.Remove(path)
		if err := os.Symlink(link, path); err != nil {
			t.Fatal(err)
		}
		for range 2 { // first it leads to nothing
			f, err := Create(path, 0o644)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
			st, err := os.Lstat(filepath.Join(dir, "there"))
			if err != nil || st.Mode() != 0o644 {
				t.Errorf("%v %v", st, err)
			}
		}
		os.Remove(filepath.Join(dir, "there"))
	}
}

// TestModeOf takes over the permissions of files of one's own only.
func TestModeOf(t *testing.T) {
	dir := openToAll(t)
	asStranger(t, 12345, `cd "$1"; echo theirs > theirs; chmod 666 theirs`, dir)
	os.WriteFile(filepath.Join(dir, "ours"), nil, 0o640)
	os.Chmod(filepath.Join(dir, "ours"), 0o640)
	os.Symlink("ours", filepath.Join(dir, "link"))
	for name, want := range map[string]fs.FileMode{"theirs": 0o600, "ours": 0o640, "link": 0o600, "none": 0o600} {
		if got := ModeOf(filepath.Join(dir, name), 0o600); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestCreateUnderSudo gives the file to the user who called sudo, and not what a link leads to.
func TestCreateUnderSudo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	t.Setenv("SUDO_UID", "12345")
	t.Setenv("SUDO_GID", "54321")
	dir := openToAll(t)
	precious := filepath.Join(t.TempDir(), "precious")
	os.WriteFile(precious, nil, 0o600)
	path := filepath.Join(dir, "out")
	asStranger(t, 65534, `ln -s "$2" "$1"`, path, precious)
	f, err := Create(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	var st unix.Stat_t
	if unix.Lstat(path, &st); st.Uid != 12345 || st.Gid != 54321 || st.Mode != unix.S_IFREG|0o600 {
		t.Errorf("user %d, group %d, mode %o", st.Uid, st.Gid, st.Mode)
	}
	if unix.Lstat(precious, &st); st.Uid != 0 {
		t.Errorf("what the link led to belongs to user %d now", st.Uid)
	}
	for _, wrong := range []string{"", "0", "-1", "x", "4294967295"} {
		t.Setenv("SUDO_UID", wrong)
		f, err := Create(path, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if unix.Lstat(path, &st); st.Uid != 0 {
			t.Errorf("SUDO_UID=%q: user %d", wrong, st.Uid)
		}
	}
}

// TestOpen refuses what the folder's owner has not put there, and never waits.
func TestOpen(t *testing.T) {
	dir := openToAll(t)
	f, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	asStranger(t, 12345, `cd "$1"; echo theirs > file; ln -s /etc/passwd link; mkfifo pipe; mkdir folder`, dir)
	os.WriteFile(filepath.Join(dir, "good"), []byte("ours"), 0o600)
	os.WriteFile(filepath.Join(dir, "twice"), []byte("ours"), 0o600)
	os.Link(filepath.Join(dir, "twice"), filepath.Join(dir, "second"))
	os.WriteFile(filepath.Join(dir, "open"), []byte("ours"), 0o600)
	f.mode = 0o700
	os.Chmod(filepath.Join(dir, "open"), 0o666)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, name := range []string{"file", "link", "pipe", "folder", "twice", "open",
			"../" + filepath.Base(dir) + "/good", "none", "..", "."} {
			if b, err := f.Read(name); err == nil {
				t.Errorf("%s was read: %q", name, b)
			}
			if name != "none" {
				if file, err := f.Create(name); err == nil {
					file.Close()
					t.Errorf("%s was made anew", name)
				}
			}
		}
		if b, err := f.Read("good"); err != nil || string(b) != "ours" {
			t.Errorf("%q %v", b, err)
		}
		for path, uid := range map[string]uint32{"file": 0, "link": 0, "pipe": 12345, "good": 12345} {
			if file, err := OpenOwned(filepath.Join(dir, path), uid); err == nil {
				file.Close()
				t.Errorf("%s was opened as one of user %d", path, uid)
			}
		}
		if _, err := OpenRegular(filepath.Join(dir, "pipe")); err == nil {
			t.Error("a pipe is a regular file")
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it waits for a pipe")
	}
}

// TestOpenFolder refuses folders that others may write to or own.
func TestOpenFolder(t *testing.T) {
	dir := openToAll(t)
	if _, err := OpenFolder(dir); err == nil || !strings.Contains(err.Error(), "others may write to it") {
		t.Errorf("a folder open to all: %v", err)
	}
	asStranger(t, 12345, `mkdir -m 700 "$1/theirs"`, dir)
	if _, err := OpenFolder(filepath.Join(dir, "theirs")); err == nil {
		t.Error("somebody else's folder was taken")
	}
	f, err := OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
