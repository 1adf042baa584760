package order

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestStopped stops one thread after the other, within malloc, realloc and free, while the others continue: for longer
// than the agent waits for a recorder (200 ms), and for longer than anybody waits for anything (2 s).
func TestStopped(t *testing.T) {
	for name, preload := range map[string]string{"glibc": "", "pool": pool(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var places []string
			// It is up to chance whether a thread is stopped where its record comes late: then it is tried again.
			for try, late := 0, false; !late; try++ {
				if try == 3 {
					t.Error("no record came late: the recorder was never left waiting")
					break
				}
				r := start(t, preload, 400_000, 10)
				tids := r.wait(t)
				for i, s := range []struct {
					where place
					skip  int
					hold  time.Duration
				}{
					{afterClock, 0, 2500}, {amidAgent, 40, 250}, {amidAllocator, 20, 300}, {afterClock, 3,
						250}, {amidAllocator, 60, 2500},
					{afterClock, 8, 2500}, {amidAgent, 90, 400}, {amidAllocator, 150, 250}, {afterClock, 14, 250},
				} {
					place, err := stop(tids[i%len(tids)], s.where, s.skip, s.hold*time.Millisecond)
					if errors.Is(err, unix.EPERM) {
						atomic.StoreUint32(r.stop, 1)
						_ = r.cmd.Wait()
						t.Skipf("ptrace is not allowed here: %v", err)
					}
					if err != nil {
						t.Fatal(err)
					}
					places = append(places, place)
				}
				atomic.StoreUint32(r.stop, 1)
				late = r.judge(t).LateEvents > 0
			}
			slices.Sort(places)
			t.Logf("stopped at %s", strings.Join(places, ", "))
		})
	}
}

// place says in whose code a thread is to be stopped.
type place int

const (
	amidAgent     place = iota // in a hook
	amidAllocator              // in the real function, called by a hook
	afterClock                 // in a hook that has read the clock and not yet published its record
)

// stop stops one thread, as a debugger would, and leads it instruction by instruction until it has executed so many in
// the place (of afterClock: until it has come there so many times). It holds it there, and lets it go. It returns where
// that was.
func stop(tid int, where place, instructions int, hold time.Duration) (string, error) {
	runtime.LockOSThread() // who traces a thread is a thread
	defer runtime.UnlockOSThread()
	maps, err := readMaps(tid)
	if err != nil {
		return "", err
	}
	if err := unix.PtraceSeize(tid); err != nil {
		return "", fmt.Errorf("cannot trace thread %d: %w", tid, err)
	}
	if err := unix.PtraceInterrupt(tid); err != nil {
		return "", err
	}
	if err := awaitStop(tid); err != nil {
		return "", err
	}
	at, clock := "", false // the last instruction read the clock
	for n := 0; ; n++ {
		var regs unix.PtraceRegs
		if err := unix.PtraceGetRegs(tid, &regs); err != nil {
			return "", err
		}
		at = maps.find(regs.Rip)
		here := where.is(at)
		if where == afterClock {
			here, clock = here && clock, here && isClock(tid, regs.Rip)
		}
		if here {
			if instructions--; instructions < 0 {
				break
			}
		}
		if n > 200_000 {
			return "", fmt.Errorf("thread %d does not come to the place; it is at %s", tid, at)
		}
		if err := unix.PtraceSingleStep(tid); err != nil {
			return "", err
		}
		if err := awaitStop(tid); err != nil {
			return "", err
		}
	}
	time.Sleep(hold)
	return at, unix.PtraceDetach(tid)
}

// isClock says whether the instruction at pc is rdtsc.
func isClock(tid int, pc uint64) bool {
	var code [2]byte
	n, err := unix.PtracePeekText(tid, uintptr(pc), code[:])
	return err == nil && n == 2 && code == [2]byte{0x0f, 0x31}
}

func (p place) is(at string) bool {
	if p != amidAllocator {
		return strings.HasPrefix(at, "libheaptap.so")
	}
	return strings.HasPrefix(at, "pool.so") || strings.HasPrefix(at, "libc")
}

func awaitStop(tid int) error {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(tid, &status, unix.WALL, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if !status.Stopped() {
			return fmt.Errorf("thread %d has ended", tid)
		}
		return nil
	}
}

// mappings are the files in a process's memory.
type mappings []mapping

type mapping struct {
	start, end uint64
	base       uint64 // where the file's first mapping begins
	file       string
}

func readMaps(pid int) (list mappings, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(b) {
		f := strings.Fields(string(line))
		if len(f) < 6 {
			continue
		}
		from, to, _ := strings.Cut(f[0], "-")
		m := mapping{file: f[5][strings.LastIndexByte(f[5], '/')+1:]}
		m.start, _ = strconv.ParseUint(from, 16, 64)
		m.end, _ = strconv.ParseUint(to, 16, 64)
		m.base = m.start
		if i := slices.IndexFunc(list, func(o mapping) bool { return o.file == m.file }); i >= 0 {
			m.base = list[i].base
		}
		list = append(list, m)
	}
	return list, nil
}

func (l mappings) find(pc uint64) string {
	for _, m := range l {
		if pc >= m.start && pc < m.end {
			return fmt.Sprintf("%s+%#x", m.file, pc-m.base)
		}
	}
	return fmt.Sprintf("%#x", pc)
}
