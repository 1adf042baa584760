package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/private"
)

// A recorder that is killed leaves a recording that ends somewhere, and a journal of what was drained. To go on from
// there, one has to know which of the journal's records are in the recording, and where the blocks lie that are live: a
// recording has no addresses. Both are in a process's state, a file in the run's folder to which a checkpoint is appended
// after each block of events that was written.
//
// A block of events that no checkpoint tells of does not count: its records are still in the journal.

// state is one process's file.
type state struct {
	f       *os.File
	folder  *private.Folder // the run's
	name    string
	size    atomic.Int64 // of the file
	entry   []byte       // in the making
	born    []byte       // blocks that are live at the end of the blocks written since the last checkpoint
	streams map[uint64]streamState
	broken  bool
	// What serves pools: how often that had changed at the latest checkpoint, and what it was; what was written of it.
	changes           uint64
	serving, backings []byte
}

// streamState is what a checkpoint says of a stream.
type streamState struct {
	origin
	known  bool
	thread uint32 // index in the recording, if known
}

// stateInfo is the first entry.
type stateInfo struct {
	Recording string
	SpillDir  string
	Slot      uint32
}

// Entries: a mark, a length, a checksum, and that many bytes, of which the first is the kind.
const (
	stateMagic  = 0x54535448 // "HTST"
	stateHeader = 12

	stateFirst      = 'i' // stateInfo
	stateCheckpoint = 'c'
	stateSnapshot   = 's' // replaces all that came before
	stateFinished   = 'f'
	stateBackings   = 'p' // what served pools at the checkpoint that follows

	stateSuffix = ".state"

	// compactFrom is the size from which a state is written anew when it is mostly about blocks that have ended.
	compactFrom = 32 << 20
)

// newState makes the state of a process; nil if it cannot.
func newState(p *process) *state {
	r := p.w.run
	base := strings.TrimSuffix(filepath.Base(p.w.spool.Path()), ".spool")
	s := &state{folder: r.folder, name: base + "." + strconv.Itoa(int(p.slot)) + stateSuffix, streams: map[uint64]streamState{}}
	var err error
	if s.f, err = s.folder.Create(s.name); err != nil {
		return nil
	}
	path := p.path
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	dir := r.store.dir
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	info, _ := json.Marshal(stateInfo{Recording: path, SpillDir: dir, Slot: p.slot})
	s.entry = append(s.begin(stateFirst), info...)
	s.append()
	return s
}

// stateFiles are the states of the spool's processes.
func (w *worker) stateFiles() (names []string) {
	for _, p := range w.procs {
		if p != nil && p.state != nil {
			names = append(names, p.state.name)
		}
	}
	return names
}

func (s *state) begin(kind byte) []byte {
	return append(append(s.entry[:0], make([]byte, stateHeader)...), kind)
}

// append appends the entry to the file.
func (s *state) append() {
	if s.broken {
		return
	}
	b := s.entry
	le := binary.LittleEndian
	le.PutUint32(b, stateMagic)
	le.PutUint32(b[4:], uint32(len(b)-stateHeader))
	le.PutUint32(b[8:], crc32.ChecksumIEEE(b[stateHeader:]))
	if _, err := s.f.WriteAt(b, s.size.Load()); err != nil {
		s.broken = true // a later one would not make sense without it
		return
	}
	s.size.Add(int64(len(b)))
}

// births takes the addresses of the blocks that were allocated in a block of events. It is called by the recording's writer.
func (s *state) births(first uint64, addrs []uint64) {
	last := uint64(0)
	for i, a := range addrs {
		if a != 0 {
			s.born = appendBirth(s.born, first+uint64(i), a, &last)
		}
	}
	s.born = binary.AppendUvarint(s.born, 0)
}

// appendBirth appends a block: its number minus that of the block before, never 0, and its address.
func appendBirth(b []byte, ref, addr uint64, last *uint64) []byte {
	b = binary.AppendUvarint(b, ref+1-*last)
	*last = ref + 1
	return binary.AppendUvarint(b, addr)
}

