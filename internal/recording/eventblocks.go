package recording

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"sync"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/block"
)

// EventBlocks are the blocks of a recording that hold events, in the order of time, and the summaries of several of
// them. Each block is named by its index, from 0. A block may be folded: then only its head is left.
type EventBlocks struct {
	file     *blockFile
	tables   *Tables
	process  *event.Process
	list     []indexEntry
	sums     map[uint64][]*indexEntry // summaries, by the number of their first event
	far      []indexEntry             // tables of far sums
	folds    map[layer]uint64         // all blocks of a layer below this number are folded
	fold     foldedHead               // the latest
	cuts     []uint64                 // within what is folded: where there are answers
	decoders sync.Pool                // *block.Decoder
}

// add adds a block of events, if it comes after those before it.
func (e *EventBlocks) add(b indexEntry) {
	h := &b.head
	if n := len(e.list); n > 0 {
		last := &e.list[n-1].head
		if h.FirstEvent < last.FirstEvent+last.Events || h.Begin < last.End ||
			h.FirstAlloc < last.FirstAlloc+last.Allocs {
			e.file.damaged("the block of events at offset %d: it does not follow the one before it", b.offset)
			return
		}
	}
	if h.Events == 0 || h.End < h.Begin || h.FirstEvent > math.MaxUint64/2 {
		e.file.damaged("the block of events at offset %d: its head is invalid", b.offset)
		return
	}
	e.list = append(e.list, b)
}

func (e *EventBlocks) addSummary(b indexEntry) {
	if !b.sum.Valid() {
		e.file.damaged("the summary at offset %d: its head is invalid", b.offset)
		return
	}
	if e.sums == nil {
		e.sums = make(map[uint64][]*indexEntry)
	}
	e.sums[b.sum.FirstEvent] = append(e.sums[b.sum.FirstEvent], &b)
}

// Len is the number of blocks.
func (e *EventBlocks) Len() int { return len(e.list) }

// Head is the head of block i. It must not be changed.
func (e *EventBlocks) Head(i int) *block.Head { return &e.list[i].head }

// Begin is the time of the first event of block i, in ns.
func (e *EventBlocks) Begin(i int) int64 { return e.file.ns(e.list[i].head.Begin) }

// End is the time of the last event of block i, in ns.
func (e *EventBlocks) End(i int) int64 { return e.file.ns(e.list[i].head.End) }

// Cut is the cut at the end of block i.
func (e *EventBlocks) Cut(i int) uint64 { return e.list[i].head.FirstEvent + e.list[i].head.Events }

// At returns the first block that ends after a cut: the cut is in it or before it. It is Len if there is none.
func (e *EventBlocks) At(cut uint64) int {
	return sort.Search(len(e.list), func(i int) bool { return e.Cut(i) > cut })
}

// OfAlloc returns the block of the allocation with that number; false if there is none.
func (e *EventBlocks) OfAlloc(ref uint64) (int, bool) {
	i := sort.Search(len(e.list), func(i int) bool { return e.list[i].head.FirstAlloc+e.list[i].head.Allocs > ref })
	return i, i < len(e.list) && e.list[i].head.FirstAlloc <= ref
}

// endBefore returns the time at which the block before a cut ends, in ns.
func (e *EventBlocks) endBefore(cut uint64) int64 {
	i := e.At(cut)
	if i == 0 {
		return 0
	}
	return e.End(i - 1)
}

// Decode yields the events of block i, with those fields, until yield returns false. Each comes with its number and
// that of the allocation that it makes or ends, as in EventsBetween.
func (e *EventBlocks) Decode(i int, f Fields, yield func(n, ref uint64, v *event.Event) bool) error {
	d := e.decoder()
	defer e.decoders.Put(d)
	d.Wanted = f
	_, err := e.decodeWith(d, i, block.OneByOne(yield))
	return err
}

// DecodeBatches is Decode in batches, which is faster.
func (e *EventBlocks) DecodeBatches(i int, f Fields, yield func(*Batch) bool) error {
	d := e.decoder()
	defer e.decoders.Put(d)
	d.Wanted = f
	_, err := e.decodeWith(d, i, yield)
	return err
}

// decodeWith returns what yield returned last.
func (e *EventBlocks) decodeWith(d *block.Decoder, i int, yield block.Yield) (more bool, err error) {
	more = true
	err = e.open(d, i, func() error {
		var err error
		more, err = d.Decode(yield)
		return err
	})
	return more || err != nil, err
}

