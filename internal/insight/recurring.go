package insight

import (
	"maps"
	"slices"

	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

const (
	// equalParts is the number of parts of a run without marks.
	equalParts = 12
	// leastIntervals is the least number of intervals in each of which blocks are left behind; mostIntervals is how
	// many are looked at. The first and the last interval do not count: programs fill caches at their start, and tidy
	// up at their end.
	leastIntervals, mostIntervals = 4, 24
	// evenly is by how much the numbers of blocks of the intervals may differ: a request that leaves something behind
	// leaves about the same each time, what is kept on purpose depends on the input.
	evenly = 3
	// freedShare is the least share of its blocks that a function frees, if there are no marks: one that frees nearly
	// all leaves the rest behind by mistake, one that frees none stores them.
	freedShare = .5
	// leastLeft is the least share of the peak that is left behind in all. It is less than that of growth, for the
	// pattern is clearer.
	leastLeft = .01
)

// recurring finds functions that leave blocks behind in each interval.
func (f *finder) recurring() error {
	if !f.p.Ended || f.p.Live || f.p.Leaked.Blocks == 0 {
		return nil // not leaked yet
	}
	least := max(leastBytes/4, leastLeft*float64(f.p.Totals.Peak.Bytes))
	stacks := make(map[uint32]*profile.Stack)
	for i := range f.p.Stacks {
		// A function may leave blocks behind at many call stacks: less than this at each is nothing.
		s := &f.p.Stacks[i]
		if s.Class == profile.Program && s.Leaked.Blocks >= leastIntervals && float64(s.Leaked.Bytes) >= least/20 {
			stacks[s.ID] = s
		}
	}
	m, marked, err := f.intervals(func(stack uint32) bool { return stacks[stack] != nil })
	if err != nil || m == nil || len(stacks) == 0 {
		return err
	}
	list := newGroups[leftBehind](f)
	for _, id := range slices.Sorted(maps.Keys(m.Stacks)) {
		s := stacks[id]
		list.add(id, float64(s.Leaked.Bytes)).add(m.Stacks[id], s.Allocations)
	}
	for _, g := range list.list {
		n, each := g.of.evenly()
		last := g.of.levels[len(g.of.levels)-1]
		bytes, count := last.StayBytes-g.of.levels[0].StayBytes, last.StayBlocks-g.of.levels[0].StayBlocks
		freed := 1 - float64(count)/float64(max(g.of.allocated, 1))
		known := slices.ContainsFunc(f.list, func(x Finding) bool { return x.Rule == Growth && x.Place == g.Place })
		if known || n < leastIntervals || !marked && freed < freedShare ||
			float64(bytes) < least {
			continue
		}
		x := g.finding(Recurring)
		x.Saves, x.Unit, x.Measured = float64(bytes), query.ByteCount, !f.p.Sampled()
		x.Share = x.Saves / f.fullest()
		between := " parts of the run"
		if marked {
			between = " intervals between marks"
		}
		x.Says = says(" leaves blocks behind in each of ", value(float64(n), Count), between, ", about ",
			value(each, Count), " each time. ", f.fate(bytes, count, bytes))
		x.Basis = says("measured: what is live at both ends of each interval")
		x.Confidence = .9
		if !marked {
			x.Confidence = .7
			x.Basis = says(x.Basis, "; ", value(freed, Share), " of its blocks are freed")
		}
		x.Show = Question{Page: "leaks", Metric: query.Leaked.String(), Focus: g.focus()}
		f.list = append(f.list, x)
	}
	return nil
}

// intervals returns what was live at the ends of the intervals that are looked at: those between marks, if there are
// enough, else parts of equal time. nil: the run is too short.
func (f *finder) intervals(keep func(stack uint32) bool) (m *query.Moments, marked bool, err error) {
	if marks := f.p.Marks; len(marks) >= leastIntervals+3 {
		first, last := f.s.Reader.Cuts()
		cuts := []uint64{first}
		skip := (len(marks) + mostIntervals - 1) / mostIntervals
		for i := 0; i < len(marks); i += skip {
			cut, err := f.s.Reader.CutAt(marks[i].Time)
			if err != nil {
				return nil, false, err
			}
			cuts = append(cuts, max(cut, cuts[len(cuts)-1]))
		}
		m, err = query.MomentsAt(f.ctx, f.s, append(cuts, last), keep)
		return m, true, err
	}
	if f.p.Duration < leastRun {
		return nil, false, nil
	}
	m, err = query.EqualMoments(f.ctx, f.s, equalParts, keep)
	return m, false, err
}

// leftBehind is what stays of the blocks of some call stacks.
type leftBehind struct {
	levels    []query.Level
	allocated uint64 // blocks
}

func (l *leftBehind) add(levels []query.Level, allocated uint64) {
	l.allocated += allocated
	if l.levels == nil {
		l.levels = slices.Clone(levels)
		return
	}
	for i := range l.levels {
		l.levels[i].StayBytes += levels[i].StayBytes
		l.levels[i].StayBlocks += levels[i].StayBlocks
	}
}

// evenly returns in how many intervals blocks are left behind, and how many in each on average; 0 if in some there are
// none, or far more than in others.
func (l *leftBehind) evenly() (intervals int, each float64) {
	inner := l.levels[1 : len(l.levels)-1]
	if len(inner) < 2 {
		return 0, 0
	}
	least, most := ^uint64(0), uint64(0)
	for i := 1; i < len(inner); i++ {
		n := inner[i].StayBlocks - inner[i-1].StayBlocks
		least, most = min(least, n), max(most, n)
	}
	if least == 0 || most > evenly*least {
		return 0, 0
	}
	intervals = len(inner) - 1
	return intervals, float64(inner[intervals].StayBlocks-inner[0].StayBlocks) / float64(intervals)
}
