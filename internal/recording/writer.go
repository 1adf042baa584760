package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/tally"
)

// Options say what a recording holds beyond what every one holds.
type Options struct {
	Addresses bool // the address of every block
}

// Ending is what is known once the process has ended.
type Ending struct {
	End    int64  // ns since the recording's start; at least the time of the last event
	Exited bool   // the process ended by itself and Code is its status
	Code   int    // exit status
	Signal int    // the signal that ended it, or 0
	Status string // the same in words, for people; "" if it is not known how the process ended
	Health event.Health
	Tally  *tally.Tally // what the events sum up to, so that a reader need not count them again; nil: as the writer counted
}

// Writer writes one recording. It is not safe for concurrent use.
//
// An error while writing (a full disk) is kept: the file is cut after its last whole block, events that come later are
// counted by Tally and LostEvents, but not kept, and Flush and Finish return the error. Nothing blocks and nothing panics, so
// that a recorder can go on draining its target.
type Writer struct {
	name    string
	f       file
	enc     *encoder
	pay     *payload
	cols    columnWriter
	pending tables
	sums    summaries
	count   uint64 // events blocks in the file
	blocks  []indexEntry
	out     []byte
	end     int64 // of the last whole block
	seq     uint32
	written uint64 // events in the file
	lost    uint64
	err     error
	closed  bool
}

// file is what a Writer needs of an *os.File.
type file interface {
	io.WriterAt
	Truncate(size int64) error
	Close() error
}

type indexEntry struct {
	block
	head eventsHead  // of an events block
	sum  summaryHead // of a summary
}

// Create makes a recording at path, replacing a file that is there. With an error it returns a writer that only counts.
func Create(path string, p event.Process, opts Options) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		err = fmt.Errorf("cannot create the recording: %w", err)
		return &Writer{name: path, enc: newEncoder(opts.Addresses), err: err, closed: true}, err
	}
	w, err := newWriter(f, path, p, opts)
	if err != nil {
		f.Close()
		w.closed = true
	}
	return w, err
}

func newWriter(f file, name string, p event.Process, opts Options) (*Writer, error) {
	w := &Writer{name: name, f: f, enc: newEncoder(opts.Addresses)}
	if w.pay, w.err = newPayload(); w.err != nil {
		return w, w.err
	}
	h := fileHeader{major: VersionMajor, minor: VersionMinor, quantum: Quantum}.encode()
	if _, err := f.WriteAt(h, 0); err != nil {
		w.err = fmt.Errorf("cannot write the recording %s: %w", name, err)
		return w, w.err
	}
	w.end = headerSize
	return w, w.json(blockProcess, p)
}

// Thread, Module, PC, Node and Sample add to the tables. What an event names must be added before the event.

// Thread sets thread i. It may be set again, with what was learned later.
func (w *Writer) Thread(i uint32, t event.Thread) {
	w.pending.threads = append(w.pending.threads, entry[event.Thread]{i, t})
}

// Module adds a module, or replaces the one with the same id.
func (w *Writer) Module(m event.Module) { w.pending.modules = append(w.pending.modules, m) }

// PC sets pc i.
func (w *Writer) PC(i uint32, p event.PC) {
	w.pending.pcs = append(w.pending.pcs, entry[event.PC]{i, p})
}

// Node sets node id.
func (w *Writer) Node(id uint32, n event.Node) {
	w.pending.nodes = append(w.pending.nodes, entry[event.Node]{id, n})
}

// Sample adds a sample.
func (w *Writer) Sample(s event.Sample) { w.pending.samples = append(w.pending.samples, s) }

// Events adds events, in order. It retains nothing of them. Times are kept in units of Quantum, see Quantise.
func (w *Writer) Events(events []event.Event) error {
	for i := range events {
		if err := w.Event(&events[i]); err != nil && w.err == nil {
			return err
		}
	}
	return w.err
}

// Event adds one event, and retains nothing of it. An error of the disk is returned again and again, but the event is counted.
func (w *Writer) Event(e *event.Event) error {
	if e.Kind >= event.KindCount || e.Func >= 1<<funcBits || e.Flags >= 1<<flagBits {
		return fmt.Errorf("%s: event %d is none: kind %d, function %d, flags %#x", w.name,
			w.enc.nextEvent+w.enc.head.events, e.Kind, e.Func, e.Flags)
	}
	if !w.enc.room() {
		_ = w.Flush()
	}
	w.enc.add(e)
	return w.err
}

// Flush writes everything that was added so far: after it, a crash of the recorder loses nothing of that. Blocks that
// are not full cost space, so a recorder calls this when nothing happens or every few seconds, not more often.
func (w *Writer) Flush() error {
	w.flushTables()
	if n := w.enc.head.events; n > 0 {
		if w.err != nil {
			w.enc.next()
			w.lost += n
			return w.err
		}
		h := w.enc.finish(w.pay)
		if w.block(blockEvents, w.pay.bytes()) != nil {
			w.enc.next()
			w.lost += n
			return w.err
		}
		w.blocks[len(w.blocks)-1].head = h
		w.written += n
		w.summarise(&h, w.count, w.enc.block.Stacks())
		w.count++
		w.enc.next()
	}
	return w.err
}

