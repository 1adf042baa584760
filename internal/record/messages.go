package record

import (
	"slices"
	"sync"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/record/order"
	"github.com/heaptap/heaptap/internal/record/sampler"
	"github.com/heaptap/heaptap/internal/spool"
)

// message is what the drain and the sampler have for a worker. It is delivered in the worker's goroutine, in the order
// in which messages were pushed.
type message interface{ deliver(w *worker) }

// piecesArrived are records of streams. Nearly all messages would be one piece; as a list they cost next to nothing.
type piecesArrived struct{ list []arrival }

type arrival struct {
	stream *order.Stream
	piece  journal.Piece
}

func (m *piecesArrived) deliver(w *worker) {
	for i := range m.list {
		a := &m.list[i]
		if p := w.process(a.stream); p != nil {
			p.order.Arrive(a.stream, a.piece)
		} else {
			a.piece.Release()
		}
	}
}

// eventsLost says that so many events of a stream were not kept.
type eventsLost struct {
	stream *order.Stream
	events uint64
}

func (m *eventsLost) deliver(w *worker) {
	if p := w.process(m.stream); p != nil {
		p.health.lost += m.events
	}
}

// streamEnded says that a stream has ended.
type streamEnded struct {
	stream *order.Stream
	lost   uint64 // events, by its writer
	end    uint64 // timestamp of the thread's end; 0: its process has ended before
}

func (m *streamEnded) deliver(w *worker) {
	if p := w.process(m.stream); p != nil {
		if m.lost > 0 {
			p.health.byStream[m.stream.UID] = m.lost
		}
		m.stream.End = m.end
		p.threadExits(m.stream)
		delete(p.streams, m.stream.UID)
		if m.stream.Level == 0 && m.stream.Known {
			p.layout.DropStack(m.stream.Thread)
		}
	}
}

// roundEnded is one look at all streams of a spool.
type roundEnded struct {
	number  uint64
	clock   uint64          // read before the look
	at      time.Time       // likewise
	busy    []*order.Stream // whose writers were busy with an event
	counter uint64          // a reading of both clocks, if not 0
	mono    uint64
}

func (m *roundEnded) deliver(w *worker) {
	for _, p := range w.procs {
		if p != nil && !p.ended {
			p.round(m)
		}
	}
}

// processBegan says that a process has appeared.
type processBegan struct {
	info   spool.Process
	layout *sampler.Layout
}

func (m *processBegan) deliver(w *worker) {
	slot := m.info.Slot
	for uint32(len(w.procs)) <= slot {
		w.procs = append(w.procs, nil)
	}
	if w.procs[slot] == nil {
		w.procs[slot] = w.newProcess(m.info, m.layout, w.main && slot == 0)
	}
}

// processPartial says that not every allocation of a process is recorded from now on.
type processPartial struct{ slot uint32 }

func (m *processPartial) deliver(w *worker) {
	if p := w.at(m.slot); p != nil && !p.ended {
		p.ledger.Partial = true
	}
}

// processEnded says that a process has ended, and that all of its records have come.
type processEnded struct {
	slot   uint32
	status Status
	when   uint64 // counter when that was noticed; 0: not known
}

func (m *processEnded) deliver(w *worker) {
	w.endCounter = m.when
	if p := w.at(m.slot); p != nil {
		p.finish(m.status)
	}
	w.finished.Add(1)
	w.run.alarm.Ring()
}

// mainFound says that the spool is the main process's.
type mainFound struct{}

func (m *mainFound) deliver(w *worker) {
	w.main = true
	if p := w.at(0); p != nil {
		p.main = true
	}
}

// allSlots stands for all processes of a spool.
const allSlots = ^uint32(0)

// markSet is a mark that did not come in a stream.
type markSet struct {
	slot   uint32
	name   string
	source event.MarkSource
	mono   uint64 // time of CLOCK_MONOTONIC
}

func (m *markSet) deliver(w *worker) {
	for slot, p := range w.procs {
		if p != nil && !p.ended && (m.slot == allSlots || m.slot == uint32(slot)) {
			at := p.order.Clock.Since(m.mono)
			p.notes.Mark(event.Mark{Name: m.name, Time: at, Cut: event.NoCut, Source: m.source})
		}
	}
}

// noteAdded is a sentence for all recordings of the spool.
type noteAdded struct{ text string }

func (m *noteAdded) deliver(w *worker) { w.note(m.text) }

