package tally

import "math/bits"

// Add adds the counts of other events.
func (c *Counts) Add(o *Counts) {
	if o.Allocations > 0 {
		if c.Allocations == 0 || o.MinSize < c.MinSize {
			c.MinSize = o.MinSize
		}
		c.MaxSize = max(c.MaxSize, o.MaxSize)
	}
	var carry uint64
	c.Lifetime.Lo, carry = bits.Add64(c.Lifetime.Lo, o.Lifetime.Lo, 0)
	c.Lifetime.Hi += o.Lifetime.Hi + carry
	c.Allocations += o.Allocations
	c.Bytes += o.Bytes
	c.Deallocations += o.Deallocations
	c.FreedBytes += o.FreedBytes
	c.Failed += o.Failed
	c.Temporary += o.Temporary
	c.TemporaryBytes += o.TemporaryBytes
	c.Reallocations += o.Reallocations
	c.InPlace += o.InPlace
	c.ZeroSize += o.ZeroSize
	c.Slack += o.Slack
	c.SlackCount += o.SlackCount
	c.Untimed += o.Untimed
}

// Add adds the totals of another process. The peak becomes the sum of the processes' peaks, and has no moment.
func (t *Totals) Add(o *Totals) {
	t.Counts.Add(&o.Counts)
	t.Events += o.Events
	t.LastTime = max(t.LastTime, o.LastTime)
	t.Unmatched += o.Unmatched
	t.Inherited += o.Inherited
	t.Unrecorded += o.Unrecorded
	t.Samples += o.Samples
	t.Unseen += o.Unseen
	t.Late += o.Late
	t.LiveBytes += o.LiveBytes
	t.LiveBlocks += o.LiveBlocks
	t.Peak = Peak{Bytes: t.Peak.Bytes + o.Peak.Bytes, Blocks: t.Peak.Blocks + o.Peak.Blocks}
	m, n := &t.Maps, &o.Maps
	for to, from := range map[*Calls]*Calls{&m.Mmap: &n.Mmap, &m.Munmap: &n.Munmap, &m.Mremap: &n.Mremap,
		&m.Brk: &n.Brk} {
		to.Calls += from.Calls
		to.Failed += from.Failed
		to.Bytes += from.Bytes
	}
	m.RemappedBytes += n.RemappedBytes
	m.BrkReturned += n.BrkReturned
	for i, n := range o.Funcs {
		t.Funcs[i] += n
	}
}

// Add adds a stack of another process. The own peak becomes the sum of the processes' own peaks.
func (s *Stack) Add(o *Stack) {
	s.Counts.Add(&o.Counts)
	s.OwnPeakBytes += o.OwnPeakBytes
	s.LiveAtPeakBytes += o.LiveAtPeakBytes
	s.LiveAtPeakBlocks += o.LiveAtPeakBlocks
}

// Add adds the counts of another thread.
func (t *Thread) Add(o *Thread) {
	f, g := t.fields(), o.fields()
	for i := range f {
		*f[i] += *g[i]
	}
}
