package journal

import (
	"fmt"
	"math/bits"
	"os"

	"github.com/heaptap/heaptap/internal/spill"
)

// Piece is a run of records of one stream on its way from the drain to a worker: in memory, packed in one of the
// recorder's spill files, or as it is in the agent's.
type Piece struct {
	At    Position // of its first record
	Size  int      // bytes of records
	First uint64   // timestamp of its first event; 0: not known

	data   []byte
	block  *memBlock
	file   *spillFile // packed at offset
	raw    *os.File   // or as it is
	offset int64
	packed int // bytes on disk
}

// InMemory is a piece whose records are in memory that is not reused.
func InMemory(records []byte, at Position) Piece {
	return Piece{At: at, Size: len(records), data: records}
}

// InFile is a piece whose n bytes of records lie in a file as they are.
func InFile(f *os.File, offset int64, n int, at Position) Piece {
	return Piece{At: at, Size: n, raw: f, offset: offset}
}

// End is the position after the piece's last record.
func (p *Piece) End() Position { return Position{p.At.Seq, p.At.Off + uint32(p.Size)} }

// OnDisk says whether Load needs a buffer.
func (p *Piece) OnDisk() bool { return p.data == nil }

// roomFor is how large a stream's buffer is made for n bytes: no larger than it must be, since each of many threads has
// one.
func roomFor(n int) int { return 1 << bits.Len(uint(n-1)) }

// Load returns the records of a piece; what is on disk is read into buf, or a larger one. A chunk at a time is
// cheapest: its copy stays in the cache, and mapping the file takes longer than reading it.
func (p *Piece) Load(buf []byte) ([]byte, error) {
	if p.data != nil {
		return p.data, nil
	}
	if p.raw != nil {
		if cap(buf) < p.Size {
			buf = make([]byte, roomFor(p.Size))
		}
		if _, err := p.raw.ReadAt(buf[:p.Size], p.offset); err != nil {
			return nil, fmt.Errorf("cannot read what the agent has spilled: %w", err)
		}
		return buf[:p.Size], nil
	}
	room := p.Size + spill.Slack
	if cap(buf) < room+p.packed {
		buf = make([]byte, roomFor(room+p.packed))
	}
	packed := buf[room : room+p.packed]
	if _, err := p.file.f.ReadAt(packed, p.offset); err != nil {
		return nil, fmt.Errorf("cannot read spilled events back: %w", err)
	}
	return spill.Decode(buf[:0], packed, p.Size)
}

// Release gives the piece's memory back.
func (p *Piece) Release() {
	if p.block != nil {
		p.block.release()
	} else if p.file != nil {
		p.file.release()
	}
	*p = Piece{}
}
