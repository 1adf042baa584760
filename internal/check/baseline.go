package check

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/query"
)

// Baseline is a recording of before, and by how much its numbers may be exceeded.
type Baseline struct {
	Source    *query.Source
	Metrics   []query.Metric
	Tolerance float64 // share of the baseline's value; 0.02: two hundredths more are tolerated
	// Stacks is by how much each call stack may grow, as a share of the baseline's value of all; negative: stacks
	// do not matter.
	Stacks float64

	measured *measured // once it was asked for
}

// Compared are the metrics that are compared if none are named.
var Compared = []query.Metric{query.Peak, query.Leaked, query.LeakedBlocks, query.Allocations, query.Bytes,
	query.Temporary}

// compare checks each metric, and the growth of each stack.
func (b *Baseline) compare(before, now *measured) []Check {
	var list []Check
	for _, metric := range b.Metrics {
		c := Check{Kind: Base, Metric: metric, Value: now.value(metric), Base: before.value(metric)}
		c.Limit = c.Base + share(c.Base, b.Tolerance)
		c.Failed = c.Value > c.Limit
		var grown []Stack
		if c.Failed || b.Stacks >= 0 {
			grown = growth(before, now, metric)
		}
		if c.Failed {
			c.blame(grown, (*Stack).growth)
		}
		list = append(list, c)
		if b.Stacks < 0 {
			continue
		}
		each := Check{Kind: StackBase, Metric: metric, Base: c.Base, Limit: share(c.Base, b.Stacks)}
		if len(grown) > 0 {
			each.Value = grown[0].growth()
		}
		each.Stacks = slices.DeleteFunc(slices.Clone(grown), func(s Stack) bool { return s.growth() <= each.Limit })
		each.Failed = len(each.Stacks) > 0
		list = append(list, each)
	}
	return list
}

func share(n uint64, of float64) uint64 { return uint64(float64(n) * of) }

// growth is by how much a stack's value is above the baseline's.
func (s *Stack) growth() uint64 { return s.Value - min(s.Base, s.Value) }

// growth are the stacks whose value is above that of the same functions in the baseline, by how much, largest
// first. Stacks of the same functions are one.
func growth(before, now *measured, metric query.Metric) []Stack {
	k := make(keys)
	base := make(map[int]uint64)
	old := k.of(before.s)
	for _, s := range before.stacks(metric) {
		base[old(s.ID)] += s.Value
	}
	at := make(map[int]int)
	var list []Stack
	current := k.of(now.s)
	for _, s := range now.stacks(metric) {
		k := current(s.ID)
		if i, ok := at[k]; ok {
			list[i].Value += s.Value
			list[i].Blocks += s.Blocks
			continue
		}
		at[k] = len(list)
		s.Base = base[k]
		list = append(list, s)
	}
	list = slices.DeleteFunc(list, func(s Stack) bool { return s.growth() == 0 })
	slices.SortStableFunc(list, func(a, b Stack) int { return cmp.Compare(b.growth(), a.growth()) })
	return list
}

// keys number what stacks have in common with the same ones in the recording of another build: functions and the
// names of their files, without version; the program itself may be called otherwise.
type keys map[frameKey]int

// frameKey is a frame and the number of those that called it; 0: none.
type frameKey struct {
	callers          int
	function, module string
}

// of returns what numbers the stacks of a recording. Stacks share their outer frames: each node is looked at once.
func (k keys) of(s *query.Source) func(stack uint32) int {
	nodes, known := s.Reader.Nodes(), make(map[uint32]int)
	var way []uint32
	return func(stack uint32) int {
		way = way[:0]
		key := 0
		for stack != 0 {
			there := false
			if key, there = known[stack]; there {
				break
			}
			n, ok := nodes.Get(stack)
			if !ok {
				break
			}
			way = append(way, stack)
			stack = n.Parent
		}
		for _, id := range slices.Backward(way) {
			n, _ := nodes.Get(id)
			for _, f := range slices.Backward(s.PCFrames(n.PC)) {
				next := frameKey{callers: key, function: f.Function}
				if next.function == "" {
					next.function = "+" + strconv.FormatUint(f.Offset, 16)
				}
				if f.Module != s.Profile.Process.Exe {
					next.module, _, _ = strings.Cut(path.Base(f.Module), ".so")
				}
				if key = k[next]; key == 0 {
					key = len(k) + 1
					k[next] = key
				}
			}
			known[id] = key
		}
		return key
	}
}
