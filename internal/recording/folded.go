package recording

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/heaptap/heaptap/internal/recording/column"
)

// FoldedError says that a question needs events that were folded into their summaries.
type FoldedError struct {
	Name string
	Cut  uint64 // the first from which on all events are there
	Time int64  // of the event before it, ns
	// Before Cut there are answers at some cuts. These are the nearest ones before and after the cut of the question,
	// and the times of the events before them.
	Before, After         uint64
	BeforeTime, AfterTime int64
}

func (e *FoldedError) Error() string {
	s := fmt.Sprintf("%s: this needs events before %.7f s, which were folded to save disk: only sums are left of them",
		e.Name, float64(e.Time)/1e9)
	if e.Before != e.After {
		s += fmt.Sprintf(", here from %.7f to %.7f s", float64(e.BeforeTime)/1e9, float64(e.AfterTime)/1e9)
	}
	return s
}

// Folded says what was folded and why.
type Folded struct {
	Cut     uint64        // the first from which on all events are there; 0: nothing was folded
	Time    int64         // of the event before it, ns
	Keep    time.Duration // as the writer was told, see Fold
	MaxSize int64
}

// Folded says what was folded.
func (r *Reader) Folded() Folded {
	cut, t := r.DetailFrom()
	if cut == 0 {
		return Folded{}
	}
	return Folded{Cut: cut, Time: t, Keep: time.Duration(r.events.fold.keep),
		MaxSize: int64(r.events.fold.maxSize)}
}

// DetailFrom returns the first cut from which on all events are there, and the time of the event before it in ns: 0 and
// 0 if nothing was folded.
func (e *EventBlocks) DetailFrom() (cut uint64, time int64) {
	i := e.detail()
	if i == 0 {
		return 0, 0
	}
	return e.Cut(i - 1), e.End(i - 1)
}

// detail returns the first block of events that is not folded.
func (e *EventBlocks) detail() int {
	return sort.Search(len(e.list), func(i int) bool { return !e.Folded(i) })
}

// Around returns the nearest cuts at or before and at or after a cut at which there are answers.
func (e *EventBlocks) Around(cut uint64) (before, after uint64) {
	if detail, _ := e.DetailFrom(); cut >= detail || len(e.cuts) == 0 || cut < e.cuts[0] {
		return cut, cut
	}
	i, exact := slices.BinarySearch(e.cuts, cut)
	if exact {
		return cut, cut
	}
	return e.cuts[i-1], e.cuts[i]
}

// FoldedError returns the error about a cut, or about no cut in particular if it is after all that was folded.
func (e *EventBlocks) FoldedError(cut uint64) error {
	err := &FoldedError{Name: e.file.name}
	err.Cut, err.Time = e.DetailFrom()
	err.Before, err.After = e.Around(min(cut, err.Cut))
	err.BeforeTime, err.AfterTime = e.endBefore(err.Before), e.endBefore(err.After)
	return err
}

// Folded reports whether block i is folded.
func (e *EventBlocks) Folded(i int) bool { return e.folded(&e.list[i]) }

func (e *EventBlocks) folded(entry *indexEntry) bool {
	return uint64(entry.seq) < e.folds[entry.layer()]
}

// loadFolded reads which blocks are folded.
func (e *EventBlocks) loadFolded(blocks []indexEntry) {
	for _, b := range blocks {
		if b.typ != blockFolded {
			continue
		}
		p, err := e.file.payload(b.header, nil)
		var s column.Set
		if err == nil {
			err = s.Parse(p)
		}
		var h foldedHead
		if s.Head.Fields(h.fields); err == nil && (s.Head.Bad || h.below > uint64(b.seq)) {
			err = column.ErrPayload
		}
		if err != nil {
			e.file.damaged("the block of %s at offset %d: %v", b.typ, b.offset, err)
			continue
		}
		if e.folds == nil {
			e.folds = make(map[layer]uint64)
		}
		e.folds[h.layer] = max(e.folds[h.layer], h.below)
		e.fold = h
	}
}

// findCuts finds the cuts among folded events at which there are answers: the ends of the smallest summaries that are
// left.
func (e *EventBlocks) findCuts() {
	e.cuts = e.cuts[:0]
	detail, _ := e.DetailFrom()
	for i, n := 0, e.detail(); i < n; {
		e.cuts = append(e.cuts, e.list[i].head.FirstEvent)
		step := 1 // without a summary, which only damage can take away
		for _, s := range e.summaries(i, detail) {
			if step == 1 || int(s.sum.Blocks) < step {
				step = int(s.sum.Blocks)
			}
		}
		i += step
	}
	if len(e.cuts) > 0 {
		e.cuts = append(e.cuts, detail)
	}
}
