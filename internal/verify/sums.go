package verify

import (
	"fmt"
	"math/bits"
	"reflect"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/tally"
)

// checkSums compares the tally with the events, and its parts with the whole.
func checkSums(c *Check, v *events, stored, counted *tally.Summary, has bool) {
	c.What = fmt.Sprintf("%d call stacks, %d threads: sums, live, peak, leaked", len(stored.Stacks),
		len(stored.Threads))
	t := &stored.Totals
	equal := func(what string, got, want uint64) {
		c.require(got == want, "%s: %d, expected %d", what, got, want)
	}
	equal("events", t.Events, v.count)
	equal("allocations", t.Allocations, v.made)
	equal("deallocations", t.Deallocations, v.gone)
	equal("live bytes at the end", t.LiveBytes, v.bytes)
	equal("live blocks at the end", t.LiveBlocks, v.blocks)
	equal("bytes allocated minus freed", t.LeakedBytes(), v.bytes)
	equal("allocations minus deallocations", t.LeakedBlocks(), v.blocks)
	c.require(t.Peak == v.peak, "the peak is %+v, expected %+v", t.Peak, v.peak)

	var sum tally.Stack
	for _, s := range stored.Stacks {
		add(reflect.ValueOf(&sum.Counts).Elem(), reflect.ValueOf(s.Counts))
		sum.LiveAtPeakBytes += s.LiveAtPeakBytes
		sum.LiveAtPeakBlocks += s.LiveAtPeakBlocks
		c.require(s.OwnPeakBytes >= s.LiveAtPeakBytes && s.OwnPeakBytes >= s.LeakedBytes() && s.OwnPeakBytes <= s.Bytes,
			"call stack %d: its own peak of %d bytes is impossible with %d live at the peak, %d leaked, %d allocated",
			s.ID, s.OwnPeakBytes, s.LiveAtPeakBytes, s.LeakedBytes(), s.Bytes)
	}
	want := t.Counts
	sum.MinSize, sum.MaxSize, want.MinSize, want.MaxSize = 0, 0, 0, 0 // these are not sums
	differ(c, "sum over the call stacks", reflect.ValueOf(sum.Counts), reflect.ValueOf(want))
	equal("live at the peak, summed over the call stacks", sum.LiveAtPeakBytes, t.Peak.Bytes)
	equal("blocks live at the peak, summed over the call stacks", sum.LiveAtPeakBlocks, t.Peak.Blocks)

	var all tally.Thread
	for _, th := range stored.Threads {
		add(reflect.ValueOf(&all).Elem(), reflect.ValueOf(th))
	}
	equal("allocations, summed over the threads", all.Allocations, t.Allocations)
	equal("bytes, summed over the threads", all.Bytes, t.Bytes)
	equal("deallocations, summed over the threads, and unseen ones", all.Deallocations+t.Unseen, t.Deallocations)
	equal("temporary allocations, summed over the threads", all.Temporary, t.Temporary)
	equal("failed calls, summed over the threads", all.Failed, t.Failed)
	equal("unmatched deallocations, summed over the threads", all.Unmatched, t.Unmatched)
	equal("inherited deallocations, summed over the threads", all.Inherited, t.Inherited)
	if s := stored.Spread; s != nil {
		checkSpread(c, s, t)
	} else {
		counted.Spread = nil // an older recording
	}
	if m := stored.Mapped; m != nil {
		checkMapped(c, m)
	} else {
		// An older recording, from before heaptap knew what munmap unmaps.
		counted.Totals.Maps.Munmap.Bytes = t.Maps.Munmap.Bytes
		counted.Mapped = nil
	}
	if has {
		if m, n := stored.Mapped, counted.Mapped; m != nil && n != nil {
			differ(c, "stored statistics: mappings", reflect.ValueOf(m.Sites), reflect.ValueOf(n.Sites))
			differ(c, "stored statistics: mapped ranges", reflect.ValueOf(m.Ranges), reflect.ValueOf(n.Ranges))
			c.require(m.LiveBytes == n.LiveBytes && m.PeakBytes == n.PeakBytes && m.PeakTime == n.PeakTime,
				"stored statistics: mapped %d, %d at the peak", m.LiveBytes, m.PeakBytes)
		} else if m != n {
			c.problem("stored statistics: there are mappings, but none among the events")
		}
		if m, n := stored.Spread, counted.Spread; m != nil && n != nil {
			differ(c, "stored statistics: sizes", reflect.ValueOf(m.Sizes), reflect.ValueOf(n.Sizes))
			differ(c, "stored statistics: lifetimes", reflect.ValueOf(m.Lifetimes), reflect.ValueOf(n.Lifetimes))
			differ(c, "stored statistics: freed by other threads", reflect.ValueOf(m.Crossings),
				reflect.ValueOf(n.Crossings))
		}
		c.What += "; the stored statistics"
		differ(c, "stored statistics: totals", reflect.ValueOf(stored.Totals), reflect.ValueOf(counted.Totals))
		differ(c, "stored statistics: call stacks", reflect.ValueOf(stored.Stacks), reflect.ValueOf(counted.Stacks))
		differ(c, "stored statistics: threads", reflect.ValueOf(stored.Threads), reflect.ValueOf(counted.Threads))
	}
}

