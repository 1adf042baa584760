package recording

import "github.com/heaptap/heaptap/internal/event"

// chunk is consecutive events that are still to be encoded, with what was added to the tables since the chunk before.
// The caller of a Writer fills one while a goroutine encodes those before.
type chunk struct {
	event.Batch     // each event has a row
	room        int // how many it takes
	tables      pendingTables
	last        bool   // of its block of events
	then        func() // of FlushLater
}

const (
	// chunkEvents is how many events a chunk has at most: few enough that they stay in a cache, and so many that waking
	// up the goroutine costs little.
	chunkEvents = 4096
	// firstEvents is for how many events a chunk has memory at first: most processes of a build or a script have few.
	firstEvents = 128
	// maxChunks is how many chunks may wait to be encoded.
	maxChunks = 3
)

// nextChunk sends the chunk, which is full, and begins the next one.
func (w *Writer) nextChunk() {
	if w.filling.Rows == nil {
		w.filling.empty(chunkEvents)
	} else {
		w.sendChunk(false, nil)
	}
}

// sendChunk sends the current chunk to the goroutine that encodes, and begins the next one. If it is the last chunk of
// its block, the goroutine writes the block and calls then, unless that is nil.
func (w *Writer) sendChunk(last bool, then func()) {
	s := w.filling
	s.last, s.then = last, then
	s.tables, w.pending = w.pending, s.tables
	w.before += uint64(len(s.Rows))
	w.inBlock += len(s.Rows)
	if last || w.inBlock == BlockEvents {
		w.inBlock = 0
	}
	if w.chunks == nil {
		w.chunks, w.encoded = make(chan *chunk, maxChunks), make(chan *chunk, maxChunks)
		go w.encodeAll()
	}
	w.chunks <- s
	w.inFlight++
	switch n := len(w.unused); {
	case n > 0:
		s = w.unused[n-1]
		w.unused = w.unused[:n-1]
	case w.inFlight < maxChunks:
		s = new(chunk)
	default:
		s = <-w.encoded
		w.inFlight--
	}
	// A block's last event is a chunk's last one, too: what is added to the tables after it goes with the next block.
	s.empty(min(chunkEvents, BlockEvents-w.inBlock))
	w.filling = s
}

// encodeAll encodes chunks until w.chunks is closed.
func (w *Writer) encodeAll() {
	for s := range w.chunks {
		w.encode(s)
		if s.last || !w.enc.Room() {
			w.submitBlock(s.then)
			s.then = nil
		}
		w.encoded <- s
	}
}

// encode appends the events of a chunk to the columns.
func (w *Writer) encode(s *chunk) {
	w.due.moveFrom(&s.tables)
	rest := s.Batch
	for w.enc.Append(&rest); len(rest.Rows) > 0; w.enc.Append(&rest) {
		w.submitBlock(nil)
	}
}

// empty makes the chunk one that takes so many events, in the memory that it has.
func (s *chunk) empty(room int) {
	if s.Rows == nil && room > 0 {
		s.Rows = make([]event.Row, 0, firstEvents)
	}
	s.room = room
	s.Rows, s.Others, s.Full = s.Rows[:0], s.Others[:0], s.Full[:0]
}

// rows adds plain events, and returns those for which there is no room.
func (s *chunk) rows(list []event.Row) (rest []event.Row) {
	n := min(len(list), s.room-len(s.Rows))
	s.Rows = append(s.Rows, list[:n]...)
	return list[n:]
}

// full adds an event of any kind. There must be room.
func (s *chunk) full(e *event.Full) {
	s.Full = append(s.Full, *e)
	s.Others = append(s.Others, event.Other{Row: len(s.Rows), End: len(s.Full)})
	s.Rows = append(s.Rows, event.Row{Kind: event.RowOther})
}