func appendStream(b []byte, s *streamState) []byte {
	thread := uint64(0)
	if s.known {
		thread = uint64(s.thread) + 1
	}
	for _, v := range [...]uint64{s.uid, s.start, uint64(s.tid), uint64(s.proc), uint64(s.level), s.at.seq, uint64(s.at.off), thread} {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

func (s *state) finish() {
	if s == nil {
		return
	}
	s.entry = s.begin(stateFinished)
	s.append()
	_ = s.f.Close()
	s.broken, s.entry, s.born, s.streams = true, nil, nil, nil
}

// overPiece is a piece that was read to its end and whose events are perhaps not in the recording yet.
type overPiece struct {
	stream *stream
	piece  piece
}

// over is called when a piece was read to its end.
func (p *process) over(s *stream, q *piece) {
	if p.state == nil {
		q.release()
		return
	}
	p.overs = append(p.overs, overPiece{s, *q})
	*q = piece{}
}

// flush has the recording written, and calls then.
func (p *process) flush(then func()) {
	_ = p.out.Flush()
	then()
}

// maxOvers bounds what is kept in the journal because no checkpoint was possible.
const maxOvers = 1024

// checkpoint has everything written that was handed over, and then notes how far that is.
func (p *process) checkpoint(flush func(then func())) {
	s := p.state
	if s == nil {
		flush(func() {})
		return
	}
	if !p.ledger.Settled() && len(p.overs) < maxOvers {
		return // ops wait that are in no event yet; they are settled in a moment
	}
	entry := binary.AppendUvarint([]byte{}, p.out.Handed())
	entry = binary.AppendUvarint(entry, uint64(len(p.touched)))
	for _, st := range p.touched {
		v := streamState{origin: origin{uid: st.uid, start: st.start, tid: st.tid, proc: st.proc, level: st.level, at: st.position()},
			known: st.known, thread: st.thread}
		entry = appendStream(entry, &v)
		s.streams[st.uid] = v
		st.touched = false
	}
	p.touched = p.touched[:0]
	if n := p.ledger.BackingChanges(); n != s.changes {
		s.changes, s.serving = n, encodeBackings(p.ledger.Backings())
	}
	backings := s.serving
	var free []piece
	kept := p.overs[:0]
	for _, o := range p.overs {
		if o.stream.position().before(o.piece.end()) {
			kept = append(kept, o)
		} else {
			free = append(free, o.piece)
		}
	}
	clear(p.overs[len(kept):])
	p.overs = kept
	blocks, _ := p.ledger.Live()
	size := s.size.Load()
	compact := size > compactFrom && uint64(size) > 64*blocks
	then := func() {
		if !bytes.Equal(backings, s.backings) && !compact {
			s.entry = append(s.begin(stateBackings), backings...)
			s.append()
		}
		if s.backings = backings; compact {
			s.snapshot(p.ledger, entry)
		} else {
			s.entry = append(append(s.begin(stateCheckpoint), entry...), s.born...)
			s.append()
		}
		s.born = s.born[:0]
		for i := range free {
			free[i].release()
		}
	}
	if compact {
		flush = p.flush // the ledger must not change meanwhile
	}
	flush(then)
}

// position is how far the stream is, for the purpose of going on from there: the begin of a realloc whose result has not come
// is read again.
func (s *stream) position() position {
	if s.began {
		return s.latest
	}
	return s.done
}

// snapshot writes the state anew: where the streams are, and what is live.
func (s *state) snapshot(l *ledger.Ledger, checkpoint []byte) {
	if s.broken {
		return
	}
	events, _ := binary.Uvarint(checkpoint)
	first := make([]byte, stateHeader)
	if _, err := s.f.ReadAt(first, 0); err != nil {
		s.broken = true
		return
	}
	info := make([]byte, stateHeader+int(binary.LittleEndian.Uint32(first[4:])))
	if _, err := s.f.ReadAt(info, 0); err != nil {
		s.broken = true
		return
	}
	s.entry = binary.AppendUvarint(s.begin(stateSnapshot), events)
	s.entry = binary.AppendUvarint(s.entry, uint64(len(s.streams)))
	for _, v := range s.streams {
		s.entry = appendStream(s.entry, &v)
	}
	for b := range l.Blocks() {
		last := uint64(0) // they come in no order: each is a list of its own
		s.entry = binary.AppendUvarint(appendBirth(s.entry, b.Ref, b.Addr, &last), 0)
	}
	next := s.name + ".new"
	f, err := s.folder.Create(next)
	if err != nil {
		s.broken = true
		return
	}
	old := s.f
	s.f = f
	if _, err := f.WriteAt(info, 0); err != nil {
		s.broken = true
	}
	s.size.Store(int64(len(info)))
	snapshot := s.entry
	if len(s.backings) > 0 {
		s.entry = append(append(make([]byte, stateHeader), stateBackings), s.backings...)
		s.append()
	}
	s.entry = snapshot
	s.append()
	if s.broken || s.folder.Rename(next, s.name) != nil {
		// The old one is as it was: without this checkpoint, hence without any later one.
		s.broken = true
		_ = f.Close()
		_ = s.folder.Remove(next)
		s.f = old
		return
	}
	_ = old.Close()
}

// savedState is a state as it was found.
type savedState struct {
	stateInfo
	events   uint64 // of the recording that count
	streams  map[uint64]streamState
	born     map[uint64]uint64 // addresses by number of the allocation, of blocks that have perhaps ended since
	finished bool
	// What served pools, and what will have at the next checkpoint.
	backings, next []ledger.Backing
}

var errState = errors.New("no state of a recording")

// readState reads a state up to its last whole entry.
func readState(folder *private.Folder, name string) (*savedState, error) {
	b, err := folder.Read(name)
	if err != nil {
		return nil, err
	}
	s := &savedState{streams: map[uint64]streamState{}, born: map[uint64]uint64{}}
	some := false
	for len(b) >= stateHeader+1 {
		le := binary.LittleEndian
		n := uint64(le.Uint32(b[4:]))
		if le.Uint32(b) != stateMagic || n == 0 || n > uint64(len(b)-stateHeader) {
			break
		}
		p := b[stateHeader : stateHeader+n]
		if crc32.ChecksumIEEE(p) != le.Uint32(b[8:]) {
			break
		}
		b = b[stateHeader+n:]
		switch p[0] {
		case stateFirst:
			if err := json.Unmarshal(p[1:], &s.stateInfo); err != nil {
				return nil, errState
			}
			some = true
		case stateSnapshot:
			clear(s.born)
			s.checkpoint(p[1:])
		case stateCheckpoint:
			s.checkpoint(p[1:])
		case stateBackings:
			s.next = decodeBackings(p[1:])
		case stateFinished:
			s.finished = true
		}
	}
	if !some {
		return nil, errState
	}
	return s, nil
}

func (s *savedState) checkpoint(b []byte) {
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			b = nil
			return 0
		}
		b = b[n:]
		return v
	}
	s.events = next()
	s.backings = s.next
	for n := next(); n > 0 && len(b) > 0; n-- {
		v := streamState{origin: origin{uid: next(), start: next(), tid: uint32(next()), proc: uint32(next()), level: uint32(next()),
			at: position{next(), uint32(next())}}}
		if th := next(); th > 0 {
			v.known, v.thread = true, uint32(th-1)
		}
		s.streams[v.uid] = v
	}
	last := uint64(0)
	for len(b) > 0 {
		d := next()
		if d == 0 {
			last = 0
			continue
		}
		last += d
		s.born[last-1] = next()
	}
}

func encodeBackings(list []ledger.Backing) (b []byte) {
	for i := range list {
		x := &list[i]
		how := uint64(x.Parent) << 1
		if x.Over {
			how |= 1
		}
		for _, v := range [...]uint64{x.Pool, x.Addr, x.Size, x.Ref, how} {
			b = binary.AppendUvarint(b, v)
		}
	}
	return b
}

func decodeBackings(b []byte) (list []ledger.Backing) {
	for len(b) > 0 {
		var v [5]uint64
		for i := range v {
			x, n := binary.Uvarint(b)
			if n <= 0 {
				return list
			}
			v[i], b = x, b[n:]
		}
		list = append(list, ledger.Backing{Pool: v[0], Addr: v[1], Size: v[2], Ref: v[3], Parent: uint8(v[4] >> 1), Over: v[4]&1 != 0})
	}
	return list
}
