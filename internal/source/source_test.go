package source

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func always(string) bool { return true }

// TestForeign: a recording may name any file. What nobody else calls source text is not read, nor what a link leads to,
// nor what is no file.
func TestForeign(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	at := func(path string) string { return filepath.Join(root, path) }
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.MkdirAll(at("src/sub"), 0o755))
	check(os.WriteFile(at("secret"), []byte("secret"), 0o644))
	check(os.WriteFile(at("src/a.c"), []byte("text"), 0o644))
	check(os.Symlink("../secret", at("src/out.c")))
	check(os.Symlink(at("secret"), at("src/away.c")))
	check(os.Symlink("..", at("src/up")))
	check(os.Symlink("../a.c", at("src/sub/in.c")))
	check(os.Symlink(at("src/a.c"), at("src/whole.c")))
	check(os.Symlink("/proc/self/environ", at("src/proc.c")))
	check(unix.Mkfifo(at("src/fifo.c"), 0o644))
	check(os.Symlink("fifo.c", at("src/tofifo.c")))
	check(os.Symlink("/dev/zero", at("src/tozero.c")))
	check(os.Symlink("/proc/self/root"+at("secret"), at("src/magic.c")))
	socket, err := net.Listen("unix", at("src/socket.c"))
	check(err)
	defer socket.Close()
	zero := int(unix.Mkdev(1, 5))
	if err := unix.Mknod(at("src/zero.c"), unix.S_IFCHR|0o644, zero); err != nil && os.Geteuid() == 0 {
		t.Logf("there is no device to try: %v", err) // only root can create one, and not everywhere
	}
	below := Finder{Paths: []string{at("src")}}
	named := Finder{Named: always}
	mapped := Finder{Maps: []Map{{"/build", at("src")}}}
	for _, x := range []struct {
		f        Finder
		recorded string
		found    bool
	}{
		{Finder{}, at("secret"), false}, {Finder{}, at("src/a.c"),
			false}, {Finder{Named: func(string) bool { return false }}, at("src/a.c"), false},
		{named, at("src/a.c"), true}, {named, at("src/fifo.c"), false}, {named, "/dev/zero", false}, {named,
			"/proc/self/environ", false},
		{named, at("src/proc.c"), false}, {Finder{Dir: "/proc/self", Named: always}, "environ", false},
		{below, "/x/a.c", true}, {below, "/x/sub/in.c", true}, {below, "/x/whole.c", true}, {below, "/x/out.c",
			false}, {below, "/x/away.c", false},
		{below, "/up/secret", false}, {below, "/x/../../secret", false}, {below, "/x/fifo.c", false}, {below,
			"/x/proc.c", false},
		{below, "/x/tofifo.c", false}, {below, "/x/tozero.c", false}, {below, "/x/magic.c", false},
		{below, "/x/socket.c", false}, {below, "/x/zero.c", false}, {below, "/x/sub", false}, {below, "/", false},
		{below, "..", false}, {below, "", false}, {below, "/x/\x00a.c", false},
		{below, at("src/../secret"), false}, {below, at("secret"), false},
		{named, at("src/tofifo.c"), false}, {named, at("src/tozero.c"), false}, {named, at("src/socket.c"), false},
		{named, at("src/zero.c"), false}, {named, "/proc/self/root" + "/proc/self/environ", false},
		{mapped, "/build/tozero.c", false}, {mapped, "/build/zero.c", false}, {mapped, "/build/socket.c", false},
		{mapped, "/build", false}, {mapped, "/build/", false},
		{Finder{Paths: []string{"/"}}, "/proc/self/environ", false}, {Finder{Paths: []string{"/"}}, "/dev/zero", false},
		{Finder{Paths: []string{"/"}}, "/sys/kernel/notes", false},
		{Finder{Paths: []string{"/proc"}}, "/self/environ", false}, {Finder{Paths: []string{"/dev"}}, "/zero", false},
		{mapped, "/build/a.c", true}, {mapped, "/build/out.c", false}, {mapped, "/build/../secret", false}, {mapped,
			"/build/up/secret", false},
		{Finder{}, "/usr/include/../../etc/passwd", false}, {Finder{Dir: "/etc"}, "passwd", false},
	} {
		if file, err := x.f.Find(x.recorded); (err == nil) != x.found {
			t.Errorf("%+v: %q: %v, %v", x.f, x.recorded, file, err)
		}
	}
	if _, err := (&Finder{}).Find(at("src/a.c")); !errors.Is(err, ErrForeign) {
		t.Errorf("a file that nobody named: %v", err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(path, text string) string {
		path = filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644)); err != nil {
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
		{Finder{Named: always}, abs, "one", 2, false},
		{Finder{Named: always}, "/nowhere/a.c", "", 0, true},
		{Finder{Dir: filepath.Join(root, "dir"), Named: always}, "rel.c", "rel", 2, false},
		{Finder{Maps: []Map{{"/nowhere", filepath.Join(root, "flat")}}}, "/nowhere/a.c", "flat", 1, false},
		{Finder{Maps: []Map{{"/now", filepath.Join(root, "flat")}}}, "/nowhere/a.c", "", 0, true},
		{Finder{Maps: []Map{{"/x", root}, {"/x/y", "/"}}}, "/x/flat/a.c", "flat", 1, false},
		{Finder{Paths: []string{filepath.Join(root, "other")}}, "/was/there/lib/a.c", "lib", 1, false},
		{Finder{Paths: []string{filepath.Join(root, "none"), filepath.Join(root, "flat")}}, "/was/lib/a.c", "flat", 1,
			false},
		{Finder{Paths: []string{filepath.Join(root, "flat")}}, "../../a.c", "flat", 1, false},
		{Finder{Paths: []string{filepath.Join(root, "flat")}}, "/was/b.c", "", 0, true},
		{Finder{Named: always}, root, "", 0, true},
		{Finder{Named: always}, filepath.Join(root, "empty.c"), "", 0, false},
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
	if _, err := (&Finder{Named: always}).Find(long); err == nil || errors.Is(err, ErrMissing) {
		t.Errorf("a file of %d bytes: %v", maxFile+1, err)
	}
	at := time.Now().Add(-time.Hour)
	for age, newer := range map[time.Duration]bool{time.Hour: false, -time.Hour: true} {
		if err := os.Chtimes(abs, time.Time{}, at.Add(-age)); err != nil {
			t.Fatal(err)
		}
		if f, err := (&Finder{Recorded: at, Named: always}).Find(abs); err != nil || f.Newer != newer {
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
