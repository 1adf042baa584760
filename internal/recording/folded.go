package recording

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/heaptap/heaptap/internal/recording/column"
	"github.com/heaptap/heaptap/internal/tally"
)

// FoldedError says that a question needs events that were folded into their summaries.
type FoldedError struct {
	Name string
	Cut  uint64 // the first from which on all events are there
	Time int64  // of the event before it, ns
	// About what is before Cut there are answers at some cuts: these are the nearest ones before and after that of the
	// question, and the times of the events before them.
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

// Folded tells what was folded and why.
type Folded struct {
	Cut     uint64        // the first from which on all events are there; 0: nothing was folded
	Time    int64         // of the event before it, ns
	Keep    time.Duration // as the writer was told, see Fold
	MaxSize int64
}

// Folded tells what was folded.
func (r *Reader) Folded() Folded {
	cut, t := r.DetailFrom()
	if cut == 0 {
		return Folded{}
	}
	return Folded{Cut: cut, Time: t, Keep: time.Duration(r.fold.keep), MaxSize: int64(r.fold.maxSize)}
}

// DetailFrom returns the first cut from which on all events are there, and the time of the event before it in ns: 0 and
// 0 if nothing was folded.
func (r *Reader) DetailFrom() (cut uint64, time int64) {
	i := r.detail()
	if i == 0 {
		return 0, 0
	}
	h := &r.events[i-1].head
	return h.FirstEvent + h.Events, int64(h.End) * int64(r.header.quantum)
}

// detail returns the first block of events that is not folded.
func (r *Reader) detail() int {
	return sort.Search(len(r.events), func(i int) bool { return !r.folded(&r.events[i]) })
}

// Around returns the nearest cuts at or before and at or after a cut at which there are answers.
func (r *Reader) Around(cut uint64) (before, after uint64) {
	if detail, _ := r.DetailFrom(); cut >= detail || len(r.cuts) == 0 || cut < r.cuts[0] {
		return cut, cut
	}
	i, exact := slices.BinarySearch(r.cuts, cut)
	if exact {
		return cut, cut
	}
	return r.cuts[i-1], r.cuts[i]
}

// answers returns a *FoldedError if there is no answer at one of the cuts.
func (r *Reader) answers(cuts ...uint64) error {
	if err := r.hasEvents(); err != nil {
		return err
	}
	for _, c := range cuts {
		if before, _ := r.Around(c); before != c {
			return r.foldedError(c)
		}
	}
	return nil
}

// foldedError is about a cut, or about none if that is behind all that was folded.
func (r *Reader) foldedError(cut uint64) error {
	e := &FoldedError{Name: r.name}
	e.Cut, e.Time = r.DetailFrom()
	e.Before, e.After = r.Around(min(cut, e.Cut))
	e.BeforeTime, e.AfterTime = r.endBefore(e.Before), r.endBefore(e.After)
	return e
}

// endBefore returns the time at which the block of events before a cut ends, ns.
func (r *Reader) endBefore(cut uint64) int64 {
	i := r.blockOf(cut)
	if i == 0 {
		return 0
	}
	return int64(r.events[i-1].head.End) * int64(r.header.quantum)
}

func (r *Reader) folded(e *indexEntry) bool { return uint64(e.seq) < r.folds[e.layer()] }

// loadFolded learns what is folded.
func (r *Reader) loadFolded(blocks []indexEntry) {
	for _, b := range blocks {
		if b.typ != blockFolded {
			continue
		}
		p, err := r.payload(b.header, nil)
		var s column.Set
		if err == nil {
			err = s.Parse(p)
		}
		var h foldedHead
		if s.Head.Fields(h.fields); err == nil && (s.Head.Bad || h.below > uint64(b.seq)) {
			err = column.ErrPayload
		}
		if err != nil {
			r.damaged("the block of %s at offset %d: %v", b.typ, b.offset, err)
			continue
		}
		if r.folds == nil {
			r.folds = make(map[layer]uint64)
		}
		r.folds[h.layer] = max(r.folds[h.layer], h.below)
		r.fold = h
	}
}

// findCuts finds the cuts within what is folded at which there are answers: where the smallest summaries that are left
// begin and end.
func (r *Reader) findCuts() {
	r.cuts = r.cuts[:0]
	detail, _ := r.DetailFrom()
	for i, n := 0, r.detail(); i < n; {
		r.cuts = append(r.cuts, r.events[i].head.FirstEvent)
		step := 1 // without a summary, which only damage can take away
		for _, s := range r.above(i, detail) {
			if step == 1 || int(s.sum.Blocks) < step {
				step = int(s.sum.Blocks)
			}
		}
		i += step
	}
	if len(r.cuts) > 0 {
		r.cuts = append(r.cuts, detail)
	}
}

// peakAt returns the statistics that tell of the peak, if that is reached at the cut.
func (r *Reader) peakAt(cut uint64) (*tally.Summary, bool) {
	return r.stored, r.stored != nil && cut != 0 && r.stored.Totals.Peak.Event == cut
}
