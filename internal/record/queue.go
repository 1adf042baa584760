package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/spill"
	"github.com/heaptap/heaptap/internal/wire"
	"golang.org/x/sys/unix"
)

// queueMemory bounds what waits in memory, over all spools of a run.
const queueMemory = 64 << 20

const (
	blockSize     = 1 << 20
	spillFileSize = 64 << 20
)

// piece is a run of records of one stream on its way from the drain to a worker: in memory, packed in one of the
// recorder's spill files, or as it is in the agent's.
type piece struct {
	data  []byte
	block *memBlock
	file  *spillFile // packed at offset
	raw   *os.File   // or as it is
	at    int64
	size  int    // bytes on disk
	full  int    // bytes of records
	first uint64 // timestamp of its first event; 0: not known
	seq   uint64 // chunk of the stream that the records are from
	off   uint32 // where in it they begin
}

// end is the position after the piece's last record.
func (p *piece) end() position { return position{p.seq, p.off + uint32(p.full)} }

// memBlock is memory for several pieces; it goes back to the store when the last one is done with. It is part of the
// journal, if the store has one: each piece has a header before it, and what was handed over before the recorder was
// killed is still there.
type memBlock struct {
	store *store
	b     []byte
	at    int64 // in the journal, or -1
	empty bool  // its memory was given back
	refs  atomic.Int32
}

func (m *memBlock) release() {
	if m.refs.Add(-1) == 0 {
		journalFill(m.b, 0)
		m.store.put(m)
	}
}

// spillFile holds packed pieces. Without a journal it has no name and is gone with the recorder.
type spillFile struct {
	f     *os.File
	store *store
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

// store keeps pieces until they are read. One goroutine, the drain, adds; any may release.
type store struct {
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
	journal *journal
}

// newStore returns a store that spills to dir. With a journal, what it keeps outlives the recorder.
func newStore(dir string, memory, limit int64, j *journal) *store {
	if memory <= 0 {
		memory = queueMemory
	}
	if limit <= 0 {
		limit = 4 << 30
		var fs unix.Statfs_t
		if unix.Statfs(dir, &fs) == nil {
			limit = min(limit, int64(fs.Bavail)*fs.Bsize/2)
		}
	}
	return &store{dir: dir, limit: limit, memory: memory, journal: j}
}

func (s *store) put(m *memBlock) {
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

func (s *store) get() *memBlock {
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
			binary.LittleEndian.PutUint64(m.b, journalMagic)
			return m
		}
	}
	b, at := s.journal.block()
	return &memBlock{store: s, b: b, at: at}
}

// buffer returns room for a piece of n bytes; keep or drop it before the next call.
func (s *store) buffer(n int) []byte {
	if s.current != nil && len(s.current.b)-s.used >= journalHeader+n {
		at := s.used + journalHeader
		return s.current.b[at : at+n : at+n]
	}
	if s.current != nil {
		s.current.release()
		s.current = nil
	}
	if s.blocks.Load()*blockSize < s.memory && n <= blockSize-journalStart-journalHeader {
		s.current, s.used = s.get(), journalStart
		s.current.refs.Store(1)
		at := s.used + journalHeader
		return s.current.b[at : at+n : at+n]
	}
	if cap(s.scratch) < n {
		s.scratch = make([]byte, n)
	}
	return s.scratch[:n]
}

var errFull = errors.New("the limit for spilled events is reached")

// keep makes a piece of a buffer. With an error, the records are lost; lost is their number.
func (s *store) keep(b []byte, of *origin) (p piece, lost int, err error) {
	defer func() { p.seq, p.off, p.first = of.at.seq, of.at.off, wire.FirstTime(b) }()
	if m := s.current; m != nil {
		m.refs.Add(1)
		of.encode(m.b[s.used:], len(b), 0)
		s.used += journalHeader + (len(b)+7)&^7
		journalFill(m.b, s.used)
		return piece{data: b, block: m, full: len(b)}, 0, nil
	}
	if s.err == nil && s.disk.Load()+int64(len(b)) > s.limit {
		err = errFull
	} else if s.err == nil {
		if p, err = s.toDisk(b, of); err == nil {
			if p.full < len(b) {
				lost = 1 // at least: what follows is no record
			}
			return p, lost, nil
		}
		s.err = err
	}
	lost, _ = wire.Events(b)
	return piece{}, lost, err
}