// Level is how much is live at a cut within a block, and what happened before it in the block. Times are in ns.
type Level = block.Level

// Levels passes levels of block i to at: one at its beginning, one at each stop that at then returns, and one at its
// end. A stop is before the first event with that number in the block, or with a later time than that, in ns. Levels
// reads only what this needs.
func (e *EventBlocks) Levels(i int, at func(*Level) (number uint64, time int64)) error {
	d := e.decoder()
	defer e.decoders.Put(d)
	unit := uint64(e.file.header.quantum)
	return e.open(d, i, func() error {
		return d.Levels(func(l *Level) (number, time uint64) {
			v := *l
			v.Time, v.Next = v.Time*unit, v.Next*unit
			number, t := at(&v)
			return number, uint64(max(t, 0)) / unit
		})
	})
}

// open reads block i for something to be decoded from it.
func (e *EventBlocks) open(d *block.Decoder, i int, decode func() error) error {
	b := &e.list[i]
	if e.folded(b) {
		return e.FoldedError(math.MaxUint64)
	}
	p, err := e.file.payload(b.header, d.Buf)
	if err == nil {
		d.Buf = p
		if err = d.Open(p); err == nil {
			if d.Head != b.head {
				err = errors.New("its head is not the one that the index has")
			} else {
				err = decode()
			}
		}
	}
	if err != nil {
		return fmt.Errorf("%s: the block of events at offset %d: %w", e.file.name, b.offset, err)
	}
	return nil
}

func (e *EventBlocks) decoder() *block.Decoder {
	d, ok := e.decoders.Get().(*block.Decoder)
	if !ok {
		quantum := e.file.header.quantum
		d = &block.Decoder{Quantum: int64(quantum), MaxTime: math.MaxInt64 / uint64(quantum), Known: e.tables.known}
	}
	d.ThreadCount, d.Sampling, d.Stopped, d.Wanted = len(e.tables.threads), e.process.Sampling, nil, AllFields
	return d
}

// HasChanges reports whether Changes can read block i.
func (e *EventBlocks) HasChanges(i int) bool { return e.list[i].head.HasChanges() && !e.Folded(i) }

// Changes returns what block i changed at each call stack, which it stores if HasChanges. The list is kept and shared:
// nobody may change it.
func (e *EventBlocks) Changes(i int) ([]Change, error) {
	return e.keepChanges(e.list[i].offset, func() (list []Change, err error) {
		d := e.decoder()
		defer e.decoders.Put(d)
		err = e.open(d, i, func() error {
			list, err = d.Changes(e.file.room())
			return err
		})
		return list, err
	})
}

// Summary says what several blocks of events changed at each call stack.
type Summary struct {
	*block.SummaryHead
	header header
}

// Summary returns the largest summary that begins with block i and ends at or before a cut; false if there is none.
func (e *EventBlocks) Summary(i int, to uint64) (Summary, bool) {
	var best *indexEntry
	for _, s := range e.summaries(i, to) {
		if best == nil || s.sum.Blocks >= best.sum.Blocks {
			best = s
		}
	}
	if best == nil {
		return Summary{}, false
	}
	return Summary{&best.sum, best.header}, true
}

// summaries returns the summaries that begin with block i and end at or before a cut.
func (e *EventBlocks) summaries(i int, to uint64) (list []*indexEntry) {
	for _, s := range e.sums[e.list[i].head.FirstEvent] {
		end := i + int(s.sum.Blocks)
		cut := s.sum.FirstEvent + s.sum.Events
		if cut <= to && end <= len(e.list) && !e.folded(s) && e.Cut(end-1) == cut {
			list = append(list, s)
		}
	}
	return list
}

// SummaryChanges returns the changes that a summary holds. The list is kept and shared: nobody may change it.
func (e *EventBlocks) SummaryChanges(s Summary) ([]Change, error) {
	return e.keepChanges(s.header.offset, func() ([]Change, error) {
		p, err := e.file.payload(s.header, nil)
		if err == nil {
			var list []Change
			if list, err = block.DecodeSummary(p, s.SummaryHead, e.file.room(), e.tables.known); err == nil {
				return list, nil
			}
		}
		return nil, fmt.Errorf("%s: the summary at offset %d: %w", e.file.name, s.header.offset, err)
	})
}
