package spool

import (
	"bytes"
	"fmt"
	"os"
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

// Position returns where in the stream the records begin that a Sink is just given: the number of a chunk, and a byte of it.
func (st *Stream) Position() (seq uint64, off uint32) { return st.seq, st.off }

// Sink takes what a Reader finds. The calls come from within Round.
type Sink interface {
	// Buffer returns room for n bytes. It is filled in and passed to Data, or not used.
	Buffer(n int) []byte
	// Data takes records of a stream.
	Data(st *Stream, b []byte)
	// Spilled takes records of a stream that lie in the spill file, which stays open and unchanged.
	Spilled(st *Stream, f *os.File, offset int64, n int)
	// End says that the stream has ended and was read to its end.
	End(st *Stream)
	// Damaged says that a stream cannot be read any further.
	Damaged(st *Stream, err error)
}

// Reader reads the streams of a spool. Not for concurrent use.
type Reader struct {
	s       *Spool
	procs   *array
	streams *array
	chunks  *array
	spill   spill
	slots   []*Stream
	starts  map[uint64]place // of streams, by uid, that are not to be read from their beginning
	told    uint32           // processes that can be told of
	untold  []uint64         // streams, by uid, of others
	gap     uint32           // a process that is not complete, and since when
	gapAt   time.Time        //
	// Busy are the streams whose writer was amid an event in the latest Round, so that an older event than that
	// round's may still come. A writer that stays there for longer than Patience is not among them any more.
	Busy []*Stream
	// Patience is the time after which a writer that is amid an event without getting on is left behind.
	Patience time.Duration
	// Moved are the bytes of records that the latest Round handed over, Freed the chunks it gave back.
	Moved int64
	Freed int
}

// Process is a process that writes to the spool.
type Process struct {
	Slot     uint32
	PID      int
	Parent   uint32 // slot of the process it was forked from, or wire.None
	ForkTime uint64 // timestamp of its first event; 0 for slot 0
	Random   uint64 // address of its AT_RANDOM bytes
}

// Reader returns a reader of the spool's streams; there must be only one.
func (s *Spool) Reader() *Reader {
	return &Reader{
		s: s, procs: s.array(wire.SegProcs, uint64(unsafe.Sizeof(wire.Proc{}))),
		streams: s.array(wire.SegStreams, uint64(unsafe.Sizeof(wire.Stream{}))),
		chunks:  s.array(wire.SegChunks, wire.ChunkSize),
		spill:   spill{path: s.spill}, Patience: time.Second,
	}
}

// place is a position in a stream.
type place struct {
	seq uint64
	off uint32
}

// Seek has a stream read from a position on. It is called before the first Round.
func (r *Reader) Seek(uid, seq uint64, off uint32) {
	if r.starts == nil {
		r.starts = map[uint64]place{}
	}
	r.starts[uid] = place{seq, max(off, wire.ChunkHeaderSize)}
}

// Spilled is a chunk in the spill file.
type Spilled struct {
	Seq    uint64
	Offset int64 // of its records in the file
	Bytes  int   // of records
}

// InSpill returns the chunks that the spill file has of a stream, from number first up to, but not including, end; the file
// stays open and unchanged.
func (r *Reader) InSpill(uid, first, end uint64) (f *os.File, list []Spilled, err error) {
	if err := r.spill.scan(); err != nil {
		return nil, nil, err
	}
	if st := r.spill.streams[uid]; st != nil {
		for _, c := range st.chunks {
			if c.seq >= first && c.seq < end {
				list = append(list, Spilled{c.seq, c.offset, c.n})
			}
		}
	}
	return r.spill.file, list, nil
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

// Close gives the reader's memory back.
func (r *Reader) Close() {
	r.procs.close()
	r.streams.close()
	r.chunks.close()
	r.spill.close()
}

// Processes returns the processes from a slot on, up to one that is not complete yet.
func (r *Reader) Processes(from uint32) (list []Process, err error) {
	err = guard(r.s.path, func() error {
		for n := r.published(from); from < n; from++ {
			p := (*wire.Proc)(r.procs.at(from))
			if atomic.LoadUint32(&p.State) == wire.ProcLive {
				list = append(list, Process{
					Slot: from, PID: int(p.PID), Parent: p.Parent, ForkTime: p.ForkTime, Random: p.Random,
				})
			} else {
				list = append(list, Process{Slot: from, Parent: wire.None, ForkTime: r.s.info.Counter})
			}
		}
		return nil
	})
	return list, err
}

// published returns how many of the processes, from a slot on, can be told of: all that are complete, in their order. One
// that was killed between taking its slot and filling it holds the others up for a moment only; it has no id then.
func (r *Reader) published(from uint32) uint32 {
	n := atomic.LoadUint32(&r.s.header.NextProc)
	for ; from < n; from++ {
		p := (*wire.Proc)(r.procs.at(from))
		if p == nil {
			break
		}
		if atomic.LoadUint32(&p.State) == wire.ProcLive {
			continue
		}
		if r.gap != from || r.gapAt.IsZero() {
			r.gap, r.gapAt = from, time.Now()
		}
		if time.Since(r.gapAt) < r.Patience {
			break
		}
	}
	return from
}

// Open says whether a process has a stream that was not read to its end.
func (r *Reader) Open(proc uint32) bool {
	for _, st := range r.slots {
		if st != nil && !st.ended && st.Proc == proc {
			return true
		}
	}
	return false
}

// Round hands over everything that the streams hold and that was not handed over before. over tells of a process whether
// it has ended, so that it is not amid an event whatever it left behind, and its streams have ended with it.
func (r *Reader) Round(sink Sink, over func(proc uint32) bool) error {
	r.Busy, r.Moved, r.Freed = r.Busy[:0], 0, 0
	return guard(r.s.path, func() error {
		var spilled []uint64
		if atomic.LoadUint64(&r.s.header.SpillSize) != 0 {
			// Before the slots: a stream that is in the file now, but in no slot then, is complete.
			if err := r.spill.scan(); err != nil {
				return err
			}
			spilled = r.spill.uids()
		}
		// A stream whose process cannot be told of yet, since another one is just filling a slot before it, waits.
		r.told, r.untold = r.published(r.told), r.untold[:0]
		n := atomic.LoadUint32(&r.s.header.NextStream)
		for i := uint32(0); i < n; i++ {
			slot := (*wire.Stream)(r.streams.at(i))
			if slot == nil {
				break
			}
			if int(i) == len(r.slots) {
				r.slots = append(r.slots, nil)
			}
			r.slot(sink, i, slot, over)
		}
		return r.orphans(sink, spilled)
	})
}

// slot looks at one slot of the table of streams.
func (r *Reader) slot(sink Sink, i uint32, slot *wire.Stream, over func(uint32) bool) {
	state := atomic.LoadUint32(&slot.State)
	uid := atomic.LoadUint64(&slot.UID)
	st := r.slots[i]
	if st != nil && (st.UID != uid || state == wire.StreamFree) {
		// The agent has given the slot away itself: what is left of the stream is in the spill file, by now.
		r.slots[i] = nil
		if err := r.spill.scan(); err != nil {
			r.damaged(sink, st, err)
		}
		r.finish(sink, st)
		st = nil
	}
	if state == wire.StreamFree {
		return
	}
	if st == nil {
		if slot.Proc >= r.told && slot.Proc < atomic.LoadUint32(&r.s.header.NextProc) {
			r.untold = append(r.untold, uid)
			return
		}
		name := slot.Name
		st = &Stream{
			UID: uid, Start: slot.Start, TID: slot.TID, Level: slot.Level, Proc: slot.Proc,
			chunk: slot.FirstChunk, off: wire.ChunkHeaderSize,
			Name: string(name[:max(0, bytes.IndexByte(append(name[:], 0), 0))]),
		}
		r.start(st)
		r.slots[i] = st
	}
	dead := over != nil && over(st.Proc)
	busy := atomic.LoadUint64(&slot.Busy) != 0 && state == wire.StreamLive && !dead
	pos := atomic.LoadUint64(&slot.Pos)
	r.noteBusy(st, busy, pos)
	if lost := atomic.LoadUint64(&slot.Lost); lost > st.Lost {
		st.Lost = lost
	}
	done := true
	if !st.bad && !st.ended {
		done = r.drain(sink, st, slot)
	}
	if (state == wire.StreamEnded || dead) && done && !st.ended {
		st.ended = true
		sink.End(st)
		if r.s.write {
			if c := r.own(st); c != nil {
				r.Freed++
				r.freeChunk(st.chunk, c)
			}
			r.slots[i] = nil
			r.freeStream(i, slot)
		}
	}
}

// noteBusy keeps the list of writers amid an event. One that was at the same place for too long is left out.
func (r *Reader) noteBusy(st *Stream, busy bool, pos uint64) {
	if !busy {
		st.busy = false
		return
	}
	if !st.busy || st.busyPos != pos {
		st.busy, st.busyPos, st.busyAt = true, pos, time.Now()
	} else if time.Since(st.busyAt) > r.Patience {
		return
	}
	r.Busy = append(r.Busy, st)
}

// own returns the chunk that the reader stands in if it is in the pool.
func (r *Reader) own(st *Stream) *wire.Chunk {
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
			if r.own(st) == nil {
				continue // spilled and used again meanwhile
			}
			r.Moved += int64(n)
			sink.Data(st, b)
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
	if skip := int(st.off) - wire.ChunkHeaderSize; skip < c.n {
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

// orphans reads the streams that are in the spill file only: of those that were there before the slots were looked at,
// the ones that were in none.
func (r *Reader) orphans(sink Sink, spilled []uint64) error {
	if len(spilled) == 0 {
		return nil
	}
	here := map[uint64]bool{}
	for _, uid := range r.untold {
		here[uid] = true
	}
	for _, st := range r.slots {
		if st != nil {
			here[st.UID] = true
		}
	}
	scanned := false
	for _, uid := range spilled {
		if here[uid] || r.spill.streams[uid] == nil {
			continue
		}
		if !scanned { // what they had not written yet when the file was looked at
			if err := r.spill.scan(); err != nil {
				return err
			}
			scanned = true
		}
		c := r.spill.streams[uid].first
		st := &Stream{UID: uid, Start: c.Start, TID: c.TID, Level: c.Level, Proc: c.Proc, off: wire.ChunkHeaderSize}
		r.start(st)
		r.finish(sink, st)
	}
	return nil
}

func (r *Reader) damaged(sink Sink, st *Stream, err error) {
	st.bad = true
	sink.Damaged(st, fmt.Errorf("%s: thread %d: %w", r.s.path, st.TID, err))
}
