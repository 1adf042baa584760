package verify

import (
	"fmt"
	"reflect"

	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/tally"
)

// checkMerged compares the sums of a merged recording with those of its inputs, its stacks, its threads and its
// timeline.
func checkMerged(c *Check, rec *recording.Reader) error {
	sum, err := rec.Tally()
	if err != nil {
		return err
	}
	m, t := rec.Merged(), &sum.Totals
	c.What = fmt.Sprintf("%d inputs, %d call stacks, %d threads, the timeline", len(m.Inputs), len(sum.Stacks),
		len(sum.Threads))
	equal := func(what string, got, want uint64) {
		c.require(got == want, "%s: %d, expected %d", what, got, want)
	}
	var in recording.Input
	for i := range m.Inputs {
		v := &m.Inputs[i]
		in.Events += v.Events
		in.Allocations += v.Allocations
		in.Bytes += v.Bytes
		in.Deallocations += v.Deallocations
		in.Temporary += v.Temporary
		in.PeakBytes += v.PeakBytes
		in.PeakBlocks += v.PeakBlocks
		in.LeakedBytes += v.LeakedBytes
		in.LeakedBlocks += v.LeakedBlocks
		c.require(v.PeakBytes >= v.LeakedBytes && v.PeakBytes <= v.Bytes && v.RuntimeBytes <= v.LeakedBytes,
			"input %d: a peak of %d bytes is impossible with %d leaked, %d allocated",
			i, v.PeakBytes, v.LeakedBytes, v.Bytes)
	}
	equal("events, summed over the inputs", in.Events, t.Events)
	equal("allocations, summed over the inputs", in.Allocations, t.Allocations)
	equal("bytes, summed over the inputs", in.Bytes, t.Bytes)
	equal("deallocations, summed over the inputs", in.Deallocations, t.Deallocations)
	equal("temporary allocations, summed over the inputs", in.Temporary, t.Temporary)
	equal("peaks, summed over the inputs", in.PeakBytes, t.Peak.Bytes)
	equal("blocks at the peaks, summed over the inputs", in.PeakBlocks, t.Peak.Blocks)
	equal("leaked bytes, summed over the inputs", in.LeakedBytes, t.LeakedBytes())
	equal("leaked blocks, summed over the inputs", in.LeakedBlocks, t.LeakedBlocks())

	var all tally.Stack
	for i := range sum.Stacks {
		s := &sum.Stacks[i]
		add(reflect.ValueOf(&all.Counts).Elem(), reflect.ValueOf(s.Counts))
		all.LiveAtPeakBytes += s.LiveAtPeakBytes
		all.LiveAtPeakBlocks += s.LiveAtPeakBlocks
		spread, ok := m.Spreads[s.ID]
		c.require(ok && spread.Inputs <= uint64(len(m.Inputs)), "call stack %d: the inputs that have it are unknown",
			s.ID)
		for k, v := range [...]uint64{s.LiveAtPeakBytes, s.Bytes, s.Allocations, s.LeakedBytes()} {
			e := spread.All()[k]
			c.require(e.Min <= e.Max && e.Max <= v && e.Min*spread.Inputs <= v,
				"call stack %d: %d to %d is impossible for %d inputs that have %d together",
				s.ID, e.Min, e.Max, spread.Inputs, v)
		}
	}
	want := t.Counts
	all.MinSize, all.MaxSize, want.MinSize, want.MaxSize = 0, 0, 0, 0 // these are not sums
	differ(c, "sum over the call stacks", reflect.ValueOf(all.Counts), reflect.ValueOf(want))
	equal("live at the peaks, summed over the call stacks", all.LiveAtPeakBytes, t.Peak.Bytes)
	equal("blocks live at the peaks, summed over the call stacks", all.LiveAtPeakBlocks, t.Peak.Blocks)

	var threads tally.Thread
	for _, th := range sum.Threads {
		add(reflect.ValueOf(&threads).Elem(), reflect.ValueOf(th))
	}
	equal("allocations, summed over the threads", threads.Allocations, t.Allocations)
	equal("deallocations, summed over the threads, and unseen ones", threads.Deallocations+t.Unseen, t.Deallocations)

	for i := range m.Timeline.Levels {
		var steps recording.TimelineStep
		for k := range m.Timeline.Levels[i].Steps {
			steps.Add(&m.Timeline.Levels[i].Steps[k])
		}
		level := fmt.Sprintf("level %d of the timeline: ", i)
		equal(level+"allocations", steps.Allocations, t.Allocations)
		equal(level+"bytes", steps.Bytes, t.Bytes)
		equal(level+"deallocations", steps.Deallocations, t.Deallocations)
	}
	least, most := m.Peak()
	c.require(least <= most && most <= t.Peak.Bytes,
		"the peak of all together is from %d to %d bytes, with %d as the sum of the peaks", least, most, t.Peak.Bytes)
	return nil
}
