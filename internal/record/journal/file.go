package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"unsafe"

	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/wire"
	"golang.org/x/sys/unix"
)

// File is the memory of a run's store, as a file in the run's folder, so that it outlives the recorder. nil is none:
// then the store's memory is the recorder's own.
type File struct {
	folder *private.Folder // the run's
	file   *os.File
	blocks int64
	spills int
	broken bool // no more room: what comes now does not outlive the recorder
}

const (
	fileName      = "journal"
	blockMagic    = 0x314c4e524a544850 // "PHTJRNL1"
	blockStart    = 16                 // of a block: magic, bytes that are filled
	pieceHeader   = wire.ChunkHeaderSize
	pendingSuffix = ".pending" // of spill files
	maxSpillNames = 1 << 20    // other users may have taken some names, if they may write there
)

// Create makes the journal of a run.
func Create(folder *private.Folder) (*File, error) {
	file, err := folder.Create(fileName)
	if err != nil {
		return nil, fmt.Errorf("cannot make the recorder's journal: %w", err)
	}
	return &File{folder: folder, file: file}, nil
}

// block returns memory of blockSize bytes, in the journal if there is one and it has room; then at is where, else -1.
func (f *File) block() (b []byte, at int64) {
	if f == nil || f.broken {
		return make([]byte, blockSize), -1
	}
	at = f.blocks * blockSize
	if !f.fill(at) {
		return make([]byte, blockSize), -1
	}
	b, err := unix.Mmap(int(f.file.Fd()), at, blockSize, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		f.broken = true
		return make([]byte, blockSize), -1
	}
	f.blocks++
	binary.LittleEndian.PutUint64(b, blockMagic)
	return b, at
}

// fill makes sure that every page of a block is there before it is touched: a full file system is an error here and not
// a fault there.
func (f *File) fill(at int64) bool {
	if err := unix.Fallocate(int(f.file.Fd()), 0, at, blockSize); err != nil {
		f.broken = true
		return false
	}
	return true
}

// hollow gives the memory of a block back to the system.
func (f *File) hollow(at int64) bool {
	return unix.Fallocate(int(f.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, blockSize) == nil
}

// setFill says how many bytes of a block are filled.
func setFill(b []byte, n int) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&b[8])), uint64(n))
}

// spillFile makes a file in dir for pieces that do not fit into memory.
func (f *File) spillFile(dir string) (*os.File, string, error) {
	if f == nil {
		t, err := tempFile(dir)
		return t, "", err
	}
	for {
		f.spills++
		path := filepath.Join(dir, fmt.Sprintf(".%s-%d%s", filepath.Base(f.folder.Path()), f.spills, pendingSuffix))
		t, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
		if !errors.Is(err, os.ErrExist) || f.spills > maxSpillNames {
			return t, path, err
		}
	}
}

// Remove removes the journal: everything is in recordings. The mappings stay; they are the store's.
func (f *File) Remove() {
	if f == nil {
		return
	}
	_ = f.file.Close()
	_ = f.folder.Remove(fileName)
}
