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
	// Stacks is by how much each call stack may grow, as a share of the baseline's value of all; negative: stacks do not matter.
	Stacks float64

	measured *measured // once it was asked for
}

// Compared are the metrics that are compared if none are named.
var Compared = []query.Metric{query.Peak, query.Leaked, query.LeakedBlocks, query.Allocations, query.Bytes, query.Temporary}

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

// growth are the stacks whose value is above that of the same functions in the baseline, by how much, largest first. Stacks of
// the same functions are one.
func growth(before, now *measured, metric query.Metric) []Stack {
	base := make(map[string]uint64)
	for _, s := range before.stacks(metric) {
		base[key(before.s, s.ID)] += s.Value
	}
	at := make(map[string]int)
	var list []Stack
	for _, s := range now.stacks(metric) {
		k := key(now.s, s.ID)
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

// key is what a stack has in common with the same one in the recording of another build: functions and the names of their files, without
// version; the program itself may be called otherwise.
func key(s *query.Source, stack uint32) string {
	var b strings.Builder
	for _, f := range s.Frames(stack) {
		name := f.Function
		if name == "" {
			name = "+" + strconv.FormatUint(f.Offset, 16)
		}
		b.WriteString(name)
		b.WriteByte(0)
		if f.Module != s.Profile.Process.Exe {
			module, _, _ := strings.Cut(path.Base(f.Module), ".so")
			b.WriteString(module)
		}
		b.WriteByte(1)
	}
	return b.String()
}
