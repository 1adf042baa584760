package spool

import (
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/wire"
)

// Stream is one thread's sequence of records, as far as it was read.
type Stream struct {
	UID   uint64
	Start uint64 // timestamp of the thread's first event
	TID   uint32
	Level uint32
	Proc  uint32
	Name  string // "" if it is not known
	Lost  uint64 // events that the writer could not record
	End   uint64 // timestamp of the thread's end; 0: it has not ended, or that is not known
	Tag   any    // the sink's own

	seq   uint64 // of the chunk that is read
	off   uint32 // bytes of it that were read
	chunk uint32 // where it lies in the pool
	ended bool   // the sink was told so
	bad   bool

	busyPos uint64
	busyAt  time.Time
	busy    bool
}

// Position returns where in the stream the records begin that a Sink is just given: the number of a chunk, and a byte
// of it.
func (st *Stream) Position() (seq uint64, off uint32) { return st.seq, st.off }

// place is a position in a stream.
type place struct {
	seq uint64
	off uint32
}

// start puts a stream that was just found to where it is to be read from.
func (r *Reader) start(st *Stream) {
	p, ok := r.starts[st.UID]
	if !ok {
		return
	}
	st.seq, st.off = p.seq, p.off
	st.chunk, _ = r.inPool(st)
}

// inPool looks for the first chunk in the pool that the stream has from where it is on.
func (r *Reader) inPool(st *Stream) (chunk uint32, seq uint64) {
	chunk, seq = wire.None, ^uint64(0)
	n := atomic.LoadUint32(&r.s.header.NextChunk)
	for i := uint32(0); i < n; i++ {
		c := (*wire.Chunk)(r.chunks.at(i))
		if c == nil {
			break
		}
		if c.Magic != wire.ChunkMagic || atomic.LoadUint64(&c.UID) != st.UID {
			continue
		}
		if s := atomic.LoadUint64(&c.Seq); s >= st.seq && s < seq {
			chunk, seq = i, s
		}
	}
	return chunk, seq
}

// own returns the chunk that the reader stands in if it is in the pool.
func (r *Reader) own(st *Stream) *wire.Chunk {
	r.touch()
	c := (*wire.Chunk)(r.chunks.at(st.chunk))
	if c == nil || c.Magic != wire.ChunkMagic || atomic.LoadUint64(&c.UID) != st.UID ||
		atomic.LoadUint64(&c.Seq) != st.seq {
		return nil
	}
	return c
}

// maxRound bounds the chunks of one stream that one round takes.
const maxRound = 1024

// drain reads a stream up to where its writer is. It returns false if more is there.
func (r *Reader) drain(sink Sink, st *Stream, slot *wire.Stream) bool {
	for range maxRound {
		pos := atomic.LoadUint64(&slot.Pos)
		seq, used := pos>>wire.PosShift, uint32(pos&wire.PosMask)
		if seq < st.seq || seq == st.seq && used < st.off {
			if seq == 0 && used == 0 {
				return true // not begun
			}
			r.damaged(sink, st, fmt.Errorf("its writer went back to chunk %d, byte %d, before chunk %d, byte %d",
				seq, used, st.seq, st.off))
			return true
		}
		if seq == st.seq && used == st.off {
			return true
		}
		c := r.own(st)
		if c == nil && seq == st.seq {
			// After a chunk that was spilled or lost, the slot says where its successor lies.
			if at := atomic.LoadUint32(&slot.Chunk); at != st.chunk {
				st.chunk = at
				c = r.own(st)
			}
		}
		if c == nil {
			if seq == st.seq && atomic.LoadUint64(&slot.Pos) == pos && !r.movedOn(st) {
				r.damaged(sink, st, fmt.Errorf("chunk %d of the pool is not its chunk %d", st.chunk, st.seq))
				return true
			}
			if !r.fromSpill(sink, st, max(seq, st.seq+1)) {
				return true
			}
			continue
		}
		end, next := used, uint32(wire.None)
		if seq > st.seq {
			end, next = atomic.LoadUint32(&c.Fill), atomic.LoadUint32(&c.Next)
		}
		if end < st.off || end > wire.ChunkSize {
			r.damaged(sink, st, fmt.Errorf("chunk %d is said to hold %d bytes of %d, and %d were read",
				st.seq, end, wire.ChunkSize, st.off))
			return true
		}
		if n := end - st.off; n > 0 {
			b := sink.Buffer(int(n))
			copy(b, unsafe.Slice((*byte)(unsafe.Pointer(c)), wire.ChunkSize)[st.off:end])
			clock.Fence()
			holds := r.holds(c, end, seq > st.seq)
			if r.own(st) == nil {
				continue // spilled and used again meanwhile
			}
			r.Moved += int64(n)
			if holds {
				sink.Data(st, b)
			} else {
				r.doubtful(sink, st, b)
			}
			st.off = end
		}
		if seq == st.seq {
			return true
		}
		if r.s.write {
			r.Freed++
			r.freeChunk(st.chunk, c)
		}
		st.chunk, st.seq, st.off = next, st.seq+1, wire.ChunkHeaderSize
	}
	return false
}

