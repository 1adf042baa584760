package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/column"
	"github.com/heaptap/heaptap/internal/tally"
)

// Reader reads one recording. Opening it reads the tables; events are read when asked for.
//
// A file that is damaged or was cut short still opens, as long as its header is whole: Complete and Damage say what is
// missing.
type Reader struct {
	blockFile
	Tables
	blocks   []indexEntry // all that were found
	events   EventBlocks  // those of events
	pages    PageReadings
	process  event.Process
	found    bool    // process was read
	merged   *Merged // nil: there are events
	ending   Ending
	ended    bool
	promised uint64 // how many events there are, says the ending
	// The latest statistics in the file. While a recorder still writes, they are of the events so far.
	stored   *tally.Summary
	tally    *tally.Summary
	counted  bool       // tally was counted by this Reader
	counting sync.Mutex // of tally
	budget   int64      // bytes that tables may still unpack to
	brief    bool       // only what a timeline needs is read

	measure func() (int64, error) // the file's length now; nil: it stays
	locked  func() bool           // whether a recorder has the file open; nil: none has
	live    bool                  // one had, before the file was last read
	close   func() error
}

// Open opens the recording at path.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return OpenFile(f, path)
}

// OpenTimeline opens the recording at path for what a timeline of the process needs: events and their sums, samples,
// and of the statistics what was live and the peak. The tables of call stacks and names are as if they were empty.
func OpenTimeline(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return openFile(f, path, true)
}

// OpenFile opens the recording in an open file, and takes the file over: Close closes it, and so does an error.
func OpenFile(f *os.File, path string) (*Reader, error) { return openFile(f, path, false) }

func openFile(f *os.File, path string, brief bool) (*Reader, error) {
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = fmt.Errorf("%s: is a directory, not a recording", path)
	}
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file; a recording cannot be read from a pipe or a device", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	locked := func() bool {
		locked, _ := private.Locked(f)
		return locked
	}
	live := locked() // before the file is read: what a recorder writes last is then in it
	r, err := newReader(f, st.Size(), filepath.Base(path), brief)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.close, r.locked, r.live = f.Close, locked, live
	r.measure = func() (int64, error) {
		st, err := f.Stat()
		if err != nil {
			return 0, err
		}
		return st.Size(), nil
	}
	return r, nil
}

// NewReader reads a recording of size bytes from f. The name is used in messages.
func NewReader(f io.ReaderAt, size int64, name string) (*Reader, error) {
	return newReader(f, size, name, false)
}

func newReader(f io.ReaderAt, size int64, name string, brief bool) (*Reader, error) {
	r := &Reader{
		blockFile: blockFile{name: name, data: f, size: size, seen: make(map[string]bool)},
		Tables:    Tables{frames: make(map[uint32][]event.Frame)},
		budget:    roomOf(size),
		brief:     brief,
	}
	r.pages.file = &r.blockFile
	r.events = EventBlocks{file: &r.blockFile, tables: &r.Tables, process: &r.process}
	h := make([]byte, fileHeaderLength)
	n, err := readFull(f, h, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w", name, err)
	}
	if r.header, err = decodeFileHeader(name, h[:n]); err != nil {
		return nil, err
	}
	if r.header.flags&flagMerged != 0 {
		r.merged = &Merged{Spreads: make(map[uint32]Spread)}
	}
	blocks, ok := r.findIndex()
	if ok {
		r.scanned = size
	} else {
		r.scanned = fileHeaderLength
		blocks = r.scan(0)
	}
	r.load(blocks)
	return r, nil
}

