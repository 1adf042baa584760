package procs

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/private"
	"golang.org/x/sys/unix"
)

// TestMapsSpool distinguishes files in the run's folder from others with the same names.
func TestMapsSpool(t *testing.T) {
	dir := t.TempDir()
	folder, err := private.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	f, err := folder.Create("7-1.spool")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var st unix.Stat_t
	unix.Fstat(int(f.Fd()), &st)
	device := fmt.Sprintf("%02x:%02x", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)))
	c := NewCensus(folder, nil, func() {})
	line := func(device string, inode uint64) []byte {
		return fmt.Appendf(nil, "7f0000000000-7f0000001000 rw-s 00000000 %s %d                  %s/7-1.spool\n", device,
			inode, dir)
	}
	if !c.mapsSpool(line(device, st.Ino)) {
		t.Error("the spool is not known")
	}
	for _, forged := range [][]byte{line("00:00", st.Ino), line(device, st.Ino+1), nil} {
		if c.mapsSpool(forged) {
			t.Errorf("taken for a spool: %s", forged)
		}
	}
}

// TestMissed: a process that has just executed another program has an agent and no spool for a moment, however old it
// is; it is missed if it stays so.
func TestMissed(t *testing.T) {
	folder, err := private.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	c := NewCensus(folder, nil, func() {})
	pid := os.Getpid()
	see := func(image string, known bool, sentences int) {
		t.Helper()
		if got := c.miss(pid, []byte(image+" r--p /bin/sh\n7fff r--p /x\n")); got != known {
			t.Errorf("image %s: known: %t", image, got)
		}
		if list := c.Missed(); len(list) != sentences {
			t.Errorf("image %s: %d sentences, want %d: %q", image, len(list), sentences, list)
		}
	}
	later := func() {
		s := c.suspects[pid]
		s.since = s.since.Add(-2 * patience)
		c.suspects[pid] = s
	}
	see("1000", false, 0)
	see("1000", false, 0)
	later()
	see("2000", false, 0)
	later()
	see("2000", true, 1)
	see("2000", true, 0)
	c.Look() // It has a spool by now, or has ended.
	if len(c.suspects) > 0 {
		t.Errorf("still suspected: %v", c.suspects)
	}
}

// TestAnswered asks again while a look is under way: what it will show is not looked for once more.
func TestAnswered(t *testing.T) {
	folder, err := private.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	c := NewCensus(folder, nil, func() {})
	asked := func() bool {
		c.Look()
		c.Look()
		c.answered()
		return len(c.wake) > 0
	}
	began := time.Now()
	c.Mapped(7, began)
	if len(c.wake) == 0 {
		t.Error("no look is asked for")
	}
	if c.Quiet(began); asked() {
		t.Error("what two looks have shown is asked for again")
	}
	if c.Mapped(7, began); len(c.wake) > 0 {
		t.Error("what is known is asked for")
	}
	c.ask(time.Now().Add(time.Hour))
	if !asked() {
		t.Error("what is asked for and not known is dropped")
	}
}
