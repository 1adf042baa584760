package sampled

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/wire"
	"github.com/heaptap/heaptap/tests/kit"
)

// TestSwitches changes the mode of a running program some hundred times. All that was recorded as allocated must have
// been recorded as freed, in whatever mode that was, and no deallocation may be taken for a wrong one.
func TestSwitches(t *testing.T) {
	t.Parallel()
	churn, library := kit.Compile(t, "gcc", "-O1", "src/churn.c"), kit.Library(t)
	for _, first := range []string{"exact", "sampled", "off", "count"} {
		t.Run("from "+first, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command(churn, "700")
			cmd.Env = append(os.Environ(), "LD_PRELOAD="+library, "HEAPTAP_DIR="+dir, "HEAPTAP_MODE="+first,
				"HEAPTAP_SAMPLE=8K")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			switched := 0
			for s := (*spool)(nil); ; {
				select {
				case err := <-ended:
					if err != nil {
						t.Fatal(err)
					}
					t.Logf("%d changes", switched)
					if switched < 50 {
						t.Errorf("the mode was changed only %d times", switched)
					}
					books(t, dir)
					return
				case <-time.After(3 * time.Millisecond):
				}
				if s == nil {
					s = openSpool(t, dir)
				} else if s.change(uint32(rand.IntN(4)) + wire.ModeExact) {
					switched++
				}
			}
		})
	}
}

// spool is the part of a spool by which its mode is changed.
type spool struct {
	header  *wire.Header
	procs   *[16]wire.Proc
	streams *[64]wire.Stream
}

// openSpool returns nil if there is none yet.
func openSpool(t *testing.T, dir string) *spool {
	files, _ := filepath.Glob(dir + "/*.spool")
	if len(files) == 0 {
		return nil
	}
	f, err := os.OpenFile(files[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if i, err := f.Stat(); err != nil || i.Size() < wire.HeaderSize {
		return nil // it has just been made
	}
	at := func(offset uint64, size int) unsafe.Pointer {
		b, err := unix.Mmap(int(f.Fd()), int64(offset), size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Munmap(b) })
		return unsafe.Pointer(&b[0])
	}
	h := (*wire.Header)(at(0, wire.HeaderSize))
	if atomic.LoadUint64(&h.Magic) != wire.SpoolMagic {
		return nil
	}
	return &spool{h, (*[16]wire.Proc)(at(h.Segments[wire.SegProcs][0], 4096)),
		(*[64]wire.Stream)(at(h.Segments[wire.SegStreams][0], 8192))}
}

// followed says whether all processes have noticed the last change of the mode.
func (s *spool) followed() bool {
	for i := range s.procs {
		p := &s.procs[i]
		if atomic.LoadUint32(&p.State) == wire.ProcLive &&
			atomic.LoadUint32(&p.Mode) != atomic.LoadUint32(&s.header.Control) {
			return false
		}
	}
	return true
}

// change sets the mode and has idle threads look, until a process of those that live has seen it; false: none did.
func (s *spool) change(mode uint32) bool {
	old := atomic.LoadUint32(&s.header.Control)
	control := mode | (old>>8+1)<<8
	if !atomic.CompareAndSwapUint32(&s.header.Control, old, control) {
		return false
	}
	for range 20 {
		for i := range s.streams {
			if atomic.LoadUint32(&s.streams[i].State) == wire.StreamLive {
				atomic.CompareAndSwapUint64(&s.streams[i].Busy, 0, wire.BusyControl)
			}
		}
		time.Sleep(100 * time.Microsecond)
		for i := range s.procs {
			if atomic.LoadUint32(&s.procs[i].Mode) == control {
				return true
			}
		}
	}
	return false
}

// books judges what was recorded of a program and its child, which have freed everything.
func books(t *testing.T, dir string) {
	spools, _ := filepath.Glob(dir + "/*.spool")
	reports := kit.JSON[struct {
		Totals struct {
			Unmatched uint64 `json:"unmatched_deallocations"`
		}
		Stacks []struct {
			Leaked uint64 `json:"leaked_blocks"`
			Frames []int
		}
		Frames []struct{ Function string }
	}](t, "report", "--json", spools[0])
	stacks := 0
	for _, report := range reports {
		if n := report.Totals.Unmatched; n != 0 {
			t.Errorf("%d deallocations were taken for wrong ones", n)
		}
		for _, s := range report.Stacks {
			if len(s.Frames) > 0 && report.Frames[s.Frames[0]].Function == "churn" {
				if stacks++; s.Leaked != 0 {
					t.Errorf("%d blocks were freed, and that was not recorded", s.Leaked)
				}
			}
		}
	}
	if len(reports) != 2 || stacks == 0 {
		t.Errorf("%d processes, %d call stacks", len(reports), stacks)
	}
}
