package recording

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/heaptap/heaptap/internal/recording/column"
	"github.com/heaptap/heaptap/internal/tally"
)

// summaries builds the summaries above the events blocks, level by level, as the blocks are written.
type summaries struct {
	levels []*level
	cols   changeColumns
}

// level is a summary in the making.
type level struct {
	head  summaryHead
	parts int
	sum   Changes
}

// extend adds the head of the next part.
func (l *level) extend(h *summaryHead) {
	s := &l.head
	if l.parts == 0 {
		*s = *h
		s.level = h.level + 1
	} else {
		s.blocks += h.blocks
		s.events += h.events
		s.end = h.end
		s.peak = max(s.peak, h.peak)
	}
	l.parts++
}

func (s *summaries) level(n int) *level {
	for len(s.levels) <= n {
		s.levels = append(s.levels, &level{})
	}
	return s.levels[n]
}

// summarise takes an events block, before it is closed. It writes what has become complete.
func (a *appender) summarise(h *eventsHead, number uint64, list []tally.Local) {
	s := &a.sums
	l := s.level(0)
	l.extend(&summaryHead{firstBlock: number, blocks: 1, firstEvent: h.firstEvent, events: h.events, begin: h.begin,
		end: h.end, live: h.live, liveCount: h.liveCount, peak: h.peak})
	for i := range list {
		c := &list[i]
		if c.Allocs|c.Frees != 0 {
			l.sum.Add(&Change{Stack: c.ID, Allocs: c.Allocs, Bytes: c.Bytes, Frees: c.Frees, FreedBytes: c.FreedBytes,
				Temporary: uint64(c.Temporary), Top: uint64(c.Top)})
		}
	}
	for n := 0; n < summaryLevels && s.levels[n].parts == summaryFan; n++ {
		l := s.levels[n]
		a.summary(l)
		up := s.level(n + 1)
		up.extend(&l.head)
		for i := range l.sum.list {
			up.sum.Add(&l.sum.list[i])
		}
		l.sum.reset()
		l.parts = 0
	}
}

// summary writes a summary block.
func (a *appender) summary(l *level) {
	if a.err != nil {
		return
	}
	list := l.sum.list
	slices.SortFunc(list, func(a, b Change) int { return cmp.Compare(a.Stack, b.Stack) })
	c := &a.sums.cols
	c.reset()
	for i := range list {
		d := &list[i]
		c.stacks = binary.AppendUvarint(c.stacks, column.Zigzag(int64(d.Stack)-int64(c.last)))
		c.last = d.Stack
		c.add(d.Allocs, d.Frees, d.Bytes, d.FreedBytes, d.Top, d.Temporary)
	}
	l.head.changes = uint64(len(list))
	a.pay.Reset()
	a.pay.Fields(l.head.fields)
	a.pay.Column(colChangeStacks, c.stacks)
	c.write(a.pay)
	if a.block(blockSummary, a.pay.Bytes()) == nil {
		a.blocks[len(a.blocks)-1].sum = l.head
	}
}
