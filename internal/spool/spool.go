package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/wire"
	"golang.org/x/sys/unix"
)

// ErrNotReady says that the agent is still creating the spool: try again later.
var ErrNotReady = errors.New("the agent has not finished making this spool")

// Spool is an open spool. Its methods may be called by any goroutine.
type Spool struct {
	path   string
	spill  string
	file   *os.File
	header *wire.Header
	mapped []byte
	write  bool
	info   Info

	mu     sync.Mutex
	doubts []string
}

// Info holds the parts of a spool's header that never change.
type Info struct {
	PID     int
	Arch    string // as GOARCH has it
	Version uint32
	Counter uint64 // one moment on three clocks: the counter that stamps events,
	Mono    uint64 // CLOCK_MONOTONIC,
	Wall    int64  // and the wall clock
	Barrier bool   // the target is registered for MEMBARRIER_CMD_GLOBAL_EXPEDITED
	Device  uint64 // device and inode of the file
	Inode   uint64
	Owner   uint32 // user that it belongs to
}

// Open opens a spool. With live set, the reader takes part in the protocol and returns the chunks that it has read to
// the writers. spillDir is the folder of the spill file; "" means the spool's own folder.
func Open(path, spillDir string, live bool) (*Spool, error) {
	flag := os.O_RDONLY
	if live {
		flag = os.O_RDWR
	}
	f, err := os.OpenFile(path, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0) // it may be a pipe
	if err != nil {
		return nil, err
	}
	return newSpool(f, path, spillDir, live)
}

// OpenIn opens a live spool in a run's folder. The spool must belong to the folder's owner.
func OpenIn(folder *private.Folder, name, spillDir string) (*Spool, error) {
	f, err := folder.Open(name, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	return newSpool(f, f.Name(), spillDir, true)
}

func newSpool(f *os.File, path, spillDir string, live bool) (*Spool, error) {
	s := &Spool{path: path, file: f, write: live}
	if err := guard(path, s.open); err != nil {
		s.Close()
		return nil, err
	}
	if spillDir == "" {
		spillDir = filepath.Dir(path)
	}
	s.spill = filepath.Join(spillDir, strings.TrimSuffix(filepath.Base(path), ".spool")+".spill")
	return s, nil
}

func (s *Spool) open() error {
	st, err := s.file.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a spool: it is not a regular file", s.path)
	}
	if st.Size() < wire.HeaderSize {
		if st.Size() == 0 || s.write {
			return fmt.Errorf("%s: %w", s.path, ErrNotReady)
		}
		return fmt.Errorf("%s is too short for a spool: %d bytes, a header has %d", s.path, st.Size(), wire.HeaderSize)
	}
	prot := unix.PROT_READ
	if s.write {
		prot |= unix.PROT_WRITE
	}
	s.mapped, err = unix.Mmap(int(s.file.Fd()), 0, wire.HeaderSize, prot, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map %s: %w", s.path, err)
	}
	h := (*wire.Header)(unsafe.Pointer(unsafe.SliceData(s.mapped)))
	s.header = h
	switch magic := atomic.LoadUint64(&h.Magic); magic {
	case wire.SpoolMagic:
	case 0:
		return fmt.Errorf("%s: %w", s.path, ErrNotReady)
	default:
		return fmt.Errorf("%s is not a spool: it begins with %#x instead of %#x", s.path, magic,
			uint64(wire.SpoolMagic))
	}
	if v := h.Version; v != wire.Version {
		return fmt.Errorf("%s was written by an agent of version %d, this heaptap reads version %d: use the heaptap "+
			"that the agent came with", s.path, v, wire.Version)
	}
	s.info = Info{
		PID: int(h.PID), Version: h.Version, Counter: h.Tsc0, Mono: h.Mono0, Wall: int64(h.Real0),
		Barrier: h.Barrier == 1,
	}
	switch h.Arch {
	case 62:
		s.info.Arch = "amd64"
	case 183:
		s.info.Arch = "arm64"
	default:
		return fmt.Errorf("%s is of machine type %d: x86-64 (62) and aarch64 (183) are known", s.path, h.Arch)
	}
	if !s.write && !h.Holds() {
		s.doubt("the header is damaged: times and all that follows from the layout are in doubt")
	}
	var us unix.Stat_t
	if unix.Fstat(int(s.file.Fd()), &us) == nil {
		s.info.Device, s.info.Inode, s.info.Owner = us.Dev, us.Ino, us.Uid
	}
	return nil
}

// Path returns the file's name.
func (s *Spool) Path() string { return s.path }

// SpillPath returns the name of the file to which the agent appends what does not fit. The file need not exist.
func (s *Spool) SpillPath() string { return s.spill }

// SetSpillDir sets the folder of the spill file, if it is not the spool's.
func (s *Spool) SetSpillDir(dir string) { s.spill = filepath.Join(dir, filepath.Base(s.spill)) }

// Info returns what the header says.
func (s *Spool) Info() Info { return s.info }

// Doubts returns what was found damaged so far in a spool that is only read.
func (s *Spool) Doubts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.doubts)
}

// doubt notes, once, that something is damaged.
func (s *Spool) doubt(format string, args ...any) {
	text := s.path + ": " + fmt.Sprintf(format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.doubts) < maxDoubts && !slices.Contains(s.doubts, text) {
		s.doubts = append(s.doubts, text)
	}
}

const maxDoubts = 16

// Close ends all use of the spool. Readers and Tables must have been closed before.
func (s *Spool) Close() {
	if s.mapped != nil {
		_ = unix.Munmap(s.mapped)
		s.mapped, s.header = nil, nil
	}
	_ = s.file.Close()
}

// Counters returns the header's counters, indexed by wire.CLost and so on.
func (s *Spool) Counters() (c [wire.Counters]uint64) {
	_ = guard(s.path, func() error {
		for i := range c {
			c[i] = atomic.LoadUint64(&s.header.Counters[i])
		}
		return nil
	})
	return c
}

// Hidden returns how many programs the processes executed where the agent's library is not visible.
func (s *Spool) Hidden() (n uint64) {
	_ = guard(s.path, func() error {
		n = atomic.LoadUint64(&s.header.Hidden)
		return nil
	})
	return n
}

// StaticPrograms returns how many statically linked programs the processes executed: those ran unrecorded.
func (s *Spool) StaticPrograms() (n uint64) {
	_ = guard(s.path, func() error {
		n = atomic.LoadUint64(&s.header.StaticPrograms)
		return nil
	})
	return n
}

// Sampling returns how allocations are sampled, encoded as in wire.XSampled; 0 if the program is not in sampled mode.
func (s *Spool) Sampling() (sampling uint64) {
	_ = guard(s.path, func() error {
		if atomic.LoadUint32(&s.header.Control)&wire.ModeMask == wire.ModeSampled {
			sampling = s.header.Sample
		}
		return nil
	})
	return sampling
}

// Later returns the second of the two moments that the agent noted in the header, on two clocks; the first one if there
// is no second.
func (s *Spool) Later() (counter, mono uint64) {
	_ = guard(s.path, func() error {
		counter, mono = atomic.LoadUint64(&s.header.Tsc1), atomic.LoadUint64(&s.header.Mono1)
		return nil
	})
	return counter, mono
}

// guard runs f, which touches mapped memory. If the file was truncated, the access faults, and guard returns an error.
func guard(path string, f func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			e, ok := r.(runtime.Error)
			if _, fault := r.(interface{ Addr() uintptr }); !ok || !fault {
				panic(r)
			}
			err = fmt.Errorf("%s was cut short while it was read: %w", path, e)
		}
	}()
	return f()
}
