package spool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/heaptap/heaptap/internal/wire"
)

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
	// Doubtful says that so many events of a stream are left out: what is written there is not what was recorded.
	Doubtful(st *Stream, events int, err error)
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

	touched int // chunks that were looked at since the array's pages were last forgotten

	heeded   uint32 // the latest ht_header.control that all processes have seen
	unheeded bool   // there is one that some have not seen

	// Busy are the streams whose writer was amid an event in the latest Round, so that an older event than that
	// round's may still come. A writer that stays there for longer than Patience is not among them any more.
	Busy []*Stream
	// Patience is the time after which a writer that is amid an event without getting on is left behind.
	Patience time.Duration
	// Moved are the bytes of records that the latest Round handed over, Freed the chunks it gave back.
	Moved int64
	Freed int
}

// Reader returns a reader of the spool's streams; there must be only one.
func (s *Spool) Reader() *Reader {
	return &Reader{
		s: s, procs: s.array(wire.SegProcs, uint64(unsafe.Sizeof(wire.Proc{}))),
		streams: s.array(wire.SegStreams, uint64(unsafe.Sizeof(wire.Stream{}))),
		chunks:  s.array(wire.SegChunks, wire.ChunkSize),
		spill:   spill{path: s.spill, owner: s.info.Owner}, Patience: time.Second,
	}
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

// Close gives the reader's memory back.
func (r *Reader) Close() {
	r.procs.close()
	r.streams.close()
	r.chunks.close()
	r.spill.close()
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
		r.unheeded = r.lookAtControl(over)
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
		if slot := (*wire.Stream)(r.streams.at(n)); !r.s.write && slot != nil && slot.UID != 0 {
			r.s.doubt("it has more threads than the %d that it says: some are missing", n)
		}
		return r.orphans(sink, spilled)
	})
}

// maxTouched bounds how many chunks are in the reader's own memory, up to 64 KiB each: a program with many threads has many.
const maxTouched = 1024

func (r *Reader) touch() {
	if r.touched++; r.touched > maxTouched {
		r.touched = 0
		r.chunks.forget()
	}
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
		// Unless its writer lives, and the slot has just become another stream's.
		if !r.s.write && (!slot.Holds() || state != wire.StreamLive && state != wire.StreamEnded) &&
			atomic.LoadUint64(&slot.UID) == uid && atomic.LoadUint32(&slot.State) == state {
			r.damaged(sink, st, errors.New("what the spool says of it is not what was written"))
		}
	}
	dead := over != nil && over(st.Proc)
	busy := atomic.LoadUint64(&slot.Busy) > wire.BusyControl && state == wire.StreamLive && !dead
	if r.unheeded && state == wire.StreamLive && !dead && !busy {
		atomic.CompareAndSwapUint64(&slot.Busy, 0, wire.BusyControl)
	}
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

// Missing notes what there should be and was not found, once a spool that is only read was read to its end.
func (r *Reader) Missing() {
	if n := r.s.Counters()[wire.CSpilled]; n > uint64(r.spill.chunks) {
		r.s.doubt("%d of %d chunks that were spilled to %s are missing or damaged", n-uint64(r.spill.chunks), n, r.spill.path)
	}
}

func (r *Reader) doubtful(sink Sink, st *Stream, records []byte) {
	n, _ := wire.Events(records)
	sink.Doubtful(st, n, fmt.Errorf("%s: thread %d: chunk %d is damaged: its %d events are left out", r.s.path, st.TID, st.seq, n))
}

func (r *Reader) damaged(sink Sink, st *Stream, err error) {
	st.bad = true
	sink.Damaged(st, fmt.Errorf("%s: thread %d: %w", r.s.path, st.TID, err))
}