// flushWanted asks for everything to be written that has come.
type flushWanted struct {
	slot  uint32
	stack uint32    // of the spool, or 0
	nodes *[]uint32 // if not nil: gets the recording's numbers of the process's stacks
	// done is called with the recording's number of the stack.
	done func(stack uint32, err error)
}

func (m *flushWanted) deliver(w *worker) {
	var stack uint32
	var err error
	if p := w.at(m.slot); p != nil && !p.ended {
		if m.stack != 0 {
			stack = p.stacks.Number(m.stack)
		}
		if m.nodes != nil {
			*m.nodes = slices.Clone(p.stacks.Known)
		}
		err = p.flushNow()
	}
	m.done(stack, err)
}

// sampleTaken is how much memory a process has.
type sampleTaken struct {
	slot   uint32
	mono   uint64
	sample event.Sample
}

func (m *sampleTaken) deliver(w *worker) {
	if p := w.at(m.slot); p != nil && !p.ended {
		m.sample.Time = p.order.Clock.Since(m.mono)
		p.memory.sample(m.sample)
		p.watch.Sample(&m.sample)
	}
}

// pagesRead is which pages of a process's modules are in memory.
type pagesRead struct {
	slot uint32
	mono uint64
	list []event.Residency
}

func (m *pagesRead) deliver(w *worker) {
	if p := w.at(m.slot); p != nil && !p.ended {
		p.memory.resident(p.order.Clock.Since(m.mono), m.list)
	}
}

// stacksRead is how far down a process's stacks were touched.
type stacksRead struct {
	slot uint32
	mono uint64
	list []sampler.StackReading
}

func (m *stacksRead) deliver(w *worker) {
	if p := w.at(m.slot); p != nil && !p.ended {
		p.memory.stacks(p.order.Clock.Since(m.mono), m.list, len(p.threads.list))
	}
}

// areasRead is the list of a process's mappings.
type areasRead struct {
	slot uint32
	mono uint64
	list []sampler.Area
}

func (m *areasRead) deliver(w *worker) {
	if p := w.at(m.slot); p != nil && !p.ended {
		p.memory.readings = append(p.memory.readings, areasAt{p.order.Clock.Since(m.mono), m.list})
	}
}

// heapRead is which pages of a process's memory are in memory.
type heapRead struct {
	slot    uint32
	mono    uint64
	reading event.PageReading
}

func (m *heapRead) deliver(w *worker) {
	if p := w.at(m.slot); p != nil && !p.ended {
		m.reading.Time = max(0, p.order.Clock.Since(m.mono))
		p.out.PageReading(m.reading)
	}
}

// readings leaves what is read of a process's memory to its worker.
type readings struct {
	w    *worker
	slot uint32
}

func (r readings) Sample(mono uint64, s event.Sample) {
	r.w.queue.leave(&sampleTaken{r.slot, mono, s})
}

func (r readings) Residency(mono uint64, list []event.Residency) {
	r.w.queue.leave(&pagesRead{r.slot, mono, list})
}

func (r readings) Stacks(mono uint64, list []sampler.StackReading) {
	r.w.queue.leave(&stacksRead{r.slot, mono, list})
}

func (r readings) Areas(mono uint64, list []sampler.Area) {
	r.w.queue.leave(&areasRead{r.slot, mono, list})
}

// queue carries messages from the drain and the sampler to one worker. It is not bounded: what is large in it lies in
// the store, which is.
type queue struct {
	mu     sync.Mutex
	cond   *sync.Cond
	list   []message
	ready  bool // something was pushed
	closed bool
}

func newQueue() *queue {
	q := &queue{}
	q.cond = sync.NewCond(&q.mu)
	return q
}

func (q *queue) push(list ...message) {
	if len(list) == 0 {
		return
	}
	q.mu.Lock()
	q.list = append(q.list, list...)
	q.ready = true
	q.mu.Unlock()
	q.cond.Signal()
}

// leave adds a message that the worker need not wake up for.
func (q *queue) leave(m message) {
	q.mu.Lock()
	q.list = append(q.list, m)
	q.mu.Unlock()
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.cond.Signal()
}

// take waits for messages and returns all of them; none when the queue is closed and empty. The slice that was returned
// before is used again.
func (q *queue) take(old []message) []message {
	clear(old)
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && !q.ready {
		q.cond.Wait()
	}
	q.ready = false
	list := q.list
	q.list = old[:0]
	return list
}

func (r readings) Pages(mono uint64, p event.PageReading) {
	r.w.queue.leave(&heapRead{r.slot, mono, p})
}
