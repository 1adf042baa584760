package procs

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/record/names"
	"golang.org/x/sys/unix"
)

// Door is a socket of root's run, in a folder beside the run's that everybody may reach. A process of the run that has
// given up its privileges, and so cannot make a spool itself, connects and is sent one (agent/src/spool/admit.c;
// docs/design/0007-the-runs-folder.md). Nothing that it sends is believed: the kernel says who it is, and the family
// whether the run has forked it. All methods may be called on nil, which is no door.
type Door struct {
	folder   *private.Folder // the door's
	spools   *private.Folder // the run's
	family   *Family
	listener *net.UnixListener
	note     func(text string)
	most     int64 // bytes on disk that each user's spools may take

	mu       sync.Mutex
	admitted map[string]*guest // by name of the spool
	refused  int
}

// guest is a process that was sent a spool.
type guest struct {
	pid, fd int // fd: a pidfd, or -1
	uid     uint32
	met     bool // the drain has asked for the guest: the spool is open
	gone    bool // the process had ended, and the drain had not, at the latest sweep
}

// DoorSuffix comes behind the path of a run's folder in that of its door.
const DoorSuffix = "-door"

const (
	doorSocket = "admit"
	// mostGuests is how many spools each user may have at the same time.
	mostGuests = 512
	// mostRefused is how many refusals are noted one by one.
	mostRefused = 5
)

// OpenDoor listens at a run's door; nil if it has none. Each user's spools may take most bytes on disk. note is called
// with sentences about processes that are not admitted.
func OpenDoor(spools *private.Folder, family *Family, most int64, note func(string)) (*Door, error) {
	folder, err := private.OpenFolder(spools.Path() + DoorSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("programs that give up their privileges are not recorded: %w", err)
	}
	d := &Door{folder: folder, spools: spools, family: family, note: note, most: most, admitted: map[string]*guest{}}
	path := filepath.Join("/proc/self/fd", strconv.Itoa(folder.FD()), doorSocket)
	if d.listener, err = net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"}); err != nil {
		folder.Close()
		return nil, fmt.Errorf("programs that give up their privileges are not recorded: %w", err)
	}
	d.listener.SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o666); err != nil {
		d.Close()
		return nil, fmt.Errorf("programs that give up their privileges are not recorded: %w", err)
	}
	return d, nil
}

// Serve answers the processes that connect, one after the other, until Close. It waits for none of them.
func (d *Door) Serve() {
	if d == nil {
		return
	}
	for {
		conn, err := d.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		if err := d.admit(conn); err != nil {
			d.refuse(err)
		}
		conn.Close()
	}
}

func (d *Door) refuse(err error) {
	d.mu.Lock()
	d.refused++
	n := d.refused
	d.mu.Unlock()
	switch {
	case n <= mostRefused:
		d.note(err.Error())
	case n == mostRefused+1:
		d.note("more processes asked to be recorded and were refused")
	}
}

// admit sends a spool to a process, if it is part of the run.
func (d *Door) admit(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	g := &guest{fd: -1}
	wrong := raw.Control(func(fd uintptr) {
		if peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			if g.fd, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD); err != nil {
				g.fd, err = unix.PidfdOpen(int(peer.Pid), 0) // Linux before 6.5
			}
		}
	})
	if err := errors.Join(wrong, err); err != nil {
		return fmt.Errorf("a process that asked to be recorded cannot be identified: %w", err)
	}
	g.pid, g.uid = int(peer.Pid), peer.Uid
	kept := false
	defer func() {
		if !kept {
			_ = unix.Close(g.fd)
		}
	}()
	who := fmt.Sprintf("process %d%s of user %d", g.pid, nameOf(g.pid), g.uid)
	// The process that the descriptor stands for must live at the end, so that it is the one with the id all the time.
	if !d.family.Has(g.pid) || readable(g.fd) {
		return fmt.Errorf("%s asked to be recorded, but no process of this run is known to have started it: "+
			"it is not recorded", who)
	}
	if d.room(g.uid) != nil {
		d.Sweep()
	}
	if err := d.room(g.uid); err != nil {
		return fmt.Errorf("%s is not recorded: %w", who, err)
	}
	name := fmt.Sprintf("%d-%x.spool", g.pid, clock.Now())
	file, err := d.spools.Create(name)
	if err != nil {
		return fmt.Errorf("%s is not recorded: %w", who, err)
	}
	defer file.Close()
	d.mu.Lock()
	d.admitted[name] = g
	d.mu.Unlock()
	kept = true
	if _, _, err := conn.WriteMsgUnix([]byte(name), unix.UnixRights(int(file.Fd())), nil); err != nil {
		d.Forget(name)
		_ = d.spools.Remove(name)
		return fmt.Errorf("%s is not recorded: it did not wait for its spool", who)
	}
	return nil
}

// Sweep removes spools whose processes have ended without using them. It is to be called now and then.
func (d *Door) Sweep() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, g := range d.admitted {
		switch {
		case g.met || !readable(g.fd):
		case g.gone || !d.written(name):
			d.drop(name)
			_ = d.spools.Remove(name)
		default:
			g.gone = true
		}
	}
}

// room says whether a user may have one more spool.
func (d *Door) room(uid uint32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	count, bytes := 0, int64(0)
	for name, g := range d.admitted {
		if g.uid != uid {
			continue
		}
		count++
		var st unix.Stat_t
		if unix.Fstatat(d.spools.FD(), name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			bytes += st.Blocks * 512
		}
	}
	switch {
	case count >= mostGuests:
		return fmt.Errorf("%d processes of its user are being recorded, which is the limit", count)
	case bytes >= d.most:
		return fmt.Errorf("what its user's processes have recorded takes %d MiB, which is the limit", bytes>>20)
	}
	return nil
}

// written says whether there is something in a spool.
func (d *Door) written(name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(d.spools.FD(), name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Blocks > 0
}

// Guest returns which process was sent a spool that the caller has opened; false if none was. What the spool itself
// says may be wrong.
func (d *Door) Guest(name string) (pid int, uid uint32, ok bool) {
	if d == nil {
		return 0, 0, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.admitted[name]
	if g == nil {
		return 0, 0, false
	}
	if g.met = true; g.fd >= 0 {
		_ = unix.Close(g.fd)
		g.fd = -1
	}
	return g.pid, g.uid, true
}

// Forget is to be called when a spool was removed.
func (d *Door) Forget(name string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(name)
}

func (d *Door) drop(name string) {
	if g := d.admitted[name]; g != nil {
		if g.fd >= 0 {
			_ = unix.Close(g.fd)
		}
		delete(d.admitted, name)
	}
}

// Close closes the socket, and removes the spools that were never used.
func (d *Door) Close() {
	if d == nil {
		return
	}
	_ = d.listener.Close()
	_ = d.folder.Remove(doorSocket)
	_ = os.Remove(d.folder.Path())
	d.folder.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, g := range d.admitted {
		if !g.met {
			_ = d.spools.Remove(name)
		}
		d.drop(name)
	}
}

// nameOf is a process's name in parentheses, fit to be printed, with a space before it; "" if it is not known.
func nameOf(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil || len(b) < 2 {
		return ""
	}
	return " (" + names.Plain(string(b[:len(b)-1])) + ")"
}
