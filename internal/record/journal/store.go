package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/spill"
	"github.com/heaptap/heaptap/internal/wire"
	"golang.org/x/sys/unix"
)

// defaultMemory bounds what waits in memory, over all spools of a run.
const defaultMemory = 64 << 20

const (
	blockSize     = 1 << 20
	spillFileSize = 64 << 20
)

// memBlock is memory for several pieces; it goes back to the store when the last one is released. It is part of the
// journal, if the store has one: each piece has a header before it, and what was drained before the recorder was killed
// is still there.
type memBlock struct {
	store *Store
	b     []byte
	at    int64 // in the journal, or -1
	empty bool  // its memory was given back
	refs  atomic.Int32
}

func (m *memBlock) release() {
	if m.refs.Add(-1) == 0 {
		setFill(m.b, 0)
		m.store.put(m)
	}
}

// spillFile holds packed pieces. Without a journal it has no name and is gone with the recorder.
type spillFile struct {
	f     *os.File
	store *Store
	path  string // "": it has no name
	end   int64
	refs  atomic.Int32
}

func (s *spillFile) release() {
	if s.refs.Add(-1) == 0 {
		s.store.disk.Add(-s.end)
		_ = s.f.Close()
		if s.path != "" {
			_ = os.Remove(s.path)
		}
	}
}

// Store keeps pieces until they are released. One goroutine, the drain, adds; any may release.
type Store struct {
	dir     string
	limit   int64 // bytes on disk
	memory  int64 // bytes in memory
	disk    atomic.Int64
	mu      sync.Mutex
	free    []*memBlock
	empty   []*memBlock  // without memory of their own at the moment
	blocks  atomic.Int64 // in use
	spilled int64        // bytes that ever went to disk
	current *memBlock
	used    int
	scratch []byte // a piece that does not go to memory
	packed  []byte
	file    *spillFile
	err     error // the disk's first error: nothing more goes there
	journal *File
}

// NewStore returns a store that keeps so many bytes in memory, and so many in spill files in dir; 0 means a default for
// either. With a journal, what it keeps outlives the recorder.
func NewStore(dir string, memory, limit int64, j *File) *Store {
	if memory <= 0 {
		memory = defaultMemory
	}
	if limit <= 0 {
		limit = spill.DefaultLimit(dir)
	}
	return &Store{dir: dir, limit: limit, memory: memory, journal: j}
}

// Dir is the folder for spill files.
func (s *Store) Dir() string { return s.dir }

// KeepIn has what is kept from now on outlive the recorder.
func (s *Store) KeepIn(j *File) { s.journal = j }

func (s *Store) put(m *memBlock) {
	s.blocks.Add(-1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) < 16 {
		s.free = append(s.free, m)
	} else if m.at >= 0 {
		m.empty = s.journal.hollow(m.at)
		s.empty = append(s.empty, m)
	}
}

func (s *Store) get() *memBlock {
	s.blocks.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		m := s.free[n-1]
		s.free = s.free[:n-1]
		return m
	}
	if n := len(s.empty); n > 0 {
		m := s.empty[n-1]
		if !m.empty || s.journal.fill(m.at) {
			s.empty = s.empty[:n-1]
			m.empty = false
			_ = unix.Madvise(m.b, unix.MADV_POPULATE_WRITE)
			binary.LittleEndian.PutUint64(m.b, blockMagic)
			return m
		}
	}
	b, at := s.journal.block()
	return &memBlock{store: s, b: b, at: at}
}

// Buffer returns room for a piece of n bytes; keep or drop it before the next call.
func (s *Store) Buffer(n int) []byte {
	if s.current != nil && len(s.current.b)-s.used >= pieceHeader+n {
		at := s.used + pieceHeader
		return s.current.b[at : at+n : at+n]
	}
	if s.current != nil {
		s.current.release()
		s.current = nil
	}
	if s.blocks.Load()*blockSize < s.memory && n <= blockSize-blockStart-pieceHeader {
		s.current, s.used = s.get(), blockStart
		s.current.refs.Store(1)
		at := s.used + pieceHeader
		return s.current.b[at : at+n : at+n]
	}
	if cap(s.scratch) < n {
		s.scratch = make([]byte, n)
	}
	return s.scratch[:n]
}

var errFull = errors.New("the limit for spilled events is reached")

// Keep makes a piece of a buffer. With an error, the records are lost; lost is their number.
func (s *Store) Keep(b []byte, of *Origin) (p Piece, lost int, err error) {
	defer func() { p.At, p.First = of.At, wire.FirstTime(b) }()
	if m := s.current; m != nil {
		m.refs.Add(1)
		of.encode(m.b[s.used:], len(b), 0)
		s.used += pieceHeader + (len(b)+7)&^7
		setFill(m.b, s.used)
		return Piece{data: b, block: m, Size: len(b)}, 0, nil
	}
	if s.err == nil && s.disk.Load()+int64(len(b)) > s.limit {
		err = errFull
	} else if s.err == nil {
		if p, err = s.toDisk(b, of); err == nil {
			if p.Size < len(b) {
				lost = 1 // at least: what follows is no record
			}
			return p, lost, nil
		}
		s.err = err
	}
	lost, _ = wire.Events(b)
	return Piece{}, lost, err
}

func (s *Store) toDisk(b []byte, of *Origin) (p Piece, err error) {
	if s.file == nil || s.file.end >= spillFileSize {
		if s.file != nil {
			s.file.release()
			s.file = nil
		}
		f, path, err := s.journal.spillFile(s.dir)
		if errors.Is(err, os.ErrNotExist) && os.MkdirAll(s.dir, 0o777) == nil { // it was removed
			f, path, err = s.journal.spillFile(s.dir)
		}
		if err != nil {
			return p, fmt.Errorf("cannot make a spill file in %s: %w", s.dir, err)
		}
		s.file = &spillFile{f: f, store: s, path: path}
		s.file.refs.Store(1)
	}
	if cap(s.packed) < pieceHeader {
		s.packed = make([]byte, pieceHeader, blockSize)
	}
	out, used := spill.Encode(s.packed[:pieceHeader], b)
	s.packed = out
	of.encode(out, used, len(out)-pieceHeader)
	f := s.file
	if _, err := f.f.WriteAt(out, f.end); err != nil {
		return p, fmt.Errorf("cannot write events to a spill file in %s: %w", s.dir, err)
	}
	p = Piece{file: f, offset: f.end + pieceHeader, packed: len(out) - pieceHeader, Size: used}
	f.refs.Add(1)
	f.end += int64(len(out))
	s.disk.Add(int64(len(out)))
	s.spilled += int64(len(out))
	return p, nil
}

// tempFile makes a file without a name.
func tempFile(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return os.NewFile(uintptr(fd), filepath.Join(dir, "spill")), nil
	}
	f, err := os.CreateTemp(dir, ".heaptap-spill-")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// Close releases what is being filled.
func (s *Store) Close() {
	if s.current != nil {
		s.current.release()
		s.current = nil
	}
	if s.file != nil {
		s.file.release()
		s.file = nil
	}
}
