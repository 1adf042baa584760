package recording

import (
	"github.com/heaptap/heaptap/internal/event"
)

// stretch is a number of consecutive events on their way to the columns, with what was added to the tables since the stretch before.
// The caller of a Writer fills one while a goroutine encodes those before.
type stretch struct {
	list   []event.Plain
	n      int
	others []event.Event // those that are not plain
	tables tables
	last   bool   // of its block of events
	then   func() // of FlushLater
}

const (
	// stretchEvents is how many events a stretch has at most: so few that they stay in a cache, so many that waking up the
	// goroutine takes little.
	stretchEvents = 4096
	// maxStretches is how many stretches may be on their way to the columns.
	maxStretches = 3
)

// next returns the place of the next event.
func (w *Writer) next() *event.Plain {
	s := w.filling
	if s.n == len(s.list) {
		s = w.pass()
	}
	p := &s.list[s.n]
	s.n++
	return p
}

// pass hands the stretch over, which is full, and returns an empty one.
func (w *Writer) pass() *stretch {
	if w.filling.list == nil {
		w.filling.list = make([]event.Plain, stretchEvents)
	} else {
		w.handOver(false, nil)
	}
	return w.filling
}

// handOver gives the stretch to the goroutine that encodes, and begins the next one. If it is the last one of its block, that is written,
// and then then is called, unless it is nil.
func (w *Writer) handOver(last bool, then func()) {
	s := w.filling
	s.last, s.then = last, then
	s.tables, w.pending = w.pending, s.tables
	w.before += uint64(s.n)
	w.inBlock += s.n
	if last || w.inBlock == BlockEvents {
		w.inBlock = 0
	}
	if w.stretches == nil {
		w.stretches, w.encoded = make(chan *stretch, maxStretches), make(chan *stretch, maxStretches)
		go w.encodeAll()
	}
	w.stretches <- s
	w.passed++
	switch n := len(w.unused); {
	case n > 0:
		s = w.unused[n-1]
		w.unused = w.unused[:n-1]
	case w.passed < maxStretches:
		s = new(stretch)
	default:
		s = <-w.encoded
		w.passed--
	}
	if s.list == nil {
		s.list = make([]event.Plain, stretchEvents)
	}
	// A block's last event is a stretch's last one, too: what is added to the tables after it goes with the next block.
	s.list = s.list[:min(stretchEvents, BlockEvents-w.inBlock)]
	w.filling = s
}

// encodeAll takes stretches until there are no more.
func (w *Writer) encodeAll() {
	for s := range w.stretches {
		w.encode(s)
		if s.last || !w.enc.room() {
			w.hand(s.then)
			s.then = nil
		}
		w.encoded <- s
	}
}

// encode appends the events of a stretch to the columns, and empties it.
func (w *Writer) encode(s *stretch) {
	w.due.take(&s.tables)
	x, list, others := w.enc, s.list[:s.n], s.others
	for len(list) > 0 {
		if !x.room() {
			w.hand(nil)
		}
		if list[0].Way != event.NotPlain {
			list = list[x.plains(list):]
			continue
		}
		x.add(&others[0])
		list, others = list[1:], others[1:]
	}
	s.n, s.others = 0, s.others[:0]
}
