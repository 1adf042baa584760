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
	"sync"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/column"
	"github.com/heaptap/heaptap/internal/tally"
)

// Reader reads one recording. Opening it reads the tables; events are read when asked for.
//
// A file that is damaged or was cut short still opens, as long as its header is whole: Complete and Damage say what is
// missing.
type Reader struct {
	Tables
	name     string
	f        io.ReaderAt
	close    func() error
	size     int64
	header   fileHeader
	process  event.Process
	merged   *Merged // nil: there are events
	ending   Ending
	ended    bool
	promised uint64 // events, by the ending
	// The latest statistics in the file; those of a recording that goes on tell of its events so far.
	stored   *tally.Summary
	tally    *tally.Summary
	counted  bool // tally was counted here
	events   []indexEntry
	sums     map[uint64][]*indexEntry // summaries, by the number of their first event
	folds    map[layer]uint64         // all blocks of a layer below this number are folded
	fold     foldedHead               // the latest
	cuts     []uint64                 // within what is folded: where there are answers
	decoders sync.Pool                // *block.Decoder
	mu       sync.Mutex               // of damage, seen
	counting sync.Mutex               // of tally
	damage   []string
	seen     map[string]bool
	budget   int64 // bytes that tables may still unpack to

	blocks  []indexEntry // all that were found
	found   bool         // the description of the process
	scanned int64        // end of the last block that was found
	open    []string     // damage at the end, which a recorder that still writes will mend
	measure func() (int64, error)
}

// Open opens the recording at path.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
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
	r, err := NewReader(f, st.Size(), filepath.Base(path))
	if err != nil {
		f.Close()
		return nil, err
	}
	r.close = f.Close
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
	r := &Reader{name: name, f: f, size: size, Tables: Tables{frames: make(map[uint32][]event.Frame)},
		seen:   make(map[string]bool),
		budget: roomOf(size)}
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

// roomOf is how much the tables of a file of that length may unpack to.
func roomOf(size int64) int64 { return tableRoom + min(size, math.MaxInt64/1024)*tableRatio }

// room is how much a summary may unpack to.
func (r *Reader) room() int64 { return roomOf(r.size) }

func (r *Reader) damaged(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := fmt.Sprintf(format, args...)
	if !r.seen[s] && len(r.damage) < 1000 {
		r.seen[s] = true
		r.damage = append(r.damage, s)
	}
}

// load reads all blocks but events.
func (r *Reader) load(blocks []indexEntry) {
	var s column.Set
	r.blocks = append(r.blocks, blocks...)
	r.loadFolded(blocks)
	for _, b := range blocks {
		if b.typ == blockEvents {
			r.addEvents(b)
			continue
		}
		if b.typ == blockSummary {
			r.addSummary(b)
			continue
		}
		if b.typ == blockIndex || b.typ == 0 || b.typ == blockFolded || b.typ > lastBlock || r.folded(&b) {
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
	r.findCuts()
}

// addEvents adds a block of events, if it comes after those before it.
func (r *Reader) addEvents(b indexEntry) {
	h := &b.head
	if n := len(r.events); n > 0 {
		last := &r.events[n-1].head
		if h.FirstEvent < last.FirstEvent+last.Events || h.Begin < last.End ||
			h.FirstAlloc < last.FirstAlloc+last.Allocs {
			r.damaged("the block of events at offset %d: it does not follow the one before it", b.offset)
			return
		}
	}
	if h.Events == 0 || h.End < h.Begin || h.FirstEvent > math.MaxUint64/2 {
		r.damaged("the block of events at offset %d: its head is invalid", b.offset)
		return
	}
	r.events = append(r.events, b)
}

func (r *Reader) addSummary(b indexEntry) {
	if !b.sum.Valid() {
		r.damaged("the summary at offset %d: its head is invalid", b.offset)
		return
	}
	if r.sums == nil {
		r.sums = make(map[uint64][]*indexEntry)
	}
	r.sums[b.sum.FirstEvent] = append(r.sums[b.sum.FirstEvent], &b)
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
	b, err := s.Unpack(colTally, nil)
	if err != nil {
		return err
	}
	t, err := tally.Unmarshal(b)
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

// Name is the file's name, as messages show it.
func (r *Reader) Name() string { return r.name }

// Version is the version of the format that the file has.
func (r *Reader) Version() (major, minor int) { return int(r.header.major), int(r.header.minor) }

// Size is the file's length.
func (r *Reader) Size() int64 { return r.size }

// Process describes the process that was recorded.
func (r *Reader) Process() event.Process { return r.process }

// Ending says how the process ended; false if the recording ends before.
func (r *Reader) Ending() (Ending, bool) { return r.ending, r.ended }

// Health counts what was not recorded.
func (r *Reader) Health() event.Health { return r.ending.Health }

// Complete reports whether the file is whole and tells of the process up to its end.
func (r *Reader) Complete() bool { return r.ended && len(r.damage)+len(r.open) == 0 }

// Damage says in sentences what is missing.
func (r *Reader) Damage() []string { return slices.Concat(r.damage, r.open) }

// Close closes the file.
func (r *Reader) Close() error {
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

// Tally returns what the events sum up to: as the recorder counted it if the recording has that, else counted now, from
// the recorder's latest count on, as far as the events are whole; Damage tells what is not.
func (r *Reader) Tally() (*tally.Summary, error) {
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
	err := r.WalkBatches(context.Background(), from, math.MaxUint64, adding(t))
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

// Recount counts the events. Those that were folded are not counted: a *FoldedError says so.
func (r *Reader) Recount() (*tally.Summary, error) {
	t := tally.New()
	err := r.WalkBatches(context.Background(), 0, math.MaxUint64, adding(t))
	return t.Summary(), err
}

// adding counts events.
func adding(t *tally.Tally) block.Yield {
	return func(b *Batch) bool {
		for i := range b.Events {
			t.Add(&b.Events[i])
		}
		return true
	}
}
