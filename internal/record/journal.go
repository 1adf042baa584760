package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"unsafe"

	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/spill"
	"github.com/heaptap/heaptap/internal/spool"
	"github.com/heaptap/heaptap/internal/wire"
	"golang.org/x/sys/unix"
)

// The journal makes the recorder's death harmless. What was drained from a spool is not in the spool any more, and not in
// a recording until its block of events is written. Until then it lies in the journal: a file in the run's folder that is
// the memory of the queue, and spill files with names. Both outlive the recorder; Recover puts spool, journal and recording
// together again (see state.go for what else it needs).
type journal struct {
	folder *private.Folder // the run's
	file   *os.File
	blocks int64
	spills int
	broken bool // no more room: what comes now does not outlive the recorder
}

const (
	journalName   = "journal"
	journalMagic  = 0x314c4e524a544850 // "PHTJRNL1"
	journalStart  = 16                 // of a block: magic, bytes that are filled
	journalHeader = wire.ChunkHeaderSize
	pendingSuffix = ".pending" // of spill files
	maxSpillNames = 1 << 20    // somebody else may have taken some, where others may write, too
)

// position is a place in a stream: a chunk and a byte of it.
type position struct {
	seq uint64
	off uint32
}

func (a position) before(b position) bool { return a.seq < b.seq || a.seq == b.seq && a.off < b.off }

// origin says where records come from.
type origin struct {
	spool            uint64 // its inode
	uid, start       uint64
	tid, proc, level uint32
	at               position
}

func originOf(inode uint64, st *spool.Stream) origin {
	seq, off := st.Position()
	return origin{spool: inode, uid: st.UID, start: st.Start, tid: st.TID, proc: st.Proc, level: st.Level, at: position{seq, off}}
}

// encode writes the header of a piece of n bytes, of which packed are stored, or all if that is 0. It is that of a chunk, so that
// the words have one layout.
func (o *origin) encode(b []byte, n, packed int) {
	le := binary.LittleEndian
	le.PutUint32(b, wire.ChunkMagic)
	le.PutUint32(b[4:], uint32(packed))
	le.PutUint64(b[8:], o.uid)
	le.PutUint64(b[16:], o.at.seq)
	le.PutUint32(b[24:], uint32(n))
	le.PutUint32(b[28:], o.at.off)
	le.PutUint32(b[32:], o.tid)
	le.PutUint32(b[36:], o.proc)
	le.PutUint32(b[40:], o.level)
	le.PutUint32(b[44:], spill.Version)
	le.PutUint64(b[48:], o.start)
	le.PutUint64(b[56:], o.spool)
}

// decodeOrigin reads the header of a piece; false if it is none.
func decodeOrigin(b []byte) (o origin, n, packed int, ok bool) {
	if len(b) < journalHeader {
		return o, 0, 0, false
	}
	le := binary.LittleEndian
	o = origin{spool: le.Uint64(b[56:]), uid: le.Uint64(b[8:]), start: le.Uint64(b[48:]), tid: le.Uint32(b[32:]), proc: le.Uint32(b[36:]),
		level: le.Uint32(b[40:]), at: position{le.Uint64(b[16:]), le.Uint32(b[28:])}}
	n, packed = int(le.Uint32(b[24:])), int(le.Uint32(b[4:]))
	ok = le.Uint32(b) == wire.ChunkMagic && o.uid != 0 && n > 0 && n <= wire.ChunkSize && o.at.off <= wire.ChunkSize &&
		packed <= 2*wire.ChunkSize
	return o, n, packed, ok
}

// packedForm returns the version of the form in which a piece is packed, from its header.
func packedForm(b []byte) uint32 { return binary.LittleEndian.Uint32(b[44:]) }

// openJournal makes the journal of a run.
func openJournal(folder *private.Folder) (*journal, error) {
	f, err := folder.Create(journalName)
	if err != nil {
		return nil, fmt.Errorf("cannot make the recorder's journal: %w", err)
	}
	return &journal{folder: folder, file: f}, nil
}

// block returns memory of blockSize bytes, in the journal if there is one and it has room; then at is where, else -1.
func (j *journal) block() (b []byte, at int64) {
	if j == nil || j.broken {
		return make([]byte, blockSize), -1
	}
	at = j.blocks * blockSize
	if !j.fill(at) {
		return make([]byte, blockSize), -1
	}
	b, err := unix.Mmap(int(j.file.Fd()), at, blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		j.broken = true
		return make([]byte, blockSize), -1
	}
	j.blocks++
	binary.LittleEndian.PutUint64(b, journalMagic)
	return b, at
}

// fill makes sure that every page of a block is there before it is touched: a full file system is an error here and not a fault
// there.
func (j *journal) fill(at int64) bool {
	if err := unix.Fallocate(int(j.file.Fd()), 0, at, blockSize); err != nil {
		j.broken = true
		return false
	}
	return true
}

// hollow gives the memory of a block back to the system.
func (j *journal) hollow(at int64) bool {
	return unix.Fallocate(int(j.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, blockSize) == nil
}

// journalFill says how many bytes of a block are filled.
func journalFill(b []byte, n int) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&b[8])), uint64(n))
}

// spillFile makes a file in dir for pieces that do not fit into memory.
func (j *journal) spillFile(dir string) (*os.File, string, error) {
	if j == nil {
		f, err := tempFile(dir)
		return f, "", err
	}
	for {
		j.spills++
		path := filepath.Join(dir, fmt.Sprintf(".%s-%d%s", filepath.Base(j.folder.Path()), j.spills, pendingSuffix))
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
		if !errors.Is(err, os.ErrExist) || j.spills > maxSpillNames {
			return f, path, err
		}
	}
}

// remove takes the journal away: everything is in recordings. The mappings stay; they are the queue's.
func (j *journal) remove() {
	if j == nil {
		return
	}
	_ = j.file.Close()
	_ = j.folder.Remove(journalName)
}
