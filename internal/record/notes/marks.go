package notes

import (
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// Notes are those of one process.
type Notes struct {
	out          *recording.Writer
	note         func(format string, args ...any)
	marks        int          // so far
	marksBefore  []event.Mark // of a dead recorder's recording, at its last event that counts
	ranges       int          // names of memory so far
	rangesBefore []event.NamedRange
	regions      regions
}

// New returns the notes of a process, which are written to its recording. note takes sentences for the user.
func New(out *recording.Writer, note func(format string, args ...any)) *Notes {
	return &Notes{out: out, note: note}
}

// Restore takes over what the recording has that a dead recorder left, of which so many events count.
func (n *Notes) Restore(old *recording.Reader, events uint64) {
	n.restoreMarks(old.Marks(), events)
	n.restoreRegions(old.Regions(), events)
	n.restoreRanges(old.Ranges(), events)
}

// maxMarks bounds the marks of a recording: a program that sets more of them sets them in a loop.
const maxMarks = 1_000_000

// Mark adds a mark, unless the recording that a dead recorder left has it already.
func (n *Notes) Mark(m event.Mark) {
	if slices.Contains(n.marksBefore, m) {
		return
	}
	if n.marks++; n.marks > maxMarks {
		n.note("There are more than %d marks; the others were not kept.", maxMarks)
		return
	}
	n.out.Mark(m)
}

// maxRanges bounds the names of memory in a recording.
const maxRanges = 100_000

// Range adds a name of memory, unless the recording that a dead recorder left has it already.
func (n *Notes) Range(r event.NamedRange) {
	if slices.Contains(n.rangesBefore, r) {
		return
	}
	if n.ranges++; n.ranges > maxRanges {
		n.note("Memory was named more than %d times; later names were not kept.", maxRanges)
		return
	}
	n.out.Range(r)
}

// restoreRanges takes over the names of memory of the recording that a dead recorder left, as far as its events count.
func (n *Notes) restoreRanges(old []event.NamedRange, events uint64) {
	for _, r := range old {
		if r.Event > events {
			break // it comes again
		}
		n.Range(r)
		if r.Event == events {
			n.rangesBefore = append(n.rangesBefore, r)
		}
	}
}

// restoreMarks takes over the marks of the recording that a dead recorder left, as far as its events count.
func (n *Notes) restoreMarks(old []event.Mark, events uint64) {
	for _, m := range old {
		if m.Cut != event.NoCut && m.Cut > events {
			continue // it comes again
		}
		n.Mark(m)
		if m.Cut == events {
			n.marksBefore = append(n.marksBefore, m)
		}
	}
}
