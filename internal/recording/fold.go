package recording

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/column"
	"github.com/heaptap/heaptap/internal/tally"
)

// A long run's old events may be folded: the file system gets back the disk that they take, and only their summaries
// stay. This is the only change of what was written before. The steps are, in this order:
//
//  1. append the statistics up to now, since the events cannot be counted any more;
//  2. append, for each layer, a block that says which of its blocks are folded;
//  3. sync the file;
//  4. punch holes.
//
// A crash in between is harmless: a block that is called folded may still be there.

// Fold says what of a long run is kept in detail. The zero Fold keeps everything.
type Fold struct {
	Keep    time.Duration     // events older than this are folded, counted from the latest event; 0: at no age
	MaxSize int64             // the oldest are folded if the file takes more bytes on disk; 0: no bound
	Notice  func(text string) // gets a sentence for the user, from another goroutine; may be nil

	grain int64 // holes are aligned to this; 0: to a page
}

// holed is a file that can have holes.
type holed interface {
	Punch(off, n int64) error // makes a hole: it takes no disk and reads as zeros
	Used() (int64, error)     // bytes on disk
	Sync() error              // returns when what was written would survive a crash of the machine
}

// layer is blocks of one kind, which are folded from the oldest on: events, summaries of one level, or statistics.
type layer struct {
	typ   blockType
	level uint64 // of summaries, else 0
}

func (e *indexEntry) layer() layer { return layer{e.typ, e.sum.Level} }

// foldedHead is the head of a folded block: all blocks of a layer with a number below one are folded.
type foldedHead struct {
	layer
	below   uint64
	keep    uint64 // the reason: Fold.Keep in ns
	maxSize uint64 // and Fold.MaxSize
}

func (h *foldedHead) fields(r *column.Row, col column.ID) {
	typ := uint64(h.typ)
	r.Uint(col, &typ)
	h.typ = blockType(typ)
	for _, v := range [...]*uint64{&h.level, &h.below, &h.keep, &h.maxSize} {
		r.Uint(col, v)
	}
}

// hole is the part of a block that becomes a hole when it is folded: the whole pages after the payload's head.
func (d *folder) hole(e *indexEntry) (off, n int64) {
	var p column.Payload
	switch e.typ {
	case blockEvents:
		p.Fields(e.head.Fields)
	case blockSummary:
		p.Fields(e.sum.Fields)
	}
	head := len(binary.AppendUvarint(p.Head, uint64(len(p.Head))))
	off = (e.offset + headerLength + int64(head) + d.grain - 1) &^ (d.grain - 1)
	return off, max(0, e.end()&^(d.grain-1)-off)
}

// folder folds what an appender has written.
type folder struct {
	Fold
	f       holed
	until   [block.Levels + 1]int // by level, 0 being events: index in appender.blocks before which all is folded
	counts  int                   // index of the latest statistics in appender.blocks; 0: none
	awaited atomic.Bool           // there is something to fold: the statistics are needed
	excess  bool                  // the user knows that MaxSize cannot be kept
	failed  bool
}

func newFolder(f file, o Fold) *folder {
	if o.Keep <= 0 && o.MaxSize <= 0 {
		return nil
	}
	d := &folder{Fold: o}
	var ok bool
	if d.f, ok = f.(holed); !ok {
		return nil
	}
	// Try it after the end, where nothing is.
	d.grain = cmp.Or(d.grain, 4096)
	if err := d.f.Punch(1<<20, d.grain); err != nil {
		d.notice("old events cannot be folded: the file system cannot give their disk back (%v); everything is kept",
			err)
		return nil
	}
	return d
}

// asks reports, once, that there is something to fold. Any goroutine may call it.
func (d *folder) asks() bool { return d != nil && d.awaited.Swap(false) }

func (d *folder) notice(format string, args ...any) {
	if d.Notice != nil {
		d.Notice(fmt.Sprintf(format, args...))
	}
}

// groups goes through what can be folded of a level, in groups, from the oldest on. A group is the blocks that one
// summary of the next level sums up; next is the index of the block after that summary, and size is the disk that
// folding the group gives back.
func (a *appender) groups(level int, group func(s *block.SummaryHead, next int, size int64) (more bool)) {
	size := int64(0)
	for i := a.fold.until[level]; i < len(a.blocks); i++ {
		e := &a.blocks[i]
		switch {
		case level == 0 && (e.typ == blockEvents || e.typ == blockFar),
			level > 0 && e.typ == blockSummary && e.sum.Level == uint64(level):
			_, n := a.fold.hole(e)
			size += n
		case e.typ == blockSummary && e.sum.Level == uint64(level)+1:
			if !group(&e.sum, i+1, size) {
				return
			}
			size = 0
		}
	}
}

