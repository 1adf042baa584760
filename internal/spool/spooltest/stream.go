package spooltest

import (
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/wire"
	"golang.org/x/sys/unix"
)

// stackPointer stands for that of the hook that is recording.
const stackPointer = 0x7ff0

// Stream is one thread of an agent.
type Stream struct {
	a     *Agent
	Slot  *wire.Stream
	Index uint32
	Chunk []byte // the current one
	pos   uint64
	at    uint32 // the current chunk's index
}

// Stream opens a stream of a process.
func (a *Agent) Stream(proc, tid, level uint32, name string) *Stream {
	index := a.pop(&a.Header.FreeStreams, func(i uint32) *uint32 { return &a.slot(i).NextFree })
	if index == wire.None {
		index = atomic.AddUint32(&a.Header.NextStream, 1) - 1
	}
	s := &Stream{a: a, Index: index, Slot: a.slot(index)}
	s.at = a.take(true)
	if s.at == wire.None {
		a.tb.Fatal("no chunk for a new stream")
	}
	l := s.Slot
	atomic.StoreUint64(&l.Busy, stackPointer)
	atomic.StoreUint64(&l.Lost, 0)
	atomic.StoreUint64(&l.UID, atomic.AddUint64(&a.Header.NextUID, 1)-1)
	l.Proc, l.TID, l.Level, l.FirstChunk = proc, tid, level, s.at
	atomic.StoreUint32(&l.Chunk, s.at)
	l.Name = [16]byte{}
	copy(l.Name[:], name)
	s.pos = wire.ChunkHeaderSize
	atomic.StoreUint64(&l.Pos, s.pos)
	l.Start = clock.Now()
	s.start(0)
	atomic.StoreUint32(&l.State, wire.StreamLive)
	atomic.StoreUint64(&l.Busy, 0)
	return s
}

func (a *Agent) slot(i uint32) *wire.Stream { return (*wire.Stream)(a.at(wire.SegStreams, i)) }

func (a *Agent) chunk(i uint32) *wire.Chunk { return (*wire.Chunk)(a.at(wire.SegChunks, i)) }

func (a *Agent) pop(head *uint64, link func(uint32) *uint32) uint32 {
	for {
		old := atomic.LoadUint64(head)
		if uint32(old) == wire.None {
			return wire.None
		}
		next := atomic.LoadUint32(link(uint32(old)))
		if atomic.CompareAndSwapUint64(head, old, (old>>32+1)<<32|uint64(next)) {
			return uint32(old)
		}
	}
}

func (a *Agent) takeNow() uint32 {
	if i := a.pop(&a.Header.FreeChunks, func(i uint32) *uint32 { return &a.chunk(i).Next }); i != wire.None {
		atomic.AddUint32(&a.Header.FreeChunkCount, ^uint32(0))
		return i
	}
	for {
		n := atomic.LoadUint32(&a.Header.NextChunk)
		if n >= Pool+atomic.LoadUint32(&a.Header.NextStream) {
			return wire.None
		}
		if atomic.CompareAndSwapUint32(&a.Header.NextChunk, n, n+1) {
			return n
		}
	}
}

func (a *Agent) take(must bool) uint32 {
	until := time.Now().Add(a.Patience)
	for {
		i := a.takeNow()
		if i != wire.None || !must && (a.Patience == 0 || time.Now().After(until)) {
			return i
		}
		if atomic.CompareAndSwapUint32(&a.Header.RecorderSleeps, 1, 0) {
			atomic.AddUint32(&a.Header.RecorderWake, 1)
			_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&a.Header.RecorderWake)), 1, 1, 0, 0, 0)
		}
		time.Sleep(50 * time.Microsecond)
	}
}

func (s *Stream) start(seq uint64) {
	c := s.a.chunk(s.at)
	c.Magic, c.Stream, c.Fill = wire.ChunkMagic, s.Index, wire.ChunkHeaderSize
	atomic.StoreUint64(&c.UID, s.Slot.UID)
	c.TID, c.Proc, c.Level, c.Start = s.Slot.TID, s.Slot.Proc, s.Slot.Level, s.Slot.Start
	atomic.StoreUint32(&c.Next, wire.None)
	atomic.StoreUint64(&c.Seq, seq)
	s.Chunk = unsafe.Slice((*byte)(unsafe.Pointer(c)), wire.ChunkSize)
}

