package query

import (
	"cmp"
	"context"
	"slices"
)

// Suspect is a group whose live bytes kept rising.
type Suspect struct {
	Group
	Begin, End uint64  // bytes live at the beginning and at the end of the range
	Slope      float64 // bytes per second, by linear regression
	// Confidence says how evenly the growth is spread, from 0 to 1: 1 minus the largest distance between the growth so
	// far, as a share of all of it, and the straight line. 0: it does not keep growing.
	Confidence float64
	Growing
}

// Growing says when a group grew, and by what: what stays counts, see keepsGrowing.
type Growing struct {
	Since, Until  int64 // ns
	Stayed        uint64
	StayingBlocks uint64
}

// growthSteps is the number of steps, of about equal time, into which the range is divided.
const growthSteps = 60

// maxSuspects is the number of groups that are examined: those with the most live bytes at the end of the range, and
// as many that had the most at any moment of it.
const maxSuspects = 1000

// Growth returns the groups whose live bytes kept rising over the range, steepest first.
func Growth(ctx context.Context, s *Source, q *Query) ([]Suspect, error) {
	return growth(ctx, s, q, shortStep)
}

// growth answers from events if steps have fewer than short of them.
func growth(ctx context.Context, s *Source, q *Query, short uint64) ([]Suspect, error) {
	one := *q
	one.Metrics, one.At = []Metric{Live}, nil
	series, err := develop(ctx, s, &one, growthSteps, maxSuspects, short, true, []Metric{Live}, []Metric{OwnPeak})
	if err != nil {
		return nil, err
	}
	return suspects(series.Times, series.Rows), nil
}

// suspects returns the rows that kept growing, steepest first.
func suspects(times []int64, rows []SeriesRow) (list []Suspect) {
	for i := range rows {
		r := &rows[i]
		live := make([]float64, len(r.Points))
		for k := range r.Points {
			live[k] = float64(r.Points[k].Live)
		}
		x := Suspect{Group: r.Group, Begin: r.Points[0].Live, End: r.Points[len(live)-1].Live,
			Slope: slope(times, live)}
		x.Confidence, x.Growing = keepsGrowing(times, r.Points)
		if x.Confidence > 0 && x.Slope > 0 {
			list = append(list, x)
		}
	}
	slices.SortStableFunc(list, func(a, b Suspect) int { return cmp.Compare(b.Slope, a.Slope) })
	return list
}

// What growth is. Times are shares of the range.
const (
	minRises  = 5      // it rose in so many steps
	minBlocks = 8      // so many blocks were added, or it rose in so many steps
	leastSpan = 1. / 3 // from its beginning to the end of the range
	// startUp is the time in which a program may set up what it then keeps. If growth is not even from its beginning,
	// it may be even from here on.
	startUp = .15
	// leastOfAll is the least share of all that stays by which a group must grow after that: a cache that is full, and
	// then takes a little more now and then, does not keep growing.
	leastOfAll = .1
	// shutDown is the time in which a program may free everything before it ends.
	shutDown = .06
	// maxPause is the longest time without a rise at the end, unless there were pauses before that were as long:
	// it may then be pauseFactor times the longest of them.
	maxPause    = .1
	pauseFactor = 1.5
	// laterHalf is the least share of the growth, and of the steps in which it rose, in the second half of its time.
	laterHalf = .25
)

// keepsGrowing returns how evenly a group grew; 0 if it does not keep growing.
//
// What counts is not what is live at a moment, but what stays: the fewest live bytes from that moment to the end of the
// range. So what goes up and down does not grow, however far up it is at the end; nor does anything hide a leak that
// adds a block at each turn. Growth must be in many steps, over a large part of the range, up to its end, and must not
// become much slower.
func keepsGrowing(times []int64, points []Point) (confidence float64, how Growing) {
	last := len(points) - 1
	span := float64(times[last] - times[0])
	if span <= 0 {
		return 0, how
	}
	x := make([]float64, len(times))
	for i := range times {
		x[i] = float64(times[i]-times[0]) / span
	}
	beforeEnd := last
	for x[beforeEnd] > 1-shutDown {
		beforeEnd--
	}
	for _, end := range []int{last, beforeEnd} {
		g := newGrown(x[:end+1], points[:end+1])
		begin := g.begin()
		if c := g.evenFrom(begin); c > 0 {
			return c, g.growing(times, begin)
		}
		later := slices.IndexFunc(x, func(t float64) bool { return t >= startUp })
		if later > begin && later < end && g.bytes[end]-g.bytes[later] >= leastOfAll*g.bytes[end] {
			if c := g.evenFrom(later); c > 0 {
				return c, g.growing(times, later)
			}
		}
	}
	return 0, how
}

