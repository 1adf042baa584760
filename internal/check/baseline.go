package check

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/query"
)

// Baseline is an earlier recording, or those of several runs, and by how much their numbers may be exceeded.
type Baseline struct {
	Sources   []*query.Source
	Metrics   []query.Metric
	Tolerance float64 // share of the baseline's value: with 0.02, 2 % more is tolerated
	// Stacks limits the growth of each call stack, as a share of the baseline's value of all stacks; negative: stacks
	// are not checked.
	Stacks float64

	measured []*measured // cache
}

// Compared are the metrics that are compared by default.
var Compared = []query.Metric{query.Peak, query.Leaked, query.LeakedBlocks, query.Allocations, query.Bytes,
	query.Temporary}

// compare checks each metric, and the growth of each stack: that in the runs in the middle.
func (b *Baseline) compare(before, now []*measured) []Check {
	var list []Check
	for _, metric := range b.Metrics {
		c := b.judge(metric, values(before, metric), values(now, metric))
		old, current := before[middle(c.BaseRuns)], now[middle(c.Runs)]
		c.Source = current.s
		var grown []Stack
		if c.Failed || b.Stacks >= 0 {
			grown = growth(old, current, metric)
		}
		if c.Failed {
			c.blame(grown, (*Stack).growth)
		}
		list = append(list, c)
		if b.Stacks < 0 {
			continue
		}
		each := Check{Kind: StackBase, Metric: metric, Base: c.Base, Limit: share(c.Base, b.Stacks), Source: c.Source}
		if len(grown) > 0 {
			each.Value = grown[0].growth()
		}
		each.Stacks = slices.DeleteFunc(slices.Clone(grown), func(s Stack) bool { return s.growth() <= each.Limit })
		each.Failed = len(each.Stacks) > 0
		list = append(list, each)
	}
	return list
}

func values(runs []*measured, metric query.Metric) (list []uint64) {
	for _, m := range runs {
		list = append(list, m.value(metric))
	}
	return list
}

// judge compares the values of a metric. The tolerance is added to each value of the baseline; then a rank test says
// whether noise explains that these are smaller. If there are too few runs for that, all of these values must be larger
// than all of the baseline. With one run of either, noise is not known, and whatever exceeds the limit fails.
func (b *Baseline) judge(metric query.Metric, before, now []uint64) Check {
	c := Check{Kind: Base, Metric: metric, Value: median(now), Base: median(before), Runs: now, BaseRuns: before}
	c.Limit = c.Base + share(c.Base, b.Tolerance)
	if c.NotKnown = len(before) == 1 && len(now) == 1; c.NotKnown {
		c.Failed = c.Value > c.Limit
		return c
	}
	tolerated := make([]uint64, len(before))
	for i, v := range before {
		tolerated[i] = v + share(v, b.Tolerance)
	}
	c.Chance = chance(now, tolerated)
	enough := alpha / float64(len(b.Metrics))
	c.Few = leastChance(len(now), len(before)) > enough
	c.Failed = c.Value > c.Limit && (c.Chance <= enough || c.Few && slices.Min(now) > slices.Max(tolerated))
	return c
}

func share(n uint64, of float64) uint64 { return uint64(float64(n) * of) }

// growth returns by how much a stack's value exceeds the baseline's.
func (s *Stack) growth() uint64 { return s.Value - min(s.Base, s.Value) }

// growth returns the stacks whose value exceeds that of the same functions in the baseline, the largest excess first.
// Stacks with the same functions are merged.
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

// keys numbers what a stack has in common with the same stack in another build: functions and the names of their files,
// without versions. The program itself may have another name.
type keys map[frameKey]int

// frameKey is a frame and the number of its callers; 0: none.
type frameKey struct {
	callers          int
	function, module string
}

// of returns a function that numbers the stacks of a recording. Stacks share their outer frames: each node is visited
// once.
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
