// Package spooltest makes spools as an agent does, for tests: with the same protocol, step by step, and with ways to
// stop in between or to break it.
package spooltest

import (
	"encoding/binary"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/wire"
	"golang.org/x/sys/unix"
)

// Pool is the number of chunks that an agent makes before it waits.
const Pool = 16

// Agent writes a spool through a mapping of its own, so that the race detector sees it and a reader as two processes.
type Agent struct {
	tb     testing.TB
	Path   string
	Spill  string
	Header *wire.Header
	file   *os.File
	mu     sync.Mutex // growing; the real agent does without
	mapped [wire.SegTypes][wire.Segments][]byte
	// Patience is how long a stream waits for a chunk before it appends to the spill file itself. 0: it never waits.
	Patience time.Duration
}

var firsts = [wire.SegTypes]uint64{
	wire.SegMeta: 64 << 10, wire.SegProcs: 4096, wire.SegStreams: 4096, wire.SegChunks: 128 << 10,
	wire.SegPCs: 4096, wire.SegNodes: 4096, wire.SegModules: 4096, wire.SegNames: 4096,
	wire.SegCounts: 128 << 10,
}

var elements = [wire.SegTypes]uint64{
	wire.SegMeta: 1, wire.SegProcs: 64, wire.SegStreams: 128, wire.SegChunks: wire.ChunkSize, wire.SegPCs: 16,
	wire.SegNodes: 16, wire.SegModules: 1, wire.SegNames: 1,
	wire.SegCounts: uint64(unsafe.Sizeof(wire.Counts{})),
}

// New makes a spool of process pid in dir. It is not published yet.
func New(tb testing.TB, dir, name string, pid int) *Agent {
	tb.Helper()
	a := &Agent{tb: tb, Path: filepath.Join(dir, name+".spool"), Patience: time.Second}
	a.Spill = strings.TrimSuffix(a.Path, ".spool") + ".spill"
	f, err := os.OpenFile(a.Path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	a.must(err)
	a.file = f
	a.must(f.Truncate(wire.HeaderSize))
	m, err := unix.Mmap(int(f.Fd()), 0, wire.HeaderSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	a.must(err)
	h := (*wire.Header)(unsafe.Pointer(unsafe.SliceData(m)))
	a.Header = h
	h.Version, h.Arch, h.PID, h.PageSize = wire.Version, 62, uint32(pid), 4096
	h.Tsc0, h.Mono0 = clock.Pair()
	h.Tsc1, h.Mono1 = h.Tsc0, h.Mono0
	h.Real0 = uint64(time.Now().UnixNano())
	h.FileEnd, h.NextUID, h.NextModule, h.NextPC, h.NextNode = wire.HeaderSize, 1, 1, 1, 1
	h.FreeChunks, h.FreeStreams = wire.ListEmpty, wire.ListEmpty
	h.SpillLimit = 1 << 40
	h.RecorderState = wire.RecorderExpected
	h.SegmentFirst = firsts
	_, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, 1<<2, 0, 0)
	if errno == 0 {
		h.Barrier = 1
	}
	a.Meta("/usr/bin/"+name, []string{name, "-x"}, "/tmp", "host", []string{"MALLOC_ARENA_MAX=1"})
	a.Proc(pid, wire.None, 0)
	tb.Cleanup(a.Close)
	return a
}

func (a *Agent) must(err error) {
	if err != nil {
		a.tb.Helper()
		a.tb.Fatal(err)
	}
}

// Publish makes the spool visible.
func (a *Agent) Publish() *Agent {
	atomic.StoreUint64(&a.Header.Magic, wire.SpoolMagic)
	return a
}

// Close takes the agent's mappings away, as the death of its process does.
func (a *Agent) Close() {
	if a.file == nil {
		return
	}
	for i := range a.mapped {
		for _, m := range a.mapped[i] {
			if m != nil {
				_ = unix.Munmap(m)
			}
		}
	}
	_ = unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(a.Header)), wire.HeaderSize))
	_ = a.file.Close()
	a.file = nil
}

// Bytes returns n bytes of an array from an offset on, adding segments as needed.
func (a *Agent) Bytes(kind int, index, n uint64) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := firsts[kind]
	seg := bits.Len64(index / first)
	for s := 0; s <= seg; s++ {
		if a.mapped[kind][s] != nil {
			continue
		}
		length := first
		if s > 0 {
			length = first << (s - 1)
		}
		at := a.Header.FileEnd
		a.Header.FileEnd += length
		a.must(a.file.Truncate(int64(a.Header.FileEnd)))
		m, err := unix.Mmap(int(a.file.Fd()), int64(at), int(length), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		a.must(err)
		a.mapped[kind][s] = m
		atomic.StoreUint64(&a.Header.Segments[kind][s], at)
	}
	begin := uint64(0)
	if seg > 0 {
		begin = first << (seg - 1)
	}
	return a.mapped[kind][seg][index-begin:][:n]
}