// load reads the blocks that are not of events, and adds those of events to r.events.
func (r *Reader) load(blocks []indexEntry) {
	var s column.Set
	r.blocks = append(r.blocks, blocks...)
	r.events.loadFolded(blocks)
	for _, b := range blocks {
		if b.typ == blockEvents {
			r.events.add(b)
			continue
		}
		if b.typ == blockSummary {
			r.events.addSummary(b)
			continue
		}
		if b.typ == blockFar {
			r.events.far = append(r.events.far, b)
			continue
		}
		if b.typ == blockPages {
			r.pages.add(b.header)
			continue
		}
		if b.typ == blockIndex || b.typ == 0 || b.typ == blockFolded || b.typ > lastBlock || r.events.folded(&b) {
			continue
		}
		if r.brief && b.typ != blockProcess && b.typ != blockSamples && b.typ != blockTally && b.typ != blockEnding {
			continue
		}
		p, err := r.payload(b.header, nil)
		switch {
		case err != nil:
		case b.typ == blockProcess:
			if err = json.Unmarshal(p, &r.process); err == nil {
				r.found = true
			}
		case b.typ == blockEnding:
			err = r.loadEnding(p)
		default:
			if err = s.Parse(p); err != nil {
				break
			}
			if r.budget -= s.Size(); r.budget < 0 {
				err = errors.New("the tables would unpack to more than any recording of this size holds")
				break
			}
			switch b.typ {
			case blockTally:
				err = r.loadTally(&s)
			case blockInputs, blockTimeline, blockSpreads:
				err = r.loadMerged(b.typ, &s)
			default:
				err = r.loadTable(b.typ, &s)
			}
		}
		if err != nil {
			r.damaged("the block of %s at offset %d: %v", b.typ, b.offset, err)
		}
	}
	if !r.found {
		r.open = append(r.open, "the description of the process is missing")
	}
	if !r.ended {
		r.open = append(r.open, "the ending is missing: the recorder was stopped or ran out of disk before the end, "+
			"or the file was cut")
	}
	for _, s := range r.complete() {
		r.damaged("%s", s)
	}
	if r.merged != nil && len(r.merged.Inputs) == 0 {
		r.damaged("the list of the recordings that were merged is missing")
	}
	r.events.findCuts()
}

func (r *Reader) loadEnding(p []byte) error {
	var e endingFile
	if err := json.Unmarshal(p, &e); err != nil {
		return err
	}
	r.ending = Ending{End: e.End, Exited: e.Exited, Code: e.Code, Signal: e.Signal, Status: e.Status, Health: e.Health}
	r.ended, r.promised = true, e.Events
	return nil
}

func (r *Reader) loadTally(s *column.Set) error {
	var b []byte
	for id := colTally; id != 0 && s.Has(id); id++ { // 0: there is no number left
		piece, err := s.Unpack(id, nil)
		if err != nil {
			return err
		}
		b = append(b, piece...)
	}
	unmarshal := tally.Unmarshal
	if r.brief {
		unmarshal = tally.UnmarshalLive
	}
	t, err := unmarshal(b)
	if err != nil {
		return err
	}
	if r.merged != nil && r.stored != nil { // its further stacks
		r.stored.Stacks = append(r.stored.Stacks, t.Stacks...)
		return nil
	}
	r.stored, r.tally, r.counted = t, nil, false
	return nil
}

// Refresh reads what was appended to the file since it was opened or last refreshed, and reports whether there was
// anything. So one can follow a recording while it is being written. What was read before stays valid and is not read
// again. No other method of the Reader may run at the same time.
//
// A block that is still being written is left for the next time.
func (r *Reader) Refresh() (bool, error) {
	if r.measure == nil && r.ended {
		return false, nil
	}
	if r.measure == nil {
		return false, errors.New("only a recording that was opened by its name can be refreshed")
	}
	r.live = r.locked != nil && r.locked()
	size, err := r.measure()
	switch {
	case err != nil:
		return false, err
	case size < r.scanned:
		return false, fmt.Errorf("%s: the file was cut from %d bytes to %d while it was being read", r.name, r.size,
			size)
	case size == r.size:
		return false, nil
	}
	r.budget += roomOf(size) - roomOf(r.size)
	r.size = size
	r.open = nil
	next := uint32(0)
	if n := len(r.blocks); n > 0 {
		next = r.blocks[n-1].seq + 1
	}
	list := r.scan(next)
	if r.counted && len(list) > 0 {
		r.tally, r.counted = nil, false
	}
	r.load(list)
	return len(list) > 0, nil
}

// Name is the file's name, as messages show it.
func (r *Reader) Name() string { return r.name }

// Version is the version of the format that the file has.
func (r *Reader) Version() (major, minor int) { return int(r.header.major), int(r.header.minor) }