// Tally returns what the events up to the latest Flush sum up to, whether they could be written or not.
func (w *Writer) Tally() *tally.Tally { return w.enc.tally }

func (w *Writer) flushTables() {
	t := &w.pending
	if w.closed {
		*t = tables{}
	}
	writeTable(w, blockThreads, &t.threads, encodeThreads)
	writeTable(w, blockModules, &t.modules, encodeModules)
	writeTable(w, blockPCs, &t.pcs, encodePCs)
	writeTable(w, blockNodes, &t.nodes, encodeNodes)
	writeTable(w, blockSamples, &t.samples, func(p *payload, _ *columnWriter, l []event.Sample) { encodeSamples(p, l) })
}

func writeTable[T any](w *Writer, typ blockType, list *[]T, encode func(*payload, *columnWriter, []T)) {
	all := *list
	for len(all) > 0 && w.err == nil {
		n := min(len(all), tableEntries)
		w.pay.reset()
		encode(w.pay, &w.cols, all[:n])
		if w.block(typ, w.pay.bytes()) == nil {
			all = all[n:]
		}
	}
	// What could not be written is kept: Finish tries again.
	*list = append((*list)[:0], all...)
}

// Symbols adds the frames of pcs, leaf to root: a function that was inlined comes before the one that it was inlined in.
func (w *Writer) Symbols(frames map[uint32][]event.Frame) error {
	pcs := make([]uint32, 0, len(frames))
	for pc := range frames {
		pcs = append(pcs, pc)
	}
	sort.Slice(pcs, func(i, j int) bool { return pcs[i] < pcs[j] })
	writeTable(w, blockSymbols, &pcs, func(p *payload, c *columnWriter, l []uint32) { encodeSymbols(p, c, l, frames) })
	return w.err
}

// LostEvents is the number of events that could not be written.
func (w *Writer) LostEvents() uint64 {
	if w.err != nil {
		return w.lost + w.enc.head.events
	}
	return w.lost
}

// Size is the length of the file so far, without what is not yet flushed.
func (w *Writer) Size() int64 { return w.end }

// Err is the error that ended the writing, or nil.
func (w *Writer) Err() error { return w.err }

// endingFile is Ending as it is stored.
type endingFile struct {
	End    int64        `json:"end"`
	Exited bool         `json:"exited"`
	Code   int          `json:"code"`
	Signal int          `json:"signal"`
	Status string       `json:"status,omitempty"`
	Health event.Health `json:"health"`
	Events uint64       `json:"events"` // in the recording
}

// Finish writes what is left and closes the file. It is called once, also after an error: the ending is small and may
// still fit.
func (w *Writer) Finish(e Ending) error {
	w.Flush()
	if w.closed {
		return errors.Join(w.err, errors.New("the recording is closed"))
	}
	first := w.err
	if first != nil {
		e.Health.LostEvents += w.lost
		e.Health.Notes = append(e.Health.Notes, fmt.Sprintf("the recording could not be written to its end: %v", first))
		w.err = nil
		w.flushTables()
	}
	if e.Tally == nil {
		e.Tally = w.enc.tally
	}
	if w.err == nil {
		w.pay.reset()
		w.pay.column(colA, e.Tally.Summary().Marshal())
		w.block(blockTally, w.pay.bytes())
	}
	if w.err == nil {
		w.json(blockEnding, endingFile{e.End, e.Exited, e.Code, e.Signal, e.Status, e.Health, w.written})
	}
	if w.err == nil {
		w.index()
	}
	if first == nil {
		first = w.err
	}
	w.closed = true
	if err := w.f.Close(); first == nil && err != nil {
		first = fmt.Errorf("cannot write the recording %s: %w", w.name, err)
	}
	w.err = first
	return first
}

// Abort closes the file as it is: what was flushed can be read.
func (w *Writer) Abort() error {
	if w.closed {
		return nil
	}
	w.closed = true
	return w.f.Close()
}

func (w *Writer) json(t blockType, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.block(t, b)
}

// block appends one block.
func (w *Writer) block(t blockType, payload []byte) error {
	if w.err != nil {
		return w.err
	}
	if len(payload) > maxPayload {
		w.err = fmt.Errorf("%s: a block of %s would be %d bytes, more than %d", w.name, t, len(payload), maxPayload)
		return w.err
	}
	b := block{typ: t, seq: w.seq, length: uint32(len(payload)), checksum: checksum(payload), offset: w.end}
	w.out = append(b.encode(w.out[:0]), payload...)
	if _, err := w.f.WriteAt(w.out, w.end); err != nil {
		w.err = fmt.Errorf("cannot write the recording %s: %w", w.name, err)
		if err := w.f.Truncate(w.end); err != nil {
			w.err = errors.Join(w.err, err)
		}
		return w.err
	}
	w.blocks = append(w.blocks, indexEntry{block: b})
	w.end = b.end()
	w.seq++
	return nil
}
