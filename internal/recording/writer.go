package recording

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/column"
	"github.com/heaptap/heaptap/internal/tally"
)

// Options say what a recording holds beyond what every one holds.
type Options struct {
	Addresses bool // the address of every block
	// Mode is the file's permissions; 0: only its owner may read it.
	Mode fs.FileMode
	// Births, if it is not nil, gets the allocations of each block of events once that was written, or could not be:
	// the number of the first, and their addresses, 0 for those that have ended within the block. It must not keep the
	// list.
	Births func(first uint64, addrs []uint64)
	// Fold says what is kept of a long run.
	Fold Fold
}

// Ending is what is known once the process has ended.
type Ending struct {
	End    int64  // ns since the recording's start; at least the time of the last event
	Exited bool   // the process ended by itself and Code is its status
	Code   int    // exit status
	Signal int    // the signal that ended it, or 0
	Status string // the same in words, for people; "" if it is not known how the process ended
	Health event.Health
	// What the events sum up to, so that a reader need not count them again; nil: as the writer counted.
	Tally *tally.Tally
}

// How says in a few words how the process ended; "" if that is not known.
func (e *Ending) How() string {
	switch {
	case e.Status != "":
		return e.Status
	case e.Signal != 0:
		return fmt.Sprintf("killed by signal %d", e.Signal)
	case e.Exited:
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return ""
}

// Writer writes one recording. It is not safe for concurrent use.
//
// An error while writing (a full disk) is kept: the file is cut after its last whole block, events that come later are
// counted by Tally and LostEvents, but not kept, and Flush and Finish return the error. Nothing panics, and nothing
// waits but for the disk, so that a recorder can go on draining its target.
type Writer struct {
	name     string
	opts     Options
	process  event.Process
	app      *appender
	closed   bool
	broken   atomic.Pointer[error] // app's error
	sampling event.Sampling

	handed     uint64
	allocs     uint64
	liveBytes  uint64
	liveBlocks uint64
	one        [1]event.Full // that is being appended

	enc     *block.Encoder
	pending pendingTables // to be written with the block that is being encoded, or before
	pages   pageWriter
	// Blocks that are full are packed and written by another goroutine, from the first on: jobs are on their way to
	// it and come back by spare. While none is on its way, app is the caller's.
	jobs    chan *job
	spare   chan *job
	idle    []*job
	writing int // jobs on their way
}

// job is a block to be written, and the tables that it refers to.
type job struct {
	tables pendingTables
	block  block.Sealed
	counts *tally.Summary // what all events up to the block sum up to; nil: not needed
	then   func()
}

// maxJobs is how many blocks may be waiting to be written; each takes some megabytes.
const maxJobs = 2

// file is what a Writer needs of an *os.File.
type file interface {
	io.WriterAt
	Truncate(size int64) error
	Close() error
}

// OwnerOnly are a recording's permissions if nothing else is asked for: it holds arguments, paths and names.
const OwnerOnly fs.FileMode = 0o600

// Create makes a recording at path, replacing a file that is there. With an error it returns a writer that only counts.
func Create(path string, p event.Process, opts Options) (*Writer, error) {
	f, err := private.Create(path, cmp.Or(opts.Mode, OwnerOnly))
	if err != nil {
		w := writerOf(path, p, opts)
		w.app, w.closed = &appender{name: path}, true
		return w, w.check(fmt.Errorf("cannot create the recording: %w", err))
	}
	_, _ = private.Lock(f) // for readers, who see that it is being written; without it they cannot tell
	w, err := newWriter(osFile{f}, path, p, opts)
	if err != nil {
		f.Close()
		w.closed = true
	}
	return w, err
}

// Reopen opens the file that is written for reading, wherever its name leads by now. Not after Finish or Abort.
func (w *Writer) Reopen() (*os.File, error) {
	f, ok := w.app.f.(osFile)
	if !ok {
		return nil, errors.New("the recording is not a file")
	}
	return os.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
}

// writerOf returns a writer without an appender.
func writerOf(name string, p event.Process, opts Options) *Writer {
	return &Writer{name: name, enc: block.NewEncoder(opts.Addresses, opts.Births != nil), opts: opts, process: p,
		sampling: p.Sampling}
}

func newWriter(f file, name string, p event.Process, opts Options) (*Writer, error) {
	w := writerOf(name, p, opts)
	var err error
	if w.app, err = newAppender(f, name); err == nil {
		w.app.fold = newFolder(f, opts.Fold)
		err = w.app.json(blockProcess, p)
	}
	return w, w.check(err)
}

// check takes note of an error of the appender.
func (w *Writer) check(err error) error {
	if err != nil && w.broken.Load() == nil {
		w.app.err = err
		w.broken.Store(&err)
	}
	return err
}

// Err is the error that ended the writing, or nil.
func (w *Writer) Err() error {
	if e := w.broken.Load(); e != nil {
		return *e
	}
	return nil
}

// Sampling says how samples are chosen, if that was not known when the recording was begun. It is said once, before the
// first Sampled event.
func (w *Writer) Sampling(s event.Sampling) {
	w.sampling = s
	p := w.process
	p.Sampling = s
	w.pending.process = &p
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

// Mark adds a mark. The thread that it names must be added before.
func (w *Writer) Mark(m event.Mark) { w.pending.marks = append(w.pending.marks, m) }

// Region adds a note that a region was entered or left. Its thread must be added before.
func (w *Writer) Region(n event.RegionNote) { w.pending.regions = append(w.pending.regions, n) }

// Range adds a name of a range of memory. Its thread must be added before.
func (w *Writer) Range(n event.NamedRange) { w.pending.ranges = append(w.pending.ranges, n) }

// StackUse adds a reading of the memory of a thread's stack. What it names must be added before.
func (w *Writer) StackUse(u event.StackUse) { w.pending.stackUse = append(w.pending.stackUse, u) }

// Resident adds what the resident set consisted of at one moment. What it names must be added before.
func (w *Writer) Resident(parts []event.ResidentPart) {
	w.pending.resident = append(w.pending.resident, parts...)
}

// Pairs adds allocations and deallocations that do not belong together.
func (w *Writer) Pairs(list []event.Pair) error { return writeNow(w, blockPairs, list, &pairTable) }

// Pools adds what the program's own pools came to.
func (w *Writer) Pools(list []event.Pool) error { return writeNow(w, blockPools, list, &poolTable) }

// Residency adds what was in memory of the modules.
func (w *Writer) Residency(list []event.Residency) error {
	return writeNow(w, blockResidency, list, &residencyTable)
}

// variableRows is the largest number of variables in a block: their names may be long.
const variableRows = 2048

// Variables adds static variables, and the sections that they and others lie in.
func (w *Writer) Variables(list []event.Variable, sections []event.DataSection) error {
	for part := range slices.Chunk(list, variableRows) {
		if err := writeNow(w, blockVariables, part, &variableTable); err != nil {
			return err
		}
	}
	return writeNow(w, blockDataSections, sections, &dataSectionTable)
}

// Counts writes what the process's threads have counted so far. It replaces what was written of it before.
func (w *Writer) Counts(c *event.Counts) error {
	w.wait()
	if w.Err() == nil && len(c.Rows) > 0 {
		encodeCounts(w.app.pay, c)
		_ = w.check(w.app.block(blockCounts, w.app.pay.Bytes()))
	}
	return w.Err()
}

// writeNow writes a table behind all that was added so far.
func writeNow[T any](w *Writer, typ blockType, list []T, t *column.Table[T]) error {
	w.wait()
	if w.Err() == nil {
		writeTable(w.app, typ, &list, t)
		_ = w.check(w.app.err)
	}
	return w.Err()
}

// Events adds events, in order. It retains nothing of them. Times are kept in units of Quantum, see Quantise.
func (w *Writer) Events(events []event.Event) error {
	for i := range events {
		if err := w.Event(&events[i]); err != nil && w.Err() == nil {
			return err
		}
	}
	return w.Err()
}

// Event adds one event, and retains nothing of it; a sample gets its weight. An error of the disk is returned again and
// again, but the event is counted.
func (w *Writer) Event(e *event.Event) error {
	if e.Kind >= event.KindCount || e.Func >= 1<<block.FuncBits || e.Flags >= 1<<block.FlagBits {
		return fmt.Errorf("%s: event %d is none: kind %d, function %d, flags %#x", w.name,
			w.Handed(), e.Kind, e.Func, e.Flags)
	}
	full := event.Full{Event: *e, Allocs: w.allocs}
	w.full(&full)
	*e = full.Event
	return w.Err()
}

// Append adds events, and retains nothing of them. They must be such as a ledger makes: Event adds others. Times are in
// units of Quantum in rows, and in nanoseconds in full events, of which those that are samples get their weights. The
// stacks of rows are not known any more.
func (w *Writer) Append(b *event.Batch) {
	w.allocs += b.Allocs
	w.liveBlocks += 2*b.Allocs - b.Plain
	w.liveBytes += b.Bytes
	for rows, full := range b.Parts() {
		w.encode(rows, nil)
		for i := range full {
			w.full(&full[i])
		}
	}
}

// encode appends events to the columns at once, while they are in a cache, and hands over blocks that are full.
func (w *Writer) encode(rows []event.Row, full []event.Full) {
	w.handed += uint64(len(rows) + len(full))
	for len(rows)+len(full) > 0 {
		if rows, full = w.enc.Append(rows, full); !w.enc.Room() {
			w.submitBlock(nil)
		}
	}
}

// full adds an event of any kind.
func (w *Writer) full(e *event.Full) {
	if e.Flags&event.Sampled != 0 {
		ref := e.Ref
		if e.Kind == event.Alloc {
			ref = e.Allocs
		}
		w.sampling.Weigh(&e.Event, ref)
	}
	switch blocks, bytes := e.Weight(); {
	case e.Kind == event.Alloc:
		w.allocs++
		w.liveBlocks += blocks
		w.liveBytes += bytes
	case e.Kind == event.Free:
		w.liveBlocks -= blocks
		w.liveBytes -= bytes
	}
	w.one[0] = *e
	w.encode(nil, w.one[:])
}

// Room is how many events the block that is being filled takes before it is handed over to be written.
func (w *Writer) Room() int { return BlockEvents - int(w.enc.Head.Events) }

// Handed is the number of events that were added so far.
func (w *Writer) Handed() uint64 { return w.handed }

// Added is what events add up to.
type Added struct {
	Events uint64
	Allocs uint64 // Alloc events
	Bytes  uint64 // requested bytes that are live after them
}

// Added returns what was added so far, written or not.
func (w *Writer) Added() Added { return Added{w.Handed(), w.allocs, w.liveBytes} }

// Add adds an event.
func (s *Added) Add(e *event.Event) {
	s.Events++
	switch _, bytes := e.Weight(); e.Kind {
	case event.Alloc:
		s.Allocs++
		s.Bytes += bytes
	case event.Free:
		s.Bytes -= bytes
	}
}

// Live returns what is live after the events that were added so far, in requested bytes and blocks.
func (w *Writer) Live() (bytes, blocks uint64) { return w.liveBytes, w.liveBlocks }

// Allocations is the number of Alloc events that were added so far.
func (w *Writer) Allocations() uint64 { return w.allocs }

// FlushLater is a Flush that does not wait. When everything is written, or could not be, it calls then, if that is not
// nil: from another goroutine, but never at the same time as another then or Options.Births.
func (w *Writer) FlushLater(then func()) { w.submitBlock(then) }

// submitBlock sends the block and its tables to the goroutine that writes.
func (w *Writer) submitBlock(then func()) {
	if w.jobs == nil {
		w.jobs, w.spare = make(chan *job, maxJobs), make(chan *job, maxJobs)
		go w.work()
	}
	j := w.job()
	j.then = then
	w.jobs <- j
	w.writing++
}

// job seals the block.
func (w *Writer) job() *job {
	var j *job
	switch n := len(w.idle); {
	case n > 0:
		j = w.idle[n-1]
		w.idle = w.idle[:n-1]
	case w.writing < maxJobs:
		j = new(job)
	default:
		j = <-w.spare
		w.writing--
	}
	w.enc.Seal(&j.block)
	if j.block.Head.Events > 0 && w.app.fold.asks() {
		j.counts = w.enc.Tally.Summary()
	}
	if w.closed {
		w.pending = pendingTables{}
	}
	j.tables, w.pending = w.pending, j.tables // which are empty: they were written, or are kept by app
	return j
}

func (w *Writer) work() {
	for j := range w.jobs {
		w.write(j)
		w.spare <- j
	}
}

// write appends what a job has.
func (w *Writer) write(j *job) {
	_ = w.check(w.app.tables(&j.tables))
	if j.block.Head.Events > 0 {
		_ = w.check(w.app.events(&j.block))
		if w.opts.Births != nil {
			w.opts.Births(j.block.Head.FirstAlloc, j.block.Births)
		}
	}
	if j.then != nil {
		j.then()
		j.then = nil
	}
	if j.block.Head.Events > 0 {
		w.app.tend(j.counts) // last, since it may take a while
		_ = w.check(w.app.err)
	}
	j.counts = nil
}

// wait returns when nothing is on its way to be written.
func (w *Writer) wait() {
	for ; w.writing > 0; w.writing-- {
		w.idle = append(w.idle, <-w.spare)
	}
}

// Flush writes everything that was added so far: after it, a crash of the recorder loses nothing of that. Blocks that
// are not full cost space, so a recorder calls this when nothing happens or every few seconds, not more often.
func (w *Writer) Flush() error {
	w.wait()
	j := w.job()
	w.write(j)
	w.idle = append(w.idle, j)
	return w.Err()
}

// Tally returns what the events up to the latest Flush sum up to, whether they could be written or not.
func (w *Writer) Tally() *tally.Tally { return w.enc.Tally }

// Symbols adds the frames of pcs, leaf to root: a function that was inlined comes before the one that it was inlined
// in.
func (w *Writer) Symbols(frames map[uint32][]event.Frame) error {
	return writeNow(w, blockSymbols, symbolsOf(frames), &symbolTable)
}

// LostEvents is the number of events that could not be written.
func (w *Writer) LostEvents() uint64 {
	w.wait()
	if w.Err() != nil {
		return w.app.lost + w.enc.Head.Events
	}
	return w.app.lost
}

// Size is the length of the file so far, without what is not yet flushed.
func (w *Writer) Size() int64 {
	w.wait()
	return w.app.end
}

// Finish writes what is left and closes the file. It is called once, also after an error: the ending is small and may
// still fit.
func (w *Writer) Finish(e Ending) error {
	_ = w.Flush()
	if w.closed {
		w.stop()
		return errors.Join(w.Err(), errors.New("the recording is closed"))
	}
	first := w.Err()
	if first != nil {
		e.Health.LostEvents += w.app.lost
		e.Health.Notes = append(e.Health.Notes, fmt.Sprintf("the recording could not be written to its end: %v", first))
	}
	if e.Tally == nil {
		e.Tally = w.enc.Tally
	}
	if err := w.app.finish(e); first == nil {
		first = err
	}
	if err := w.close(); first == nil && err != nil {
		first = fmt.Errorf("cannot write the recording %s: %w", w.name, err)
	}
	_ = w.check(first)
	return first
}

// Abort closes the file as it is: what was flushed can be read.
func (w *Writer) Abort() error {
	w.wait()
	if w.closed {
		w.stop()
		return nil
	}
	return w.close()
}

func (w *Writer) close() error {
	w.closed = true
	w.stop()
	return w.app.f.Close()
}

// stop ends the goroutine, for which nothing is on its way.
func (w *Writer) stop() {
	if w.jobs != nil {
		close(w.jobs)
	}
	w.jobs = nil
}
