package procs

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/childtest"
	"github.com/heaptap/heaptap/internal/private"
	"golang.org/x/sys/unix"
)

// needRoot skips a test that becomes other users.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("this test needs root, to attack as another user")
	}
	t.Skip("only root can become another user")
}

// guestVariable names the run's folder for TestGuest.
const guestVariable = "HEAPTAP_TEST_GUEST"

// TestGuest is what the tests below run as other users: it asks at a run's door, tries what it should not be able to,
// and prints what came of it, a word for each.
func TestGuest(t *testing.T) {
	dir := os.Getenv(guestVariable)
	if dir == "" {
		t.Skip("for the tests of the door")
	}
	var said []string
	name := "none"
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: dir + DoorSuffix + "/" + doorSocket,
		Net: "unixpacket"})
	if err == nil {
		conn.SetDeadline(time.Now().Add(30 * time.Second))
		b, oob := make([]byte, 256), make([]byte, 256)
		n, oobn, _, _, err := conn.ReadMsgUnix(b, oob)
		if list, _ := unix.ParseSocketControlMessage(oob[:oobn]); err == nil && len(list) == 1 {
			name = string(b[:n])
			fds, _ := unix.ParseUnixRights(&list[0])
			if _, err := unix.Pwrite(fds[0], []byte("x"), 0); err == nil {
				said = append(said, "admitted")
			}
			if f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fds[0]), os.O_RDWR, 0); err == nil {
				f.Close()
				said = append(said, "reopened")
			}
		}
	}
	for what, err := range map[string]error{
		"listed":  func() error { _, err := os.ReadDir(dir); return err }(),
		"opened":  func() error { _, err := os.Open(filepath.Join(dir, name)); return err }(),
		"planted": os.WriteFile(filepath.Join(dir, "1-1.spool"), []byte("x"), 0o600),
		"linked":  os.Symlink("/etc/passwd", filepath.Join(dir, "1-1.0.state")),
		"removed": os.Remove(filepath.Join(dir, name)),
		"door":    os.WriteFile(filepath.Join(dir+DoorSuffix, "x"), nil, 0o600),
		"socket":  os.Remove(filepath.Join(dir+DoorSuffix, doorSocket)),
		"beside":  os.Remove(dir + DoorSuffix),
	} {
		if err == nil {
			said = append(said, what)
		}
	}
	fmt.Printf("\nguest: %s\n", strings.Join(said, " "))
}

// doors makes a run's folder and its door, which strangers can see, and the command that TestGuest is.
func doors(t *testing.T) (dir, guest string) {
	t.Helper()
	base, err := os.MkdirTemp("/tmp", "heaptap-door-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	dir = filepath.Join(base, "run")
	for path, mode := range map[string]os.FileMode{dir: 0o700, dir + DoorSuffix: 0o711} {
		if err := os.Mkdir(path, mode); err != nil {
			t.Fatal(err)
		}
		os.Chmod(path, mode)
	}
	os.Chmod(base, 0o777|os.ModeSticky)
	guest = filepath.Join(base, "guest")
	in, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(guest, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	os.Chmod(guest, 0o755)
	return dir, guest
}

func as(uid uint32, cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	cmd.Dir = "/"
	return cmd
}

// ask runs TestGuest as a user, by way of a shell's script, in which "$@" is the guest's command; it returns what the
// guest says.
func ask(t *testing.T, dir, guest string, uid uint32, script string) string {
	t.Helper()
	cmd := as(uid, exec.Command("/bin/sh", "-c", script, "sh", guest, "-test.run=^TestGuest$", "-test.count=1"))
	cmd.Env = []string{guestVariable + "=" + dir, "HEAPTAP_RUN=" + dir, "PATH=/usr/bin:/bin", "TMPDIR=/tmp"}
	out, err := cmd.CombinedOutput()
	_, said, ok := strings.Cut(string(out), "guest: ")
	if !ok {
		t.Fatalf("%v\n%s", err, out)
	}
	said, _, _ = strings.Cut(said, "\n")
	return said
}

func openTestDoor(t *testing.T, dir string, f *Family, most int64) (d *Door, notes func() string) {
	t.Helper()
	folder, err := private.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var list []string
	d, err = OpenDoor(folder, f, most, func(text string) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, text)
	})
	if err != nil || d == nil {
		t.Fatal(d, err)
	}
	go d.Serve()
	stop := make(chan struct{})
	go f.Follow(stop)
	t.Cleanup(func() {
		close(stop)
		d.Close()
		folder.Close()
	})
	return d, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(list, "\n")
	}
}

