package query

import (
	"context"
	"math"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/atlas"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// MostSteps is how many steps a timeline has at most.
const MostSteps = 10_000

// ProcessTimeline is how the memory of the whole process developed over a range, in steps of time. Its lists have an
// entry for each step, and before these one for the beginning of the range. A step ends at most an eighth of a step
// before or after its share of the time, where that avoids decoding events; Times has the exact times, and the other
// lists are about these.
type ProcessTimeline struct {
	Answer
	Times        []int64  // at the end of each step, ns; the first is the beginning of the range
	Cuts         []uint64 // events before the end of each step
	Live, Blocks []uint64 // at the end of the step
	// Most and Least are the most and the fewest bytes that were live at any moment of the step, its beginning and its
	// end included. Most is always true.
	Most, Least   []uint64
	Allocations   []uint64 // in the step
	Bytes         []uint64 // requested by them
	Deallocations []uint64
	// Exact says for each step that Least and Bytes are true. Else the fewest is no more than Least, and the bytes are
	// at least Bytes.
	Exact []bool
	// Rough says that asking for the exact timeline would give more: some steps are not Exact, or end farther from
	// their share of the time. Where events were folded, a timeline is always rough.
	Rough     bool
	Samples   ProcessSamples
	Marks     []event.Mark // in the range, earliest first
	MarkNames []string     // by which each can be given as a time
	Regions   []RegionSpan // that have time in common with the range, by their beginnings; at most MostRegionSpans
}

// MostRegionSpans is how many regions a timeline has at most, the longest: more cannot be told apart on a screen.
const MostRegionSpans = 1000

// ProcessSamples are what the kernel said of the process and the system: the most in each step; without a sample, what
// the step before had. They have an entry for each step. A list is nil if the recording has no such samples.
type ProcessSamples struct {
	Resident, Proportional, Swapped, Mapped []int64 // bytes
	Threads                                 []int64
	// Page faults between the last sample before the step and the last one in it. Major ones had to read from disk.
	MinorFaults, MajorFaults []int64
	// Of the whole system, in bytes: the least that was available to programs, and the most that cached files.
	SystemAvailable, SystemCached []int64
}

// maxRoughBlocks is how many blocks of events a rough timeline decodes at most: they take some 20 ms.
const maxRoughBlocks = 16

// Timeline answers with the timeline of the whole process, in n steps, at most MostSteps. Of the query, only the range
// and Progress count. With rough it comes at once: at most a few blocks of events are decoded.
func Timeline(ctx context.Context, s *Source, q *Query, n int, rough bool) (*ProcessTimeline, error) {
	a, err := newAsk(ctx, s, &Query{Range: q.Range, Progress: q.Progress, Metrics: []Metric{Bytes}})
	if err != nil {
		return nil, err
	}
	n = min(max(n, 1), MostSteps)
	if m := s.Reader.Merged(); m != nil {
		x := &Series{}
		if _, err := a.developMerged(x, m, n, 0); err != nil {
			return nil, err
		}
		return x.process(s), nil
	}
	p := timetravel.Precision{Slack: a.Span / int64(n) / 8, Least: true}
	if rough {
		p.Blocks = maxRoughBlocks
	}
	steps, isRough, err := a.levels(stepTimes(a.Begin, a.Span, n), p)
	if err != nil {
		return nil, err
	}
	t := &ProcessTimeline{Rough: isRough}
	t.make(len(steps))
	for i := range steps {
		v := &steps[i]
		t.Times[i], t.Cuts[i], t.Live[i], t.Blocks[i] = v.Time, v.Cut, v.Live, v.Blocks
		t.Most[i], t.Least[i], t.Exact[i] = v.Most, v.Least, v.Exact
		t.Allocations[i], t.Bytes[i], t.Deallocations[i] = v.Allocs, v.Bytes, v.Frees
	}
	t.Answer = a.Answer
	t.addSamples(s)
	return t, nil
}

// PrepareTimeline reads what exact timelines need, so that they come at once, too. The cache, which may be nil, keeps
// it for the next time.
func PrepareTimeline(ctx context.Context, s *Source, cache *atlas.Cache, progress func(done, total int)) error {
	return cache.PrepareTimeline(ctx, s.Reader, &s.timeline, progress)
}

func (t *ProcessTimeline) make(n int) {
	t.Times = make([]int64, n)
	for _, list := range []*[]uint64{&t.Cuts, &t.Live, &t.Blocks, &t.Most, &t.Least, &t.Allocations, &t.Bytes,
		&t.Deallocations} {
		*list = make([]uint64, n)
	}
	t.Exact = make([]bool, n)
}

// levels takes the steps from the source's levels. Damage is noted in the answer.
func (a *ask) levels(times []int64, p timetravel.Precision) ([]timetravel.LevelStep, bool, error) {
	a.Plan = FromSummaries
	n := a.To - a.From
	p.Progress = func(done, total int) { a.progress(uint64(float64(n)*float64(done)/float64(total)), n) }
	steps, rough, err := a.timeline.Steps(a.ctx, a.Reader, a.From, a.To, times, p)
	if steps == nil {
		return nil, false, err
	}
	return steps, rough, a.noteDamage(err, n)
}

// stepTimes divides a span into n steps of equal time.
func stepTimes(begin, span int64, n int) []int64 {
	list := make([]int64, n+1)
	for i := range list {
		i := int64(i)
		list[i] = begin + span/int64(n)*i + span%int64(n)*i/int64(n)
	}
	return list
}

// addSamples adds the samples, the marks and the regions of the range.
func (t *ProcessTimeline) addSamples(s *Source) {
	t.Samples = s.samplesOf(t.Times, t.To == s.last)
	t.Marks, t.MarkNames = t.Answer.Marks(s)
	t.Regions = s.longestRegions(t.Begin, t.Begin+t.Span, MostRegionSpans)
}

// Samples returns what the kernel said in each step.
func (t *Series) Samples(s *Source) ProcessSamples { return s.samplesOf(t.Times, t.To == s.last) }

// samplesOf returns what the kernel said in steps that end at times; toEnd: the last one goes on to the end of the run.
func (s *Source) samplesOf(times []int64, toEnd bool) (x ProcessSamples) {
	samples := s.Reader.Samples()
	of := func(value func(*event.Sample) int64) []int64 {
		return timetravel.MostSampled(samples, times, toEnd, value)
	}
	x.Resident = of(func(v *event.Sample) int64 { return v.RSS })
	x.Proportional = of(func(v *event.Sample) int64 { return v.PSS })
	x.Swapped = of(func(v *event.Sample) int64 { return v.Swap })
	x.Mapped = of(func(v *event.Sample) int64 { return v.Virtual })
	x.Threads = of(func(v *event.Sample) int64 {
		if v.Threads == 0 {
			return -1
		}
		return v.Threads
	})
	x.MinorFaults = timetravel.Counted(samples, times, toEnd, func(v *event.Sample) int64 { return v.MinorFaults })
	x.MajorFaults = timetravel.Counted(samples, times, toEnd, func(v *event.Sample) int64 { return v.MajorFaults })
	x.SystemCached = of(func(v *event.Sample) int64 { return orUnknown(v.SystemCached) })
	// The most of what is not available is the least of what is.
	x.SystemAvailable = of(func(v *event.Sample) int64 {
		if orUnknown(v.SystemFree) < 0 {
			return -1
		}
		return math.MaxInt64 - v.SystemFree
	})
	for i, taken := range x.SystemAvailable {
		if taken > 0 { // else it is from before the first sample
			x.SystemAvailable[i] = math.MaxInt64 - taken
		}
	}
	return x
}

// orUnknown makes what recordings without that sample have, 0, what is not known.
func orUnknown(bytes int64) int64 {
	if bytes == 0 {
		return -1
	}
	return bytes
}

// process is the timeline of a merged recording.
func (t *Series) process(s *Source) *ProcessTimeline {
	p := &ProcessTimeline{Answer: t.Answer, Rough: true}
	p.make(len(t.Times))
	copy(p.Times, t.Times)
	copy(p.Cuts, t.Cuts)
	copy(p.Most, t.Top)
	for i := range t.All.Points {
		v := &t.All.Points[i]
		p.Live[i], p.Blocks[i], p.Least[i] = v.Live, v.LiveBlocks, v.Live
		p.Allocations[i], p.Bytes[i], p.Deallocations[i] = v.Allocations, v.Bytes, v.Deallocations
		if i > 0 {
			p.Least[i] = min(v.Live, t.All.Points[i-1].Live)
		}
	}
	p.addSamples(s)
	return p
}

// developProcess is develop without rows and filters.
func (a *ask) developProcess(out *Series, roughly bool) (*Series, error) {
	n := int64(len(out.Times) - 1)
	p := timetravel.Precision{}
	if roughly && a.To-a.From > uint64(n)*recording.BlockEvents {
		p.Slack = a.Span / n / 2
	}
	steps, _, err := a.levels(out.Times, p)
	if err != nil {
		return nil, err
	}
	out.All.Points = make([]Point, len(steps))
	for i := range steps {
		v := &steps[i]
		out.Times[i], out.Cuts[i], out.Top[i] = v.Time, v.Cut, v.Most
		out.All.Points[i] = Point{Live: v.Live, LiveBlocks: v.Blocks, Allocations: v.Allocs, Bytes: v.Bytes,
			Deallocations: v.Frees}
	}
	out.Rest.Points = out.All.Points
	out.Answer = a.Answer
	return out, nil
}
