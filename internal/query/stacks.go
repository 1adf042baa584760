package query

import (
	"cmp"
	"context"
	"slices"

	"github.com/heaptap/heaptap/internal/profile"
)

// StackTable is an answer by the call stacks of the recording. Unlike in a Flat answer by stack, two stacks with the
// same text remain two rows.
type StackTable struct {
	Answer
	Rows []StackRow // by Label, then by Stack
}

// StackRow is a call stack and its sums.
type StackRow struct {
	Stack uint32 // 0: no call stack was recorded
	Label uint32 // if blocks are grouped: their group, see Source.GroupsOfLabel; else 0
	Values
}

// Stacks answers with all call stacks that have anything of the requested metrics. Groupings of frames are ignored;
// with groupings of blocks, there is a row for each stack and group.
func Stacks(ctx context.Context, s *Source, q *Query) (*StackTable, error) {
	one := *q
	if !one.By.ofBlocks() {
		one.By = ByStack
	}
	a, err := newAsk(ctx, s, &one)
	if err != nil {
		return nil, err
	}
	c, err := a.collect()
	if err != nil {
		return nil, err
	}
	if a.ownPeaks {
		if err := a.peaksOfCells(c); err != nil {
			return nil, err
		}
	}
	t := &StackTable{Answer: a.Answer}
	for i := range c.len() {
		x := c.get(i)
		if one.By == ByThread && q.Names != nil {
			x.label = q.Names.Thread(x.label)
		}
		if r := (Row{Self: x.Values, Total: x.Values}); !a.isZero(&r) {
			t.Rows = append(t.Rows, StackRow{Stack: x.stack, Label: x.label, Values: x.Values})
		}
	}
	slices.SortFunc(t.Rows, func(a, b StackRow) int {
		return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Stack, b.Stack))
	})
	return t, nil
}

// OfBlocks reports whether the grouping groups blocks, not frames.
func (b By) OfBlocks() bool { return b.ofBlocks() }

// Frames returns the frames at a pc, leaf to root, without those that the query hides.
func (q *Query) Frames(s *Source, pc uint32) []profile.Frame {
	list := s.frames(pc)
	if q.Hide == nil {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(f profile.Frame) bool { return matches(q.Hide, &f) })
}