func (s *store) toDisk(b []byte, of *origin) (p piece, err error) {
	if s.file == nil || s.file.end >= spillFileSize {
		if s.file != nil {
			s.file.release()
			s.file = nil
		}
		f, path, err := s.journal.spillFile(s.dir)
		if errors.Is(err, os.ErrNotExist) && os.MkdirAll(s.dir, 0o777) == nil { // somebody has removed it
			f, path, err = s.journal.spillFile(s.dir)
		}
		if err != nil {
			return p, fmt.Errorf("cannot make a spill file in %s: %w", s.dir, err)
		}
		s.file = &spillFile{f: f, store: s, path: path}
		s.file.refs.Store(1)
	}
	if cap(s.packed) < journalHeader {
		s.packed = make([]byte, journalHeader, blockSize)
	}
	out, used := spill.Encode(s.packed[:journalHeader], b)
	s.packed = out
	of.encode(out, used, len(out)-journalHeader)
	f := s.file
	if _, err := f.f.WriteAt(out, f.end); err != nil {
		return p, fmt.Errorf("cannot write events to a spill file in %s: %w", s.dir, err)
	}
	p = piece{file: f, at: f.end + journalHeader, size: len(out) - journalHeader, full: used}
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

// close lets go of what is being filled.
func (s *store) close() {
	if s.current != nil {
		s.current.release()
		s.current = nil
	}
	if s.file != nil {
		s.file.release()
		s.file = nil
	}
}

// roomFor is how large a stream's buffer is made for n bytes: no larger than it must be, since each of many threads has one.
func roomFor(n int) int { return 1 << bits.Len(uint(n-1)) }

// load returns the records of a piece; what is on disk is read into buf. A chunk at a time is the cheapest way: its copy stays in the
// cache, and mapping the file takes longer than reading it.
func (p *piece) load(buf []byte) ([]byte, error) {
	if p.data != nil {
		return p.data, nil
	}
	if p.raw != nil {
		if cap(buf) < p.full {
			buf = make([]byte, roomFor(p.full))
		}
		if _, err := p.raw.ReadAt(buf[:p.full], p.at); err != nil {
			return nil, fmt.Errorf("cannot read what the agent has spilled: %w", err)
		}
		return buf[:p.full], nil
	}
	room := p.full + spill.Slack
	if cap(buf) < room+p.size {
		buf = make([]byte, roomFor(room+p.size))
	}
	packed := buf[room : room+p.size]
	if _, err := p.file.f.ReadAt(packed, p.at); err != nil {
		return nil, fmt.Errorf("cannot read spilled events back: %w", err)
	}
	return spill.Decode(buf[:0], packed, p.full)
}

func (p *piece) release() {
	if p.block != nil {
		p.block.release()
	} else if p.file != nil {
		p.file.release()
	}
	*p = piece{}
}

// queue carries batches of items from the drain (and the sampler) to one worker. It is not bounded: what is large in it lies
// in the store, which is.
type queue struct {
	mu     sync.Mutex
	cond   *sync.Cond
	items  []item
	ready  bool // something was pushed
	closed bool
}

func newQueue() *queue {
	q := &queue{}
	q.cond = sync.NewCond(&q.mu)
	return q
}

func (q *queue) push(items ...item) {
	if len(items) == 0 {
		return
	}
	q.mu.Lock()
	q.items = append(q.items, items...)
	q.ready = true
	q.mu.Unlock()
	q.cond.Signal()
}

// leave adds an item that the worker need not wake up for.
func (q *queue) leave(it item) {
	q.mu.Lock()
	q.items = append(q.items, it)
	q.mu.Unlock()
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.cond.Signal()
}

// take waits for items and returns all of them; none when the queue is closed and empty. The slice that was returned
// before is used again.
func (q *queue) take(old []item) []item {
	clear(old)
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && !q.ready {
		q.cond.Wait()
	}
	q.ready = false
	items := q.items
	q.items = old[:0]
	return items
}
