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

// Sink receives what a Reader finds. Round calls its methods.
type Sink interface {
	// Buffer returns room for n bytes. The Reader fills it and passes it to Data, or does not use it.
	Buffer(n int) []byte
	// Data receives records of a stream.
	Data(st *Stream, b []byte)
	// Spilled receives the place of a stream's records in the spill file, which stays open and unchanged.
	Spilled(st *Stream, f *os.File, offset int64, n int)
	// End says that the stream has ended and was read completely.
	End(st *Stream)
	// Doubtful says that a number of a stream's events are skipped, since their checksum is wrong.
	Doubtful(st *Stream, events int, err error)
	// Damaged says that the rest of a stream cannot be read.
	Damaged(st *Stream, err error)
}

// defaultPatience is the Patience of a new Reader. A thread inside an allocation is done after microseconds, unless
// something stops it.
const defaultPatience = time.Second

// Reader reads the streams of a spool. Not for concurrent use.
type Reader struct {
	s       *Spool
	procs   *array
	streams *array
	chunks  *array
	spill   spill
	slots   []*Stream
	starts  map[uint64]place // where to begin to read a stream, by uid; others are read from their beginning

	complete uint32    // processes whose slots are filled in, without a gap
	waiting  []uint64  // uids of streams of other processes
	gap      uint32    // slot of the first process that is not filled in,
	gapAt    time.Time // and when that was first seen

	touched int // chunks that were read since the array's pages were last forgotten

	seenControl    uint32 // the latest ht_header.control that all processes have read
	controlPending bool   // some process has not read the current one

	// Busy are the streams whose writer was in the middle of an event in the latest Round: it may still publish an
	// event that is older than that round. A writer that makes no progress for longer than Patience is not in the list.
	Busy []*Stream
	// Patience is how long to wait for a writer that is in the middle of an event and makes no progress: it may be
	// stopped by a debugger.
	Patience time.Duration
	// Moved are the bytes of records that the latest Round passed on, Freed the chunks that it returned to the writers.
	Moved int64
	Freed int
}

// Reader returns a reader of the spool's streams; there must be only one.
func (s *Spool) Reader() *Reader {
	return &Reader{
		s: s, procs: s.array(wire.SegProcs, uint64(unsafe.Sizeof(wire.Proc{}))),
		streams: s.array(wire.SegStreams, uint64(unsafe.Sizeof(wire.Stream{}))),
		chunks:  s.array(wire.SegChunks, wire.ChunkSize),
		spill:   spill{path: s.spill, owner: s.info.Owner}, Patience: defaultPatience,
	}
}

// Seek sets the position from which a stream is read. It must be called before the first Round.
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

// InSpill returns a stream's chunks in the spill file, from number first up to, but not including, end. The file stays
// open and unchanged.
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

// Close releases the reader's memory.
func (r *Reader) Close() {
	r.procs.close()
	r.streams.close()
	r.chunks.close()
	r.spill.close()
}

// Open says whether a process has a stream that was not read completely.
func (r *Reader) Open(proc uint32) bool {
	for _, st := range r.slots {
		if st != nil && !st.ended && st.Proc == proc {
			return true
		}
	}
	return false
}

// Round passes to sink everything in the streams that was not passed before. over says whether a process has ended:
// then its streams have ended, too, and none of its writers is in the middle of an event.
func (r *Reader) Round(sink Sink, over func(proc uint32) bool) error {
	r.Busy, r.Moved, r.Freed = r.Busy[:0], 0, 0
	return guard(r.s.path, func() error {
		var spilled []uint64
		if atomic.LoadUint64(&r.s.header.SpillSize) != 0 {
			// Before the slots: a stream that is in the file now, and in no slot afterwards, is complete.
			if err := r.spill.scan(); err != nil {
				return err
			}
			spilled = r.spill.uids()
		}
		r.controlPending = r.someMissControl(over)
		// A stream waits while its process, or one in a slot before that, is not filled in.
		r.complete, r.waiting = r.published(r.complete), r.waiting[:0]
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

// maxTouched bounds how many chunks, of up to 64 KiB, are in the reader's memory: programs with many threads have many.
// Nothing is gained where there are no more than fewChunks.
const (
	maxTouched = 1024
	fewChunks  = 128
)

func (r *Reader) touch() {
	if r.touched++; r.touched > maxTouched {
		r.touched = 0
		if atomic.LoadUint32(&r.s.header.NextChunk) > fewChunks {
			r.chunks.forget()
		}
	}
}

// slot reads the stream in one slot of the table.
func (r *Reader) slot(sink Sink, i uint32, slot *wire.Stream, over func(uint32) bool) {
	state := atomic.LoadUint32(&slot.State)
	uid := atomic.LoadUint64(&slot.UID)
	st := r.slots[i]
	if st != nil && (st.UID != uid || state == wire.StreamFree) {
		// The agent itself has reused the slot. What is left of the stream is in the spill file by now.
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
		if slot.Proc >= r.complete && slot.Proc < atomic.LoadUint32(&r.s.header.NextProc) {
			r.waiting = append(r.waiting, uid)
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
		// The slot is damaged, unless a live writer has just reused it for another stream.
		if !r.s.write && (!slot.Holds() || state != wire.StreamLive && state != wire.StreamEnded) &&
			atomic.LoadUint64(&slot.UID) == uid && atomic.LoadUint32(&slot.State) == state {
			r.damaged(sink, st, errors.New("what the spool says of it is not what was written"))
		}
	}
	dead := over != nil && over(st.Proc)
	busy := atomic.LoadUint64(&slot.Busy) > wire.BusyControl && state == wire.StreamLive && !dead
	if r.controlPending && state == wire.StreamLive && !dead && !busy {
		atomic.CompareAndSwapUint64(&slot.Busy, 0, wire.BusyControl)
	}
	pos := atomic.LoadUint64(&slot.Pos)
	r.noteBusy(st, busy, pos)
	if lost := atomic.LoadUint64(&slot.Lost); lost > st.Lost {
		st.Lost = lost
	}
	if end := atomic.LoadUint64(&slot.End); end != 0 {
		st.End = end
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

// noteBusy keeps the list of writers that are in the middle of an event, without those that make no progress.
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

// orphans reads the streams that are only in the spill file: those that were there before the slots were read, and were
// in no slot.
func (r *Reader) orphans(sink Sink, spilled []uint64) error {
	if len(spilled) == 0 {
		return nil
	}
	here := map[uint64]bool{}
	for _, uid := range r.waiting {
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
		if !scanned { // what they wrote after the first scan
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

// Missing notes which spilled chunks were not found. It is for a spool that is only read, after the last Round.
func (r *Reader) Missing() {
	if n := r.s.Counters()[wire.CSpilled]; n > uint64(r.spill.chunks) {
		r.s.doubt("%d of %d chunks that were spilled to %s are missing or damaged", n-uint64(r.spill.chunks), n,
			r.spill.path)
	}
}

func (r *Reader) doubtful(sink Sink, st *Stream, records []byte) {
	n, _ := wire.Events(records)
	sink.Doubtful(st, n, fmt.Errorf("%s: thread %d: chunk %d is damaged: its %d events are left out", r.s.path, st.TID,
		st.seq, n))
}

func (r *Reader) damaged(sink Sink, st *Stream, err error) {
	st.bad = true
	sink.Damaged(st, fmt.Errorf("%s: thread %d: %w", r.s.path, st.TID, err))
}