// add adds the numbers of b to those of a, field by field.
func add(a, b reflect.Value) {
	if sum, ok := a.Addr().Interface().(*tally.Sum); ok {
		o := b.Interface().(tally.Sum)
		var carry uint64
		sum.Lo, carry = bits.Add64(sum.Lo, o.Lo, 0)
		sum.Hi += o.Hi + carry
		return
	}
	for i := range a.NumField() {
		switch f := b.Field(i); f.Kind() {
		case reflect.Uint64:
			a.Field(i).SetUint(a.Field(i).Uint() + f.Uint())
		case reflect.Struct:
			add(a.Field(i), f)
		}
	}
}

// differ names the fields in which a differs from b.
func differ(c *Check, what string, a, b reflect.Value) {
	if a.Kind() != reflect.Slice && a.Equal(b) {
		return
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			differ(c, what+", "+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			c.problem("%s: %d, expected %d", what, a.Len(), b.Len())
			return
		}
		for i := range a.Len() {
			differ(c, fmt.Sprintf("%s, entry %d", what, i), a.Index(i), b.Index(i))
		}
	default:
		c.problem("%s: %v, expected %v", what, a, b)
	}
}

// checkSamples checks that the samples of resident memory are in order of time.
func checkSamples(c *Check, list []event.Sample, end int64, ended bool) {
	c.What = fmt.Sprintf("%d samples of the process's memory", len(list))
	last := int64(0)
	for i, s := range list {
		c.require(s.Time >= last, "sample %d at %d ns comes after one at %d ns", i, s.Time, last)
		c.require(!ended || s.Time <= end, "sample %d at %d ns comes after the end at %d ns", i, s.Time, end)
		for _, v := range [...]int64{s.RSS, s.Virtual, s.Swap, s.PSS, s.MinorFaults, s.MajorFaults, s.SystemFree,
			s.SystemCached, s.Threads} {
			c.require(v >= -1, "sample %d says %d", i, v)
		}
		last = max(last, s.Time)
	}
}

// checkMarks checks that marks lie within the recording and refer to existing threads.
func checkMarks(c *Check, list []event.Mark, rec *recording.Reader) {
	c.What = fmt.Sprintf("%d marks", len(list))
	_, last := rec.Cuts()
	_, ended := rec.Ending()
	before := uint64(0)
	for i := range list {
		m := &list[i]
		if m.Cut != event.NoCut {
			c.require(m.Cut <= last || !ended, "mark %q lies after %d events, but there are %d", m.Name, m.Cut, last)
			c.require(m.Cut >= before, "mark %q lies after %d events, an earlier one after %d", m.Name, m.Cut, before)
			before = max(before, m.Cut)
		}
		c.require(int64(m.Thread) < int64(max(len(rec.Threads()), 1)),
			"mark %q belongs to thread %d, but there are %d threads", m.Name, m.Thread, len(rec.Threads()))
	}
}

// checkSpread checks that classes and threads sum up to the totals.
func checkSpread(c *Check, s *tally.Spread, t *tally.Totals) {
	var sizes, lifetimes tally.Bucket
	for class := range tally.Classes {
		sizes.Count += s.Sizes[class].Count
		sizes.Bytes += s.Sizes[class].Bytes
		lifetimes.Count += s.Lifetimes[class].Count
		lifetimes.Bytes += s.Lifetimes[class].Bytes
	}
	c.require(sizes == tally.Bucket{Count: t.Allocations, Bytes: t.Bytes}, "by size, %+v were allocated", sizes)
	c.require(lifetimes == tally.Bucket{Count: t.Deallocations, Bytes: t.FreedBytes}, "by lifetime, %+v were freed",
		lifetimes)
	var unseen uint64
	for _, x := range s.Crossings {
		if x.To == tally.Nobody {
			unseen += x.Count
		}
	}
	c.require(unseen == t.Unseen, "%d blocks ended unseen by thread, %d in all", unseen, t.Unseen)
}

// checkMapped checks that the call stacks' mapped bytes sum up to the total.
func checkMapped(c *Check, m *tally.Mapped) {
	var live, peak, ranges uint64
	for i := range m.Sites {
		s := &m.Sites[i]
		live += s.LiveBytes()
		peak += s.LiveAtPeak
		c.require(s.OwnPeak >= s.LiveAtPeak && s.OwnPeak >= s.LiveBytes() && s.OwnPeak <= s.Bytes,
			"call stack %d: its own peak of %d mapped bytes is impossible", s.Stack, s.OwnPeak)
	}
	for _, r := range m.Ranges {
		ranges += r.End - r.Start
	}
	c.require(live == m.LiveBytes && peak == m.PeakBytes && ranges <= live,
		"mapped bytes: %d live and %d at the peak, summed over the call stacks %d and %d, over the ranges %d",
		m.LiveBytes, m.PeakBytes, live, peak, ranges)
}