// holds says whether a chunk's first bytes, up to end, are what was written there, as far as that was sealed. A spool
// whose writer lives has been in nobody else's hands: what it holds is read within milliseconds.
func (r *Reader) holds(c *wire.Chunk, end uint32, complete bool) bool {
	if r.s.write {
		return true
	}
	all := unsafe.Slice((*byte)(unsafe.Pointer(c)), wire.ChunkSize)
	head := *c
	fill, ok := head.Sealed(all[wire.ChunkHeaderSize:end])
	return ok && (fill == 0 || !complete || fill == int(end))
}

// movedOn says whether the reader's chunk is used by the same stream for a later one.
func (r *Reader) movedOn(st *Stream) bool {
	c := (*wire.Chunk)(r.chunks.at(st.chunk))
	return c != nil && atomic.LoadUint64(&c.UID) == st.UID && atomic.LoadUint64(&c.Seq) > st.seq
}

// fromSpill takes the stream's chunk from the spill file. If it is not there, it is lost, and the reader goes on to the
// next one that can exist, but not beyond limit.
func (r *Reader) fromSpill(sink Sink, st *Stream, limit uint64) bool {
	if err := r.spill.scan(); err != nil {
		r.damaged(sink, st, err)
		return false
	}
	c, next, ok := r.spill.take(st.UID, st.seq)
	if !ok {
		if r.starts != nil {
			// Where the reader began there may be no chunk any more that says where the next one lies.
			if at, seq := r.inPool(st); seq < next {
				st.chunk, next = at, seq
			}
		}
		st.seq, st.off = min(next, limit), wire.ChunkHeaderSize
		return true
	}
	r.spilledChunk(sink, st, c)
	return true
}

func (r *Reader) spilledChunk(sink Sink, st *Stream, c spilledChunk) {
	if records, ok := r.spill.sealed(&c, r.s.write); !ok {
		r.Moved += int64(c.n)
		r.doubtful(sink, st, records)
	} else if skip := int(st.off) - wire.ChunkHeaderSize; skip < c.n {
		sink.Spilled(st, r.spill.file, c.offset+int64(skip), c.n-skip)
		r.Moved += int64(c.n - skip)
	}
	st.seq, st.off = c.seq+1, wire.ChunkHeaderSize
}

// finish reads what the spill file holds of a stream whose slot is gone, and ends it.
func (r *Reader) finish(sink Sink, st *Stream) {
	for !st.bad && !st.ended {
		c, next, ok := r.spill.take(st.UID, st.seq)
		if !ok {
			if next == ^uint64(0) {
				break
			}
			st.seq, st.off = next, wire.ChunkHeaderSize
			continue
		}
		r.spilledChunk(sink, st, c)
	}
	if !st.ended {
		st.ended = true
		sink.End(st)
	}
}
