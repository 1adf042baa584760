package tally

import (
	"encoding/binary"
	"slices"
)

// The numbers of all stacks are stored column by column, each as the zigzag-encoded difference from a prediction, which
// may use the stack's numbers in earlier columns. At most stacks all blocks have the same size, and all or none are
// freed; then nearly all differences are 0.

// column is one number of a stack and its prediction.
type column struct {
	of    func(*Stack) *uint64
	guess func(*Stack) uint64
}

// stackColumns follow the first column, which holds the difference from the previous stack's id (the first: the id),
// without a prediction. The lifetime's low part is stored in the unit of lifetimes. A reader skips columns that it does
// not know. The last column is left out if all its numbers are 0.
var stackColumns = [...]column{
	{func(s *Stack) *uint64 { return &s.Allocations }, zero},
	{func(s *Stack) *uint64 { return &s.MinSize }, zero},
	{func(s *Stack) *uint64 { return &s.MaxSize }, func(s *Stack) uint64 { return s.MinSize }},
	{func(s *Stack) *uint64 { return &s.Bytes }, func(s *Stack) uint64 { return s.Allocations * s.MinSize }},
	{func(s *Stack) *uint64 { return &s.Deallocations }, func(s *Stack) uint64 { return s.Allocations }},
	{func(s *Stack) *uint64 { return &s.FreedBytes },
		func(s *Stack) uint64 { return s.Bytes - (s.Allocations-s.Deallocations)*s.MinSize }},
	{func(s *Stack) *uint64 { return &s.Failed }, zero},
	{func(s *Stack) *uint64 { return &s.Temporary }, zero},
	{func(s *Stack) *uint64 { return &s.TemporaryBytes }, func(s *Stack) uint64 { return s.Temporary * s.MinSize }},
	{func(s *Stack) *uint64 { return &s.Reallocations }, zero},
	{func(s *Stack) *uint64 { return &s.InPlace }, zero},
	{func(s *Stack) *uint64 { return &s.ZeroSize }, zero},
	{func(s *Stack) *uint64 { return &s.SlackCount }, func(s *Stack) uint64 { return s.Allocations }},
	// glibc's.
	{func(s *Stack) *uint64 { return &s.Slack },
		func(s *Stack) uint64 { return s.SlackCount * (-(s.MinSize + 8) & 15) }},
	{func(s *Stack) *uint64 { return &s.Lifetime.Hi }, zero},
	{func(s *Stack) *uint64 { return &s.Lifetime.Lo }, zero},
	{func(s *Stack) *uint64 { return &s.LiveAtPeakBlocks }, zero},
	{func(s *Stack) *uint64 { return &s.LiveAtPeakBytes },
		func(s *Stack) uint64 { return s.LiveAtPeakBlocks * s.MinSize }},
	{func(s *Stack) *uint64 { return &s.OwnPeakBytes },
		func(s *Stack) uint64 { return max(s.MaxSize, s.LeakedBytes(), s.LiveAtPeakBytes) }},
	{func(s *Stack) *uint64 { return &s.Untimed }, zero},
}

const (
	lifetimeColumn = 15 // the one with a unit
	leastColumns   = len(stackColumns) - 1
)

func zero(*Stack) uint64 { return 0 }

func zigzag(v uint64) uint64   { return v<<1 ^ uint64(int64(v)>>63) }
func unzigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }

func appendStacks(b []byte, list []Stack) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	if len(list) == 0 {
		return b
	}
	// A recording's times are multiples of its quantum, and so are their sums, unless they overflowed.
	unit := uint64(100)
	for i := range list {
		if list[i].Lifetime.Lo%unit != 0 || list[i].Lifetime.Hi != 0 {
			unit = 1
			break
		}
	}
	b = binary.AppendUvarint(b, unit)
	columns := stackColumns[:leastColumns]
	if slices.ContainsFunc(list, func(s Stack) bool { return s.Untimed != 0 }) {
		columns = stackColumns[:]
	}
	b = binary.AppendUvarint(b, uint64(1+len(columns)))
	var last uint32
	for i := range list {
		b = binary.AppendUvarint(b, uint64(list[i].ID-last))
		last = list[i].ID
	}
	// All columns of some stacks, then of the next ones: all stacks together may not fit into the cache.
	parts := make([][]byte, len(columns))
	for c := range parts {
		parts[c] = make([]byte, 0, len(list)+len(list)/8)
	}
	for some := range slices.Chunk(list, 256) {
		for c := range columns {
			of, guess, part := columns[c].of, columns[c].guess, parts[c]
			for i := range some {
				v := *of(&some[i])
				if c == lifetimeColumn {
					v /= unit
				}
				if v = zigzag(v - guess(&some[i])); v < 0x80 {
					part = append(part, byte(v))
				} else {
					part = binary.AppendUvarint(part, v)
				}
			}
			parts[c] = part
		}
	}
	for _, part := range parts {
		b = append(b, part...)
	}
	return b
}

func (d *decoder) stacks() []Stack {
	// A number takes at least a byte here, and a stack less than ten times that in memory.
	n := d.count("stacks", 1+leastColumns)
	if n == 0 {
		return nil
	}
	unit, columns := d.number("unit"), d.number("columns")
	if d.err == nil && (columns < 1+uint64(leastColumns) || columns > uint64(len(d.rest)/n)) {
		d.fail("columns", "they cannot be so many")
	}
	if d.err != nil {
		return nil
	}
	list := make([]Stack, n)
	id := uint64(0)
	for i := range list {
		delta := d.number("stack id")
		id += delta
		if d.err == nil && (delta > 1<<32-1 || id > 1<<32-1 || i > 0 && delta == 0) {
			d.fail("stack id", "stacks are not in order of their ids")
		}
		list[i].ID = uint32(id)
	}
	known := stackColumns[:min(columns-1, uint64(len(stackColumns)))]
	for c := range known {
		of, guess := known[c].of, known[c].guess
		for i := range list {
			v := unzigzag(d.number("stack")) + guess(&list[i])
			if c == lifetimeColumn {
				v *= unit
			}
			*of(&list[i]) = v
		}
	}
	for range (columns - 1 - uint64(len(known))) * uint64(n) {
		d.number("stack")
	}
	return list
}
