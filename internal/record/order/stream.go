package order

import (
	"slices"

	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/record/records"
)

const never = ^uint64(0)

// Stream is what was drained of a spool's stream and not merged yet.
type Stream struct {
	UID, Start uint64
	Proc       uint32
	TID, Level uint32
	Name       string
	Index      uint32 // number within its process, for the ledger
	Thread     uint32 // index in the recording
	Known      bool   // Thread is valid
	End        uint64 // timestamp of the thread's end; 0: not known

	pieces []journal.Piece
	head   int // first of them
	b      []byte
	at     int
	buf    []byte
	x      records.Extras

	// While it is merged: where in b the next record begins, with what belongs to it, and the latest one; -1: none.
	begins, lastBegins int

	time    uint64 // of the event at the head, if the stream is in the heap
	last    uint64 // of the latest event that was merged
	bound   uint64 // no event can come that is older
	held    uint64 // latest round in which its writer was busy with an event
	pending bool   // it is in the heap

	// Up to where its records were handed on, where the latest of them begins, and whether that is the begin of a
	// realloc.
	done, latest journal.Position
	began        bool
	moved        bool // since Merger.Moved

	badBytes bool // the loss of some was reported
}

// Resume is a stream that goes on from where a recorder that was killed has left it.
func Resume(s *journal.StreamState) *Stream {
	return &Stream{
		UID: s.UID, Start: s.Start, Proc: s.Proc, TID: s.TID, Level: s.Level, Known: s.Known, Thread: s.Thread,
		done: s.At,
	}
}

// Position is how far the stream is, for the purpose of going on from there: the begin of a realloc whose result has
// not come is read again.
func (s *Stream) Position() journal.Position {
	if s.began {
		return s.latest
	}
	return s.done
}

// State is the stream's part of a checkpoint.
func (s *Stream) State() journal.StreamState {
	return journal.StreamState{
		Origin: journal.Origin{UID: s.UID, Start: s.Start, TID: s.TID, Proc: s.Proc, Level: s.Level, At: s.Position()},
		Known:  s.Known, Thread: s.Thread,
	}
}

func before(a, b *Stream) bool { return a.time < b.time || a.time == b.time && a.UID < b.UID }

// streams is a heap of streams, the one with the oldest record first.
type streams []*Stream

func (h *streams) push(s *Stream) {
	list := append(*h, s)
	*h = list
	for i := len(list) - 1; i > 0; {
		up := (i - 1) / 2
		if !before(list[i], list[up]) {
			return
		}
		list[i], list[up] = list[up], list[i]
		i = up
	}
}

// pop removes the first stream.
func (h *streams) pop() {
	list := *h
	last := len(list) - 1
	list[0] = list[last]
	*h = slices.Delete(list, last, last+1)
	h.sink()
}

// sink puts the first stream where it belongs, after its time has changed.
func (h streams) sink() {
	for i := 0; ; {
		least := i
		for _, c := range [2]int{2*i + 1, 2*i + 2} {
			if c < len(h) && before(h[c], h[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
