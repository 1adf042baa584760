package query

import (
	"context"
	"slices"

	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// Moments are what some call stacks had live at some moments of a run, the earliest first. Each moment costs two blocks
// of events at most, however many events the recording has, and none where a block ends near.
type Moments struct {
	Times  []int64
	Stacks map[uint32][]Level // one for each of Times
}

// Level is what was live at a moment. StayBytes and StayBlocks are the fewest from that moment on, as far as the
// moments tell: what goes up and down does not stay.
type Level struct {
	Bytes, Blocks         uint64
	StayBytes, StayBlocks uint64
}

// EqualMoments returns n+1 moments of the run, from its start to its end, at about equal distances, with the call
// stacks that keep selects.
func EqualMoments(ctx context.Context, s *Source, n int, keep func(stack uint32) bool) (*Moments, error) {
	bounds := make([]timetravel.Bound, n+1)
	for i, t := range stepTimes(0, s.Profile.Duration, n) {
		bounds[i].Time = t
	}
	timetravel.Align(s.Reader, bounds)
	cuts := make([]uint64, n+1)
	for i, b := range bounds {
		switch {
		case i == n:
			cuts[i] = s.last
		case b.Cut != 0:
			cuts[i] = b.Cut
		default:
			cut, err := s.Reader.CutAt(b.Time)
			if err != nil && !folded(err) { // if folded, the cut is near the time
				return nil, err
			}
			cuts[i] = max(cut, s.first)
		}
	}
	return MomentsAt(ctx, s, cuts, keep)
}

// MomentsAt returns the moments at cuts, which must not fall.
func MomentsAt(ctx context.Context, s *Source, cuts []uint64, keep func(stack uint32) bool) (*Moments, error) {
	m := &Moments{Times: make([]int64, len(cuts)), Stacks: make(map[uint32][]Level)}
	for i, cut := range cuts {
		var err error
		if m.Times[i], err = s.Reader.TimeAt(cut); err != nil {
			return nil, err
		}
		list, err := timetravel.LiveAt(ctx, s.Reader, cut)
		if err != nil {
			return nil, err
		}
		for _, l := range list {
			levels := m.Stacks[l.Stack]
			if levels == nil {
				if !keep(l.Stack) {
					continue
				}
				levels = make([]Level, len(cuts))
				m.Stacks[l.Stack] = levels
			}
			levels[i] = Level{Bytes: l.Bytes, Blocks: l.Blocks}
		}
	}
	for _, levels := range m.Stacks {
		bytes, blocks := ^uint64(0), ^uint64(0)
		for i := range slices.Backward(levels) {
			l := &levels[i]
			bytes, blocks = min(bytes, l.Bytes), min(blocks, l.Blocks)
			l.StayBytes, l.StayBlocks = bytes, blocks
		}
	}
	return m, nil
}

// mayGrow returns the call stacks that may have kept growing, by that many bytes at least. It is lenient: growth that
// keepsGrowing sees in finer steps is seen here. What was live at the last moment does not count, since a program may
// free everything when it ends.
func (m *Moments) mayGrow(least uint64) (list []uint32) {
	last := len(m.Times) - 2
	start := 0
	for start < last && float64(m.Times[start]) < startUp*float64(m.Times[last+1]) {
		start++
	}
	bytes, blocks := make([]uint64, last+1), make([]uint64, last+1)
	for stack, levels := range m.Stacks {
		if levels[last].Bytes < least {
			continue
		}
		stay, staying := ^uint64(0), ^uint64(0)
		for i := last; i >= 0; i-- {
			stay, staying = min(stay, levels[i].Bytes), min(staying, levels[i].Blocks)
			bytes[i], blocks[i] = stay, staying
		}
		first := 0
		for first < last && bytes[first+1] == bytes[first] {
			first++
		}
		for _, from := range []int{first, start} {
			middle := (from + last) / 2
			late := func(list []uint64) bool {
				return float64(list[last]-list[middle]) >= laterHalf/2*float64(list[last]-list[from])
			}
			rises := 0
			for i := from + 1; i <= last; i++ {
				if bytes[i] > bytes[i-1] {
					rises++
				}
			}
			if rises >= minRises-2 && bytes[last] > bytes[middle] && bytes[last]-bytes[from] >= least &&
				(late(bytes) || late(blocks)) {
				list = append(list, stack)
				break
			}
		}
	}
	slices.Sort(list)
	return list
}

// suspects judges the growth of call stacks between the moments.
func (m *Moments) suspects(stacks []uint32) []Suspect {
	var rows []SeriesRow
	for _, stack := range stacks {
		levels := m.Stacks[stack]
		r := SeriesRow{Group: Group{By: ByStack, Stack: stack}, Points: make([]Point, len(levels))}
		for i, l := range levels {
			r.Points[i] = Point{Live: l.Bytes, LiveBlocks: l.Blocks, Least: l.Bytes}
			if i > 0 {
				r.Points[i].Least = min(l.Bytes, levels[i-1].Bytes)
			}
		}
		rows = append(rows, r)
	}
	return suspects(m.Times, rows)
}

const (
	growthMoments = 24
	// exactGrowth is the most events of which growth is examined in steps without gaps. That takes about 30 ns for
	// each.
	exactGrowth = 100_000_000
)

// QuickGrowth is FindGrowth of the whole run, of call stacks by which at least so many bytes more stayed. First it
// looks at some moments, which is all that it does for a program of which nothing may keep growing. exact says whether
// it has examined everything; if not, because there are too many events, it judges by these moments alone.
func QuickGrowth(ctx context.Context, s *Source, least uint64) (list []Suspect, exact bool, err error) {
	var large stackSet
	for i := range s.sum.Stacks {
		if x := &s.sum.Stacks[i]; x.OwnPeakBytes >= least {
			large.add(x.ID)
		}
	}
	m, err := EqualMoments(ctx, s, growthMoments, large.has)
	if err != nil {
		return nil, true, err
	}
	may := m.mayGrow(least)
	switch {
	case len(may) == 0:
		return nil, true, nil
	case s.last-s.first > exactGrowth:
		list = m.suspects(may)
	default:
		exact = true
		if list, err = growthOf(ctx, s, may); err != nil {
			return nil, true, err
		}
	}
	own := s.runtime()
	return slices.DeleteFunc(list, func(x Suspect) bool { return own.has(x.Stack) || x.Stayed < least }), exact, nil
}

// growthOf is Growth of the whole run, of these call stacks.
func growthOf(ctx context.Context, s *Source, stacks []uint32) ([]Suspect, error) {
	q := Query{By: ByStack, Metrics: []Metric{Live}}
	series, err := developRows(ctx, s, &q, growthSteps, len(stacks), shortStep, true,
		func(a *ask, out *Series) (*choice, error) {
			c := a.newChoice(out)
			for _, x := range stacks {
				c.add(Group{By: ByStack, Stack: x})
			}
			return c, nil
		})
	if err != nil {
		return nil, err
	}
	return suspects(series.Times, series.Rows), nil
}
