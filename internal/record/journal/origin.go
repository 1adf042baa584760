package journal

import (
	"encoding/binary"

	"github.com/heaptap/heaptap/internal/spill"
	"github.com/heaptap/heaptap/internal/spool"
	"github.com/heaptap/heaptap/internal/wire"
)

// Position is a place in a stream: a chunk and a byte of it.
type Position struct {
	Seq uint64
	Off uint32
}

// Before says whether a position is before another one of the same stream.
func (p Position) Before(q Position) bool { return p.Seq < q.Seq || p.Seq == q.Seq && p.Off < q.Off }

// Origin says where records come from.
type Origin struct {
	Spool            uint64 // its inode
	UID, Start       uint64 // of the stream, as the next ones
	TID, Proc, Level uint32
	At               Position
}

// OriginOf is the place that a spool's reader is at in a stream.
func OriginOf(inode uint64, st *spool.Stream) Origin {
	seq, off := st.Position()
	return Origin{
		Spool: inode, UID: st.UID, Start: st.Start, TID: st.TID, Proc: st.Proc, Level: st.Level,
		At: Position{seq, off},
	}
}

// encode writes the header of a piece of n bytes, which take packed bytes if that is not 0. Its layout is that of a
// chunk's header.
func (o *Origin) encode(b []byte, n, packed int) {
	le := binary.LittleEndian
	le.PutUint32(b, wire.ChunkMagic)
	le.PutUint32(b[4:], uint32(packed))
	le.PutUint64(b[8:], o.UID)
	le.PutUint64(b[16:], o.At.Seq)
	le.PutUint32(b[24:], uint32(n))
	le.PutUint32(b[28:], o.At.Off)
	le.PutUint32(b[32:], o.TID)
	le.PutUint32(b[36:], o.Proc)
	le.PutUint32(b[40:], o.Level)
	le.PutUint32(b[44:], spill.Version)
	le.PutUint64(b[48:], o.Start)
	le.PutUint64(b[56:], o.Spool)
}

// decodeOrigin reads the header of a piece; false if there is none.
func decodeOrigin(b []byte) (o Origin, n, packed int, ok bool) {
	if len(b) < pieceHeader {
		return o, 0, 0, false
	}
	le := binary.LittleEndian
	o = Origin{
		Spool: le.Uint64(b[56:]), UID: le.Uint64(b[8:]), Start: le.Uint64(b[48:]),
		TID: le.Uint32(b[32:]), Proc: le.Uint32(b[36:]), Level: le.Uint32(b[40:]),
		At: Position{le.Uint64(b[16:]), le.Uint32(b[28:])},
	}
	n, packed = int(le.Uint32(b[24:])), int(le.Uint32(b[4:]))
	ok = le.Uint32(b) == wire.ChunkMagic && o.UID != 0 && n > 0 && n <= wire.ChunkSize && o.At.Off <= wire.ChunkSize &&
		packed <= 2*wire.ChunkSize
	return o, n, packed, ok
}

// packedForm returns the version of the form in which a piece is packed, from its header.
func packedForm(b []byte) uint32 { return binary.LittleEndian.Uint32(b[44:]) }
