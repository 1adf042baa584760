package replay

import (
	"encoding/binary"
	"fmt"
	"os"
)

// The layout of a plan, as agent/player/plan.h describes it.
const (
	planMagic   = 0x35304e414c505448 // "HTPLAN05"
	headBytes   = 56
	threadBytes = 16
	chunkBytes  = 16384 // with its head
	chunkHead   = 16
	maxWords    = (chunkBytes - chunkHead) / 4
	noEpoch     = ^uint32(0)
	maxSlots    = 1 << 27
	opBits      = 5
)

type op uint32

const (
	opFree op = iota
	opFreeOfOther
	opMalloc
	opCalloc
	opRealloc
	opReallocOfOther
	opAligned
	opWaitEmpty
	opLarge
	opEpoch
	opTurn
	opPass
	opSpawn
	opTime
	opBegin
	opPool
	opTouch
	opKept
	opEnd
)

// The functions of opAligned.
const (
	funcMemalign = iota
	funcAlignedAlloc
	funcPosixMemalign
)

// planFile writes a plan.
type planFile struct {
	f        *os.File
	size     uint64
	streams  []*stream
	buffered int    // words in all streams
	chunks   uint32 // of pools
}

// stream is the operations of a thread.
type stream struct {
	number uint32
	tid    uint32
	thread uint32   // the first recorded thread that it plays
	words  []uint32 // those that are not in the file yet
	first  uint64   // where its first chunk is; 0: there is none yet
	last   uint64   // and its last one
	slots  slotList
	epoch  uint32 // that it is in
	stays  bool   // the thread lives until an opEnd, or to the end
	time   int64  // of its last opTime
	ops    uint64
}

// maxBuffered bounds the words of all streams that wait for their chunk to be full.
const maxBuffered = 16 << 20

// add appends an operation.
func (p *planFile) add(s *stream, o op, arg uint32, more ...uint32) error {
	need := 1 + len(more)
	belongs := o == opLarge || o == opTouch // it stays with the operation that it belongs to
	if belongs {
		need += 7
	}
	if len(s.words)+need > maxWords {
		if err := p.flush(s); err != nil {
			return err
		}
	}
	s.words = append(s.words, uint32(o)|arg<<opBits)
	s.words = append(s.words, more...)
	if p.buffered += 1 + len(more); p.buffered > maxBuffered && !belongs {
		for _, s := range p.streams { // there are thousands of threads
			if err := p.flush(s); err != nil {
				return err
			}
			s.words = nil
		}
	}
	return nil
}

// leave has a stream leave the epoch that it is in, and enter none.
func (p *planFile) leave(s *stream) error {
	if s.epoch == noEpoch {
		return nil
	}
	epoch := s.epoch
	s.epoch = noEpoch
	return p.add(s, opEpoch, 0, epoch, noEpoch)
}

// flush writes a stream's chunk.
func (p *planFile) flush(s *stream) error {
	if len(s.words) == 0 {
		return nil
	}
	b := make([]byte, chunkHead, chunkHead+4*len(s.words))
	binary.LittleEndian.PutUint32(b[8:], uint32(len(s.words)))
	binary.LittleEndian.PutUint32(b[12:], s.number)
	for _, w := range s.words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	at := p.size
	if err := p.write(b); err != nil {
		return err
	}
	if s.first == 0 {
		s.first = at
	} else if _, err := p.f.WriteAt(binary.LittleEndian.AppendUint64(nil, at), int64(s.last)); err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	s.last = at
	p.buffered -= len(s.words)
	s.words = s.words[:0]
	return nil
}

// write appends to the file.
func (p *planFile) write(b []byte) error {
	n, err := p.f.WriteAt(b, int64(p.size))
	p.size += uint64(n)
	if err != nil {
		return fmt.Errorf("writing the plan, which has %d MB so far; TMPDIR names another folder for it: %w",
			p.size>>20, err)
	}
	return nil
}

// finish writes what is left, the tables and the head.
func (p *planFile) finish(slots, window, timed uint32, epochs []uint32) error {
	for _, s := range p.streams {
		if err := p.flush(s); err != nil {
			return err
		}
	}
	p.size = (p.size + 15) &^ 15
	threadsAt := p.size
	var b []byte
	for _, s := range p.streams {
		b = binary.LittleEndian.AppendUint64(b, s.first)
		b = binary.LittleEndian.AppendUint32(b, s.tid)
		stays := uint32(0)
		if s.stays {
			stays = 1
		}
		b = binary.LittleEndian.AppendUint32(b, stays)
	}
	epochsAt := threadsAt + uint64(len(b))
	for _, n := range epochs {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	if err := p.write(b); err != nil {
		return err
	}
	b = nil
	for _, v := range [...]uint64{planMagic, p.size, threadsAt, epochsAt} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	for _, v := range [...]uint32{uint32(len(p.streams)), slots, uint32(len(epochs)), window, p.chunks, timed} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	if _, err := p.f.WriteAt(b, 0); err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	return nil
}