// stranger is a process that the tests have not started: their processes are not of its family.
func stranger(t *testing.T) int {
	t.Helper()
	return childtest.Sleeping(t).Process.Pid
}

// TestDoor admits processes that the run has started, whatever their user is now, and no others, whatever they carry.
// Neither can do anything in the folders.
func TestDoor(t *testing.T) {
	needRoot(t)
	const directly, orphaned = `exec "$@"`, `(setsid sh -c '(sleep 0.2; exec "$@") & exit' sh "$@" &) | cat`
	for _, uid := range []uint32{12345, 65534} {
		dir, command := doors(t)
		_, notes := openTestDoor(t, dir, NewFamily(stranger(t)), 1<<30)
		if said := ask(t, dir, command, uid, directly); said != "" {
			t.Errorf("a stranger, user %d: %s", uid, said)
		}
		if n := notes(); !strings.Contains(n, fmt.Sprintf("of user %d asked to be recorded", uid)) {
			t.Errorf("the refusal is not reported: %q", n)
		}
		dir, command = doors(t)
		f := NewFamily(os.Getpid())
		d, notes := openTestDoor(t, dir, f, 1<<30)
		if said := ask(t, dir, command, uid, directly); said != "admitted" {
			t.Errorf("a process of the run, user %d: %q; %s", uid, said, notes())
		}
		if f.forks >= 0 {
			if said := ask(t, dir, command, uid, orphaned); said != "admitted" {
				t.Errorf("a process of the run whose parents have ended, user %d: %q; %s", uid, said, notes())
			}
		}
		var st unix.Stat_t
		names, _ := d.spools.Names()
		for _, name := range names {
			if unix.Lstat(filepath.Join(dir, name), &st); st.Uid != 0 || st.Mode != unix.S_IFREG|0o600 {
				t.Errorf("%s: user %d, mode %o", name, st.Uid, st.Mode)
			}
		}
		if len(names) == 0 {
			t.Error("no spool was made")
		}
	}
}

// TestDoorWithoutTheKernel is for containers, where the kernel does not report forks: a process with a living parent of
// the run's is admitted, and who was met while it had one; others are not.
func TestDoorWithoutTheKernel(t *testing.T) {
	needRoot(t)
	dir, command := doors(t)
	f := NewFamily(os.Getpid())
	unix.Close(f.forks)
	f.forks = -1
	_, notes := openTestDoor(t, dir, f, 1<<30)
	if said := ask(t, dir, command, 12345, `exec "$@"`); said != "admitted" {
		t.Errorf("a child: %q; %s", said, notes())
	}
	if said := ask(t, dir, command, 12345, `"$@"; true`); said != "admitted" {
		t.Errorf("a grandchild: %q; %s", said, notes())
	}
	// An id that another process has got is not a member's.
	pid := stranger(t)
	f.mu.Lock()
	f.members = map[int]member{pid: {born: 1}}
	f.mu.Unlock()
	if f.Has(pid) {
		t.Error("a process that began at another time is a member")
	}
}

// TestDoorQuota bounds what each user's spools take.
func TestDoorQuota(t *testing.T) {
	needRoot(t)
	dir, command := doors(t)
	d, notes := openTestDoor(t, dir, NewFamily(os.Getpid()), 4096)
	for i, want := range []string{"admitted", ""} { // the guest has written a byte, which takes a page
		if said := ask(t, dir, command, 12345, `exec "$@"`); said != want {
			t.Errorf("%d: %q; %s", i, said, notes())
		}
	}
	if !strings.Contains(notes(), "which is the limit") {
		t.Errorf("the limit is not reported: %q", notes())
	}
	if said := ask(t, dir, command, 65534, `exec "$@"`); said != "admitted" {
		t.Errorf("one user's limit holds for another: %q; %s", said, notes())
	}
	d.Sweep() // the guest has ended, and its spool was not opened
	d.Sweep()
	if names, err := d.spools.Names(); len(names) > 0 || err != nil {
		t.Errorf("%q are left, %v", names, err)
	}
	d.mu.Lock()
	d.most = 1 << 30
	for i := range mostGuests {
		d.admitted[fmt.Sprintf("%d-0.spool", i)] = &guest{fd: -1, uid: 12345, met: true}
	}
	d.mu.Unlock()
	if said := ask(t, dir, command, 12345, `exec "$@"`); said != "" {
		t.Errorf("beyond the number of spools: %q", said)
	}
}