// Write publishes one event, one or more records, as it stands.
func (s *Stream) Write(b []byte) {
	atomic.StoreUint64(&s.Slot.Busy, stackPointer)
	s.put(b)
	atomic.StoreUint64(&s.Slot.Busy, 0)
}

// Event publishes one event and stamps it with the clock; the last record is the one that bears the time.
func (s *Stream) Event(extras []wire.Record, r wire.Record) {
	atomic.StoreUint64(&s.Slot.Busy, stackPointer)
	var b []byte
	for _, x := range extras {
		b = wire.Append(b, x)
	}
	s.room()
	r.Time = clock.Now()
	s.put(wire.Append(b, r))
	atomic.StoreUint64(&s.Slot.Busy, 0)
}

func (s *Stream) room() {
	if s.pos&wire.PosMask > wire.ChunkSize-wire.RecordMax {
		s.Next()
	}
}

func (s *Stream) put(b []byte) {
	s.room()
	copy(s.Chunk[s.pos&wire.PosMask:], b)
	s.pos += uint64(len(b))
	atomic.StoreUint64(&s.Slot.Pos, s.pos)
}

// Next hands the current chunk over and goes on to the next one; without one in the pool, the chunk is appended to the
// spill file and used again.
func (s *Stream) Next() {
	c := s.a.chunk(s.at)
	atomic.StoreUint32(&c.Fill, uint32(s.pos&wire.PosMask))
	seq := s.pos>>wire.PosShift + 1
	i := uint32(wire.None)
	if atomic.LoadUint32(&s.a.Header.RecorderState) != wire.RecorderNone {
		i = s.a.take(false)
	}
	if i != wire.None {
		s.at = i
		s.start(seq)
		atomic.StoreUint32(&c.Next, i)
		atomic.StoreUint32(&s.Slot.Chunk, i)
	} else {
		s.spill()
		s.start(seq)
	}
	s.pos = seq<<wire.PosShift | wire.ChunkHeaderSize
	atomic.StoreUint64(&s.Slot.Pos, s.pos)
}

func (s *Stream) spill() {
	n := s.a.chunk(s.at).Fill
	if atomic.AddUint64(&s.a.Header.SpillSize, uint64(n)) > s.a.Header.SpillLimit {
		events, _ := wire.Events(s.Chunk[wire.ChunkHeaderSize:n])
		atomic.AddUint64(&s.Slot.Lost, uint64(events))
		atomic.AddUint64(&s.a.Header.Counters[wire.CLost], uint64(events))
		return
	}
	f, err := os.OpenFile(s.a.Spill, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	s.a.must(err)
	_, err = f.Write(s.Chunk[:n])
	s.a.must(err)
	s.a.must(f.Close())
	atomic.AddUint64(&s.a.Header.Counters[wire.CSpilled], 1)
}

// End ends the stream: a recorder frees what it leaves behind.
func (s *Stream) End() { atomic.StoreUint32(&s.Slot.State, wire.StreamEnded) }

// Leave ends the stream as an agent without recorder does: the last chunk goes to the spill file.
func (s *Stream) Leave() {
	c := s.a.chunk(s.at)
	c.Fill = uint32(s.pos & wire.PosMask)
	s.spill()
	s.End()
	push(&s.a.Header.FreeChunks, &c.Next, s.at)
	atomic.StoreUint32(&s.Slot.State, wire.StreamFree)
	push(&s.a.Header.FreeStreams, &s.Slot.NextFree, s.Index)
}

func push(head *uint64, link *uint32, index uint32) {
	for {
		old := atomic.LoadUint64(head)
		atomic.StoreUint32(link, uint32(old))
		if atomic.CompareAndSwapUint64(head, old, (old>>32+1)<<32|uint64(index)) {
			return
		}
	}
}
