package query

import (
	"slices"

	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/atlas"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// UseAtlas lets an atlas of the source's recording answer rough questions from now on; nil: none does. Of a recording
// that grows, an older atlas serves until there is a newer one, as far as it goes.
func (s *Source) UseAtlas(a *atlas.Atlas) {
	if a == nil {
		s.chart.Store(nil)
		return
	}
	s.chart.Store(&chart{Atlas: a, gate: newGate()})
}

// Pixel returns a thousandth of the run, in ns: by so much the ends of a range may move on a timeline that shows all of
// it, 1,000 pixels wide. As Query.Rough, it suffices for most ranges.
func (s *Source) Pixel() int64 { return max(1, (s.Profile.Duration+999)/1000) }

// NearestCut returns the cut of the atlas that is nearest to a time, if it is at most within ns away. It decodes
// nothing, unlike the Reader's CutAt.
func (s *Source) NearestCut(time, within int64) (cut uint64, ok bool) {
	c := s.chart.Load()
	if c == nil {
		return 0, false
	}
	m := c.Moments()[c.Nearest(time)]
	return m.Cut, max(m.Time-time, time-m.Time) <= within
}

// moments are moments of an atlas between which, or at which, a question is answered.
type moments struct {
	*atlas.Atlas
	from, to, at, peak int
}

// inAtlas reports whether an atlas has what the metric needs.
func (m Metric) inAtlas() bool {
	return metricTable[m].summaries && m != OwnPeak && !m.ofSurvivors() && m != Recycling && !m.OfMappings()
}

// approximate lets the atlas answer, if it can and the question may be answered roughly. Then the ends of the range,
// and the moment of what is live, are moments of the atlas.
func (a *ask) approximate() error {
	c := a.chart.Load()
	if a.q.Rough > 0 && slices.ContainsFunc(a.Metrics, Metric.ofSurvivors) && a.choose() == FromSummaries {
		a.moveToBlocks()
		return nil
	}
	if c == nil || a.q.Rough <= 0 || a.choose() != FromSummaries {
		return nil
	}
	for _, m := range a.Metrics {
		if !m.inAtlas() {
			return nil
		}
	}
	m := &moments{Atlas: c.Atlas}
	for _, end := range []struct {
		cut uint64
		at  *int
	}{{a.From, &m.from}, {a.To, &m.to}, {a.At, &m.at}} {
		var ok bool
		var err error
		if *end.at, ok, err = a.near(c.Atlas, end.cut); err != nil || !ok {
			return err
		}
	}
	list := c.Moments()
	from, to, at := &list[m.from], &list[m.to], &list[m.at]
	if a.From < a.To && from.Cut == to.Cut {
		return nil
	}
	if a.q.wants(Peak, PeakBlocks) {
		var ok bool
		if m.peak, ok = c.Peak(m.from, m.to); !ok {
			return nil
		}
		a.PeakAt = list[m.peak].Cut
	}
	a.Rough = from.Cut != a.From || to.Cut != a.To || at.Cut != a.At
	a.From, a.To, a.At = from.Cut, to.Cut, at.Cut
	a.whole = a.From == a.first && a.To == a.last
	a.Begin, a.Span = from.Last, to.Last-from.Last
	if a.whole {
		a.Begin, a.Span = 0, a.Profile.Duration
	}
	a.Plan, a.moved = FromAtlas, m
	return nil
}

// near returns the moment at which a step ends that is nearest to a cut; false if it is farther away than it may be.
func (a *ask) near(c *atlas.Atlas, cut uint64) (moment int, ok bool, err error) {
	before, after, ok := c.Around(cut)
	if !ok || before == after {
		return before, ok, nil
	}
	b, f := &c.Moments()[before], &c.Moments()[after]
	if f.Time-b.Time <= a.q.Rough { // both are near enough, and the cut's time, which takes decoding, is not needed
		if cut-b.Cut < f.Cut-cut {
			return before, true, nil
		}
		return after, true, nil
	}
	earliest, latest := a.around(cut)
	switch {
	case latest-b.Time <= a.q.Rough:
		return before, true, nil
	case f.Time-earliest <= a.q.Rough:
		return after, true, nil
	}
	t, err := a.Reader.TimeAt(cut)
	if err != nil {
		return 0, false, err
	}
	if t-b.Time < f.Time-t {
		return before, t-b.Time <= a.q.Rough, nil
	}
	return after, f.Time-t <= a.q.Rough, nil
}

// around returns between which times the last event before a cut is, without decoding. There is such an event.
func (a *ask) around(cut uint64) (earliest, latest int64) {
	blocks := a.Reader.EventBlocks()
	i := blocks.At(cut - 1)
	return blocks.Begin(i), blocks.End(i)
}

// changeLists pools lists of what an atlas says has changed.
var changeLists pool[recording.Change]

// changes returns what happened in the range at each stack, and a function that must be called when nobody needs the
// list any more.
func (a *ask) changes() (list []recording.Change, done func(), err error) {
	if a.moved != nil {
		list = a.moved.AppendChanges(changeLists.get(len(a.moved.Stacks()))[:0], a.moved.from, a.moved.to)
		return list, func() { changeLists.put(list) }, nil
	}
	sum, err := timetravel.Changes(a.ctx, a.Reader, a.From, a.To)
	return sum.List(), func() { timetravel.Release(sum) }, err
}

// liveThen returns what is live at the query's cut at each stack.
func (a *ask) liveThen() ([]timetravel.Live, error) {
	if a.moved != nil {
		return a.moved.LiveAt(a.moved.at), nil
	}
	return timetravel.LiveAt(a.ctx, a.Reader, a.At)
}

// liveAtPeak returns what is live at the peak of the range at each stack.
func (a *ask) liveAtPeak() ([]timetravel.Live, error) {
	if a.moved != nil {
		return a.moved.LiveAt(a.moved.peak), nil
	}
	return timetravel.LiveAt(a.ctx, a.Reader, a.PeakAt)
}