// growing sums up the growth from the end of a step on. The step itself is a part of it if it rises.
func (g *grown) growing(times []int64, begin int) Growing {
	if g.rises(begin) {
		begin--
	}
	last := len(g.x) - 1
	return Growing{times[begin], times[last], uint64(g.bytes[last] - g.bytes[begin]),
		uint64(max(g.blocks[last]-g.blocks[begin], 0))}
}

// grown says what stays of a group.
type grown struct {
	x             []float64 // moments
	points        []Point   // at these
	bytes, blocks []float64 // of what is live then, the fewest at any moment from then on
}

func newGrown(x []float64, points []Point) *grown {
	last := len(x) - 1
	g := &grown{x: x, points: points, bytes: make([]float64, len(x)), blocks: make([]float64, len(x))}
	g.bytes[last], g.blocks[last] = float64(points[last].Live), float64(points[last].LiveBlocks)
	for i := last - 1; i >= 0; i-- {
		g.bytes[i] = min(g.bytes[i+1], float64(points[i+1].Least))
		g.blocks[i] = min(g.blocks[i+1], float64(points[i].LiveBlocks))
	}
	return g
}

// rises reports whether more stays after a step than before it.
func (g *grown) rises(step int) bool { return step > 0 && g.bytes[step] > g.bytes[step-1] }

// begin returns the step in which growth begins.
func (g *grown) begin() int {
	for i := range g.x {
		if g.rises(i) {
			return i
		}
	}
	return len(g.x) - 1
}

// evenFrom returns how evenly the group grew from the end of a step on; 0 if it does not keep growing.
func (g *grown) evenFrom(begin int) float64 {
	last := len(g.x) - 1
	from, to := g.x[begin], g.x[last]
	if to-from < leastSpan {
		return 0
	}
	all, allBlocks := g.bytes[last]-g.bytes[begin], g.blocks[last]-g.blocks[begin]
	// Before a late beginning, there was not as much.
	if from > 2*startUp {
		for i := range begin {
			if float64(g.points[i].Live) > g.bytes[begin]+all/2 {
				return 0
			}
		}
	}
	rises, later, at, pause := 0, 0, from, 0.
	var third [3]int
	for i := begin + 1; i <= last; i++ {
		if !g.rises(i) {
			continue
		}
		rises++
		third[min(int(3*(g.x[i]-from)/(to-from)), 2)]++
		if g.x[i] > (from+to)/2 {
			later++
		}
		pause = max(pause, g.x[i]-at)
		at = g.x[i]
	}
	added := max(allBlocks, float64(rises)) + 1 // the first one is part of the beginning
	switch {
	case rises+1 < minRises, added < minBlocks, slices.Contains(third[:], 0), to-at > max(maxPause, pauseFactor*pause),
		float64(later) < laterHalf*float64(rises):
		return 0
	}
	even := 0.
	for _, curve := range []struct {
		of  []float64
		all float64
	}{{g.bytes, all}, {g.blocks, allBlocks}} {
		if curve.all <= 0 {
			continue
		}
		distance, half := 0., 0.
		for i := begin; i <= last; i++ {
			share, time := (curve.of[i]-curve.of[begin])/curve.all, (g.x[i]-from)/(to-from)
			distance = max(distance, share-time, time-share)
			if time <= .5 {
				half = share
			}
		}
		if 1-half >= laterHalf {
			even = max(even, 1-distance)
		}
	}
	return even
}

// slope returns the slope, per second, of the least-squares line through points at times in ns.
func slope(times []int64, v []float64) float64 {
	n := float64(len(v))
	var meanX, meanY float64
	for i := range v {
		meanX += float64(times[i]-times[0]) / 1e9 / n
		meanY += v[i] / n
	}
	var xy, xx float64
	for i := range v {
		x := float64(times[i]-times[0])/1e9 - meanX
		xy += x * (v[i] - meanY)
		xx += x * x
	}
	if xx == 0 {
		return 0
	}
	return xy / xx
}