// tend folds what may be folded by now. It needs the statistics of the events up to now: if counts is nil and there is
// something to fold, it asks for them.
func (a *appender) tend(counts *tally.Summary) {
	d := a.fold
	if d == nil || d.failed || a.err != nil {
		return
	}
	until, worth := a.plan()
	switch {
	case !worth:
	case counts == nil:
		d.awaited.Store(true)
	default:
		a.foldUntil(until, counts)
	}
}

// plan decides how far each level is to be folded, and whether that saves more than the statistics take that have to be
// written first.
func (a *appender) plan() (until [block.Levels + 1]int, worth bool) {
	d := a.fold
	until = d.until
	var need, used int64
	if d.MaxSize > 0 {
		used, _ = d.f.Used()
		if used > d.MaxSize-d.MaxSize/16 {
			need = used - (d.MaxSize - d.MaxSize/8) // more than necessary: each time costs statistics
		}
	}
	now, keep := a.latest, uint64(d.Keep)/Quantum
	free := int64(0)
	// A level comes next only when all that can be folded below it is folded.
	for level := 0; level < block.Levels; level++ {
		a.groups(level, func(s *block.SummaryHead, next int, size int64) bool {
			old := level == 0 && d.Keep > 0 && now > keep && s.End < now-keep
			if !old && free >= need {
				return false
			}
			until[level] = next
			free += size
			return true
		})
		if free >= need {
			break
		}
	}
	if d.MaxSize > 0 && used-free > d.MaxSize && !d.excess {
		d.excess = true
		d.notice("%s takes %d bytes on disk, more than the %d that it may: what is left are the latest events, call "+
			"stacks and sums", a.name,
			used-free, d.MaxSize)
	}
	return until, free > 0 && free >= a.countsSize()
}

// lastFold appends the final statistics, and folds what may be folded by now: at least the statistics before.
func (a *appender) lastFold(counts *tally.Summary) {
	d := a.fold
	if d == nil || d.failed {
		_ = a.counts(counts)
		return
	}
	until, worth := a.plan()
	if !worth {
		until = d.until
	}
	a.foldUntil(until, counts)
}

// countsSize is the length of the latest statistics in the file.
func (a *appender) countsSize() int64 {
	if a.fold.counts == 0 {
		return 0
	}
	return int64(a.blocks[a.fold.counts].length)
}

// foldUntil folds each level up to an index in a.blocks, and the statistics that the latest ones replace.
func (a *appender) foldUntil(until [block.Levels + 1]int, counts *tally.Summary) {
	d := a.fold
	if a.counts(counts) != nil {
		return
	}
	old, at := d.counts, len(a.blocks)-1
	var holes []*indexEntry
	for level, next := range until {
		l := layer{blockSummary, uint64(level)}
		if level == 0 {
			l.typ = blockEvents
		}
		if next > d.until[level] {
			a.folded(l, next)
			holes = a.appendLayer(holes, l, d.until[level], next)
			if far := (layer{typ: blockFar}); level == 0 {
				a.folded(far, next)
				holes = a.appendLayer(holes, far, d.until[level], next)
			}
		}
	}
	if old > 0 {
		a.folded(layer{typ: blockTally}, at)
		holes = append(holes, &a.blocks[old])
	}
	if a.err != nil {
		return
	}
	d.until, d.counts = until, at
	if len(holes) == 0 {
		return
	}
	err := d.f.Sync()
	for _, e := range holes {
		if off, n := d.hole(e); n > 0 && err == nil {
			err = d.f.Punch(off, n)
		}
	}
	if err != nil {
		d.notice("%s: old events cannot be folded any more: %v; everything is kept from here on", a.name, err)
		d.failed = true
	}
}

// folded appends a block which says that all blocks of a layer before an index in a.blocks are folded.
func (a *appender) folded(l layer, before int) {
	h := foldedHead{l, uint64(before), uint64(a.fold.Keep), uint64(a.fold.MaxSize)}
	a.pay.Reset()
	a.pay.Fields(h.fields)
	_ = a.block(blockFolded, a.pay.Bytes())
}

func (a *appender) appendLayer(list []*indexEntry, l layer, from, to int) []*indexEntry {
	for i := from; i < to; i++ {
		if a.blocks[i].layer() == l {
			list = append(list, &a.blocks[i])
		}
	}
	return list
}