func (a *Agent) at(kind int, index uint32) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(a.Bytes(kind, uint64(index)*elements[kind], elements[kind])))
}

// Meta describes the process.
func (a *Agent) Meta(exe string, args []string, dir, host string, env []string) {
	z := func(l ...string) []byte { return []byte(strings.Join(l, "\x00") + "\x00") }
	parts := [][]byte{z(exe), z(args...), z(dir), z(host), z(env...)}
	b := a.Bytes(wire.SegMeta, 0, firsts[wire.SegMeta])
	at := 24
	for i, p := range parts {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(len(p)))
		at += copy(b[at:], p)
	}
}

// Proc adds a process and returns its slot.
func (a *Agent) Proc(pid int, parent uint32, forked uint64) uint32 {
	slot := a.TakeProc()
	a.FillProc(slot, pid, parent, forked)
	return slot
}

// TakeProc takes a process's slot, as the first half of Proc.
func (a *Agent) TakeProc() uint32 { return atomic.AddUint32(&a.Header.NextProc, 1) - 1 }

// FillProc fills it, as the second half.
func (a *Agent) FillProc(slot uint32, pid int, parent uint32, forked uint64) {
	p := (*wire.Proc)(a.at(wire.SegProcs, slot))
	p.PID, p.Parent, p.ForkTime, p.Random = uint32(pid), parent, forked, 1
	atomic.StoreUint32(&p.State, wire.ProcLive)
}

// PC adds a program counter and returns its id.
func (a *Agent) PC(addr uint64, module uint32) uint32 {
	id := atomic.AddUint32(&a.Header.NextPC, 1) - 1
	p := (*wire.PC)(a.at(wire.SegPCs, id))
	p.Module = module
	atomic.StoreUint64(&p.PC, addr)
	return id
}

// Node adds a node and returns its id.
func (a *Agent) Node(parent, pc uint32) uint32 {
	id := atomic.AddUint32(&a.Header.NextNode, 1) - 1
	a.SetNode(id, parent, pc)
	return id
}

// SetNode publishes a node that was left unpublished, or changes one.
func (a *Agent) SetNode(id, parent, pc uint32) {
	n := (*wire.Node)(a.at(wire.SegNodes, id))
	n.Parent = parent
	atomic.StoreUint32(&n.PC, pc)
}

// Module adds an entry to the module log.
func (a *Agent) Module(m wire.Module, buildID, path string) {
	m.BuildIDSize = uint32(len(buildID))
	if path != "" {
		path += "\x00"
	}
	m.PathSize = uint32(len(path))
	n := (unsafe.Sizeof(m) + uintptr(len(buildID)+len(path)) + 7) &^ 7
	m.Length = uint32(n)
	b := make([]byte, n)
	*(*wire.Module)(unsafe.Pointer(unsafe.SliceData(b))) = m
	copy(b[unsafe.Sizeof(m):], buildID+path)
	at := atomic.AddUint64(&a.Header.ModuleBytes, uint64(n)) - uint64(n)
	for i := n - 8; ; i -= 8 {
		copy(a.Bytes(wire.SegModules, at+uint64(i), 8), b[i:i+8])
		if i == 0 {
			return
		}
	}
}

// Name adds an entry to the log of names and returns its id.
func (a *Agent) Name(text string) uint32 {
	n := (uint64(unsafe.Sizeof(wire.Name{})) + uint64(len(text)) + 7) &^ 7
	at := atomic.AddUint64(&a.Header.NameBytes, n) - n
	b := make([]byte, n)
	id := atomic.AddUint32(&a.Header.NextName, 1)
	*(*wire.Name)(unsafe.Pointer(unsafe.SliceData(b))) = wire.Name{Length: uint32(n), ID: id, Size: uint32(len(text))}
	copy(b[unsafe.Sizeof(wire.Name{}):], text)
	for i := n - 8; ; i -= 8 {
		copy(a.Bytes(wire.SegNames, at+i, 8), b[i:i+8])
		if i == 0 {
			return id
		}
	}
}

// Counts adds a place for counts, and returns it to be filled in. The first one is that of threads that have ended.
func (a *Agent) Counts() *wire.Counts {
	return (*wire.Counts)(a.at(wire.SegCounts, atomic.AddUint32(&a.Header.NextCounts, 1)-1))
}

// SetPartial says that not every allocation of a process is recorded.
func (a *Agent) SetPartial(slot uint32) {
	atomic.StoreUint32(&(*wire.Proc)(a.at(wire.SegProcs, slot)).Partial, 1)
}

// SetRandom says where a process has its random bytes.
func (a *Agent) SetRandom(slot uint32, random uint64) {
	(*wire.Proc)(a.at(wire.SegProcs, slot)).Random = random
}
