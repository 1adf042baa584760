package recording

import (
	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/tally"
)

// summaries builds the summaries of blocks of events, level by level, as the blocks are written.
type summaries struct {
	levels []*level
	enc    block.SummaryEncoder
}

// level is the unfinished summary of a level.
type level struct {
	head  block.SummaryHead
	parts int
	sum   Changes
}

// extend adds the head of the next part.
func (l *level) extend(h *block.SummaryHead) {
	s := &l.head
	if l.parts == 0 {
		*s = *h
		s.Level = h.Level + 1
	} else {
		s.Blocks += h.Blocks
		s.Events += h.Events
		s.End = h.End
		s.Peak = max(s.Peak, h.Peak)
	}
	l.parts++
}

func (s *summaries) level(n int) *level {
	for len(s.levels) <= n {
		s.levels = append(s.levels, &level{})
	}
	return s.levels[n]
}

// summarise adds a block of events to the summaries, and writes those that are complete with it.
func (a *appender) summarise(h *block.Head, number uint64, list []tally.Local) {
	s := &a.sums
	l := s.level(0)
	l.extend(&block.SummaryHead{FirstBlock: number, Blocks: 1, FirstEvent: h.FirstEvent, Events: h.Events,
		Begin: h.Begin,
		End:   h.End, Live: h.Live, LiveCount: h.LiveCount, Peak: h.Peak})
	for i := range list {
		c := &list[i]
		if c.Allocs|c.Frees != 0 {
			l.sum.Add(&Change{Stack: c.ID, Allocs: c.Allocs, Bytes: c.Bytes, Frees: c.Frees, FreedBytes: c.FreedBytes,
				Temporary: uint64(c.Temporary), Top: uint64(c.Top)})
		}
	}
	for n := 0; n < block.Levels && s.levels[n].parts == block.Fan; n++ {
		l := s.levels[n]
		a.summary(l)
		up := s.level(n + 1)
		up.extend(&l.head)
		for i := range l.sum.List() {
			up.sum.Add(&l.sum.List()[i])
		}
		l.sum.Reset()
		l.parts = 0
	}
}

// summary writes a summary block.
func (a *appender) summary(l *level) {
	if a.err != nil {
		return
	}
	list := l.sum.List()
	l.head.Changes = uint64(len(list))
	a.sums.enc.Encode(a.pay, &l.head, list)
	if a.pay.TooLong() { // of millions of stacks; without it, answers are the same
		return
	}
	if a.block(blockSummary, a.pay.Bytes()) == nil {
		a.blocks[len(a.blocks)-1].sum = l.head
	}
}
