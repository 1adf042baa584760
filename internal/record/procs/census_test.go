package procs

import (
	"fmt"
	"testing"

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