// Size is the file's length.
func (r *Reader) Size() int64 { return r.size }

// Content is the recording's bytes.
func (r *Reader) Content() *io.SectionReader { return io.NewSectionReader(r.data, 0, r.size) }

// Process is the process that was recorded.
func (r *Reader) Process() event.Process { return r.process }

// Ending says how the process ended; false if the recording ends before.
func (r *Reader) Ending() (Ending, bool) { return r.ending, r.ended }

// Health counts what was not recorded.
func (r *Reader) Health() event.Health { return r.ending.Health }

// Live reports whether a recorder was still writing the recording when it was read.
func (r *Reader) Live() bool { return !r.ended && r.live }

// Complete reports whether the file is whole, with the process's end.
func (r *Reader) Complete() bool { return r.ended && len(r.damage)+len(r.open) == 0 }

// Damage says in sentences what is missing. That the end is yet to come is not damage while a recorder writes.
func (r *Reader) Damage() []string {
	if r.Live() {
		return slices.Clone(r.damage)
	}
	return slices.Concat(r.damage, r.open)
}

// LostContents reports whether something within the file is damaged that cannot be counted anew, as statistics can.
func (r *Reader) LostContents() bool {
	return slices.ContainsFunc(r.damage, func(s string) bool {
		return !strings.HasPrefix(s, "the block of "+blockTally.String())
	})
}

// PromisedEvents is how many events the recorder wrote, as the ending says; 0 without an ending.
func (r *Reader) PromisedEvents() uint64 { return r.promised }

// Close closes the file.
func (r *Reader) Close() error {
	r.events.forget()
	if r.close == nil {
		return nil
	}
	return r.close()
}

// DamageError says that not all events could be read. Those that could were.
type DamageError struct {
	Name   string
	Damage []string
}

func (e *DamageError) Error() string {
	s := fmt.Sprintf("%s: %s", e.Name, e.Damage[0])
	if n := len(e.Damage) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// EventBlocks returns the blocks of events.
func (r *Reader) EventBlocks() *EventBlocks { return &r.events }

// StoredTally returns the latest statistics that the recorder counted; nil if the recording has none.
func (r *Reader) StoredTally() *tally.Summary { return r.stored }

// Tally returns the statistics of the events: those of the recorder, if the recording has them. Otherwise it counts the
// events after the recorder's latest statistics, as far as they are whole; Damage says which are not.
func (r *Reader) Tally() (*tally.Summary, error) { return r.TallyContext(context.Background()) }

// TallyContext is Tally, and ends with the context's error if that ends while events are counted.
func (r *Reader) TallyContext(ctx context.Context) (*tally.Summary, error) {
	r.counting.Lock()
	defer r.counting.Unlock()
	if r.tally != nil {
		return r.tally, nil
	}
	if _, last := r.Cuts(); r.stored != nil && (r.ended || r.stored.Totals.Events >= last) {
		r.tally = r.stored
		return r.tally, nil
	}
	t, from := tally.New(), uint64(0)
	if r.stored != nil {
		t, from = tally.Resume(r.stored), r.stored.Totals.Events
	}
	err := r.WalkBatches(ctx, from, math.MaxUint64, adding(t))
	var damage *DamageError
	if errors.As(err, &damage) {
		err = nil
	}
	sum := t.Summary()
	if err == nil {
		r.tally, r.counted = sum, true
	}
	return sum, err
}

// Recount counts the events. If some were folded, it counts the others, and the error is a *FoldedError.
func (r *Reader) Recount() (*tally.Summary, error) {
	t := tally.New()
	err := r.WalkBatches(context.Background(), 0, math.MaxUint64, adding(t))
	return t.Summary(), err
}

// adding adds the events to t.
func adding(t *tally.Tally) block.Yield {
	return func(b *Batch) bool {
		for i := range b.Events {
			t.Add(&b.Events[i])
		}
		return true
	}
}

// NewSection is NewReader for a part of a file; close is what Close calls.
func NewSection(f io.ReaderAt, size int64, name string, close func() error) (*Reader, error) {
	r, err := NewReader(f, size, name)
	if err != nil {
		return nil, errors.Join(err, close())
	}
	r.close = close
	return r, nil
}
