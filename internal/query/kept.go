package query

import (
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// ofMoment reports whether the metric is about what is live at the query's cut.
func (m Metric) ofMoment() bool { return m == Live || m == LiveBlocks || m == Kept || m == KeptBlocks }

// farSums reports whether the recording says in sums when the blocks that were freed from the range's beginning to the
// cut were allocated.
func (a *ask) farSums() bool { return timetravel.HasFarSums(a.Reader, a.From, a.At) }

// keptThen returns what was allocated in the range and is live at the query's cut, at each stack.
func (a *ask) keptThen() ([]timetravel.Live, error) {
	if a.From == 0 && a.At <= a.To {
		return a.liveThen()
	}
	return timetravel.KeptAt(a.ctx, a.Reader, a.From, a.To, a.At, func(done, total int) {
		n := a.At - a.From
		a.progress(uint64(float64(n)*float64(done)/float64(total)), n)
	})
}

// moveToBlocks moves the ends of the range, and the cut of what is live, to ends of blocks of events that are near
// enough. There, the recording's sums suffice.
func (a *ask) moveToBlocks() {
	from, to, at := a.nearBlock(a.From), a.nearBlock(a.To), a.nearBlock(a.At)
	if from == to && a.From != a.To {
		return
	}
	a.Rough = from != a.From || to != a.To || at != a.At
	a.From, a.To, a.At = from, to, at
	a.whole = a.From == a.first && a.To == a.last
}

// nearBlock returns the nearest end of a block of events, if it is near enough to a cut, or else the cut.
func (a *ask) nearBlock(cut uint64) uint64 {
	blocks := a.Reader.EventBlocks()
	i := blocks.At(cut)
	if i == blocks.Len() || blocks.Head(i).FirstEvent >= cut {
		return cut
	}
	before, after := blocks.Head(i).FirstEvent, blocks.Cut(i)
	begin, end := blocks.Begin(i), blocks.End(i)
	last := int64(0) // time of the event before
	if i > 0 {
		last = blocks.End(i - 1)
	}
	switch {
	case end-last <= a.q.Rough && cut-before < after-cut, end-begin > a.q.Rough && end-last <= a.q.Rough:
		return before
	case end-begin <= a.q.Rough:
		return after
	}
	return cut
}
