package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/private"
)

// State is a file in the run's folder about one process's recording: which of the journal's records are in the
// recording, and where the live blocks lie, since a recording need not have addresses. A checkpoint is appended to it
// after each block of events that was written. Events that no checkpoint covers do not count: their records are still
// in the journal.
type State struct {
	f       *os.File
	folder  *private.Folder // the run's
	name    string
	size    atomic.Int64 // of the file
	entry   []byte       // in the making
	born    []byte       // blocks that are live at the end of the blocks written since the last checkpoint
	streams map[uint64]StreamState
	broken  bool
	// What serves pools: how often that had changed at the latest checkpoint, and what it was; what was written of it.
	changes           uint64
	serving, backings []byte
}

// StreamState is how far a stream is at a checkpoint: up to its At.
type StreamState struct {
	Origin
	Known  bool
	Thread uint32 // index in the recording, if known
}

// StateInfo is the first entry.
type StateInfo struct {
	Recording string
	SpillDir  string
	Slot      uint32
}

// Entries: a mark, a length, a checksum, and that many bytes, of which the first is the kind.
const (
	stateMagic  = 0x54535448 // "HTST"
	stateHeader = 12

	stateFirst      = 'i' // StateInfo
	stateCheckpoint = 'c'
	stateSnapshot   = 's' // replaces all that came before
	stateFinished   = 'f'
	stateBackings   = 'p' // what served pools at the checkpoint that follows

	stateSuffix = ".state"

	// compactFrom is the size from which a state is rewritten if most of it is about blocks that have ended.
	compactFrom = 32 << 20
)

// CreateState makes the state of a process of a spool, whose recording is at a path; nil if it cannot.
func CreateState(folder *private.Folder, spoolPath string, info StateInfo) *State {
	base := strings.TrimSuffix(filepath.Base(spoolPath), ".spool")
	name := base + "." + strconv.Itoa(int(info.Slot)) + stateSuffix
	s := &State{folder: folder, name: name, streams: map[uint64]StreamState{}}
	var err error
	if s.f, err = s.folder.Create(s.name); err != nil {
		return nil
	}
	for _, path := range []*string{&info.Recording, &info.SpillDir} {
		if abs, err := filepath.Abs(*path); err == nil {
			*path = abs
		}
	}
	text, _ := json.Marshal(info)
	s.entry = append(s.begin(stateFirst), text...)
	s.append()
	return s
}

// Name is the file's name in the run's folder.
func (s *State) Name() string { return s.name }

func (s *State) begin(kind byte) []byte {
	return append(append(s.entry[:0], make([]byte, stateHeader)...), kind)
}

// append appends the entry to the file.
func (s *State) append() {
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

// Births takes the addresses of the blocks that were allocated in a block of events. It is called by the recording's
// writer.
func (s *State) Births(first uint64, addrs []uint64) {
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

func appendStream(b []byte, s *StreamState) []byte {
	thread := uint64(0)
	if s.Known {
		thread = uint64(s.Thread) + 1
	}
	for _, v := range [...]uint64{
		s.UID, s.Start, uint64(s.TID), uint64(s.Proc), uint64(s.Level), s.At.Seq, uint64(s.At.Off), thread,
	} {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

// Checkpoint prepares a checkpoint: of the recording, so many events count, and the streams that have moved since the
// one before are there. write appends it, and is to be called when these events have been written. If whole is true,
// the ledger must not change before that.
func (s *State) Checkpoint(events uint64, moved []StreamState, l *ledger.Ledger) (write func(), whole bool) {
	entry := binary.AppendUvarint([]byte{}, events)
	entry = binary.AppendUvarint(entry, uint64(len(moved)))
	for i := range moved {
		entry = appendStream(entry, &moved[i])
		s.streams[moved[i].UID] = moved[i]
	}
	if n := l.BackingChanges(); n != s.changes {
		s.changes, s.serving = n, encodeBackings(l.Backings())
	}
	backings := s.serving
	blocks, _ := l.Live()
	size := s.size.Load()
	compact := size > compactFrom && uint64(size) > 64*blocks
	return func() {
		if !bytes.Equal(backings, s.backings) && !compact {
			s.entry = append(s.begin(stateBackings), backings...)
			s.append()
		}
		if s.backings = backings; compact {
			s.snapshot(l, entry)
		} else {
			s.entry = append(append(s.begin(stateCheckpoint), entry...), s.born...)
			s.append()
		}
		s.born = s.born[:0]
	}, compact
}

// Finish says that the recording is complete: nothing has to be recovered any more. s may be nil.
func (s *State) Finish() {
	if s == nil {
		return
	}
	s.entry = s.begin(stateFinished)
	s.append()
	_ = s.f.Close()
	s.broken, s.entry, s.born, s.streams = true, nil, nil, nil
}

// snapshot rewrites the state: the positions of the streams, and what is live.
func (s *State) snapshot(l *ledger.Ledger, checkpoint []byte) {
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
