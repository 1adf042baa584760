package recording

import "github.com/heaptap/heaptap/internal/event"

// chunk is consecutive events on their way to the columns, with what was added to the tables since the chunk before.
// The caller of a Writer fills one while a goroutine encodes those before.
type chunk struct {
	list   []event.Row
	n      int
	others []event.Event // those that are not plain
	tables pendingTables
	last   bool   // of its block of events
	then   func() // of FlushLater
}

const (
	// chunkEvents is how many events a chunk has at most: so few that they stay in a cache, so many that waking up the
	// goroutine takes little.
	chunkEvents = 4096
	// maxChunks is how many chunks may be on their way to the columns.
	maxChunks = 3
)

// next returns the place of the next event.
func (w *Writer) next() *event.Row {
	s := w.filling
	if s.n == len(s.list) {
		s = w.nextChunk()
	}
	p := &s.list[s.n]
	s.n++
	return p
}

// nextChunk sends the chunk, which is full, and returns an empty one.
func (w *Writer) nextChunk() *chunk {
	if w.filling.list == nil {
		w.filling.list = make([]event.Row, chunkEvents)
	} else {
		w.sendChunk(false, nil)
	}
	return w.filling
}

// sendChunk sends the chunk to the goroutine that encodes, and begins the next one. After the last chunk of a block the
// block is written, and then is called, unless it is nil.
func (w *Writer) sendChunk(last bool, then func()) {
	s := w.filling
	s.last, s.then = last, then
	s.tables, w.pending = w.pending, s.tables
	w.before += uint64(s.n)
	w.inBlock += s.n
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
	if s.list == nil {
		s.list = make([]event.Row, chunkEvents)
	}
	// A block's last event is a chunk's last one, too: what is added to the tables after it goes with the next block.
	s.list = s.list[:min(chunkEvents, BlockEvents-w.inBlock)]
	w.filling = s
}

// encodeAll encodes chunks until there are no more.
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

// encode appends the events of a chunk to the columns, and empties it.
func (w *Writer) encode(s *chunk) {
	w.due.moveFrom(&s.tables)
	x, list, others := w.enc, s.list[:s.n], s.others
	for len(list) > 0 {
		if !x.Room() {
			w.submitBlock(nil)
		}
		if list[0].Kind != event.RowOther {
			list = list[x.AddPlain(list):]
			continue
		}
		x.Add(&others[0])
		list, others = list[1:], others[1:]
	}
	s.n, s.others = 0, s.others[:0]
}
