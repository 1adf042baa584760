package query

import (
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// The metrics of what was allocated in the range and is still live at a cut: the query's, or the end of the recording.
var (
	keptMetrics   = []Metric{Kept, KeptBlocks}
	leakedMetrics = []Metric{Leaked, LeakedBlocks}
)

// ofMoment reports whether the metric is about what is live at the query's cut.
func (m Metric) ofMoment() bool { return m == Live || m == LiveBlocks || m == Kept || m == KeptBlocks }

// ofSurvivors reports whether the metric is about what was allocated in the range and is live at a cut after it.
func (m Metric) ofSurvivors() bool {
	return m == Kept || m == KeptBlocks || m == Leaked || m == LeakedBlocks
}

// survivorsCut returns the cut at which the blocks that the metric counts are live.
func (a *ask) survivorsCut(m Metric) uint64 {
	if m == Leaked || m == LeakedBlocks {
		return a.last
	}
	return a.At
}

// hasSums reports whether the recording says in sums when the blocks that were freed from the range's beginning to a
// cut were allocated: then the events up to there need not be read, whatever else is asked.
func (a *ask) hasSums(cut uint64) bool {
	return !a.perBlock && timetravel.HasFarSums(a.Reader, a.From, cut)
}

// liveOfRange returns what was allocated in the range and is live at a cut, at each stack.
func (a *ask) liveOfRange(cut uint64) ([]timetravel.Live, error) {
	if a.From == 0 && cut <= a.To {
		return timetravel.LiveAt(a.ctx, a.Reader, cut)
	}
	return timetravel.KeptAt(a.ctx, a.Reader, a.From, a.To, cut, func(done, total int) {
		n := cut - a.From
		a.progress(uint64(float64(n)*float64(done)/float64(total)), n)
	})
}

// leaks returns what was allocated in the range and is live at the end, at each stack. What the runtime keeps is not
// in it but in a.Runtime.
func (a *ask) leaks() ([]timetravel.Live, error) {
	list, err := a.liveOfRange(a.last)
	runtimes, own := a.runtimes(), list[:0]
	for _, l := range list {
		switch {
		case !runtimes.has(l.Stack):
			own = append(own, l)
		case a.stacks.keep(l.Stack):
			a.Runtime.Add(profile.Leak{Bytes: l.Bytes, Blocks: l.Blocks})
		}
	}
	return own, err
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
