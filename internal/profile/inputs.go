package profile

import "github.com/heaptap/heaptap/internal/recording"

// InputMetric is a number of each input of a merged recording.
type InputMetric struct {
	Name  string
	Bytes bool // its unit
	Of    func(*recording.Input) uint64
}

// InputMetrics are all metrics of inputs.
var InputMetrics = []InputMetric{
	{"peak", true, func(i *recording.Input) uint64 { return i.PeakBytes }},
	{"bytes", true, func(i *recording.Input) uint64 { return i.Bytes }},
	{"allocations", false, func(i *recording.Input) uint64 { return i.Allocations }},
	{"leaked", true, func(i *recording.Input) uint64 { return OwnLeak(i).Bytes }},
}

// OwnLeak returns what a process of a merged recording leaked, without what the runtime keeps.
func OwnLeak(i *recording.Input) Leak {
	return Leak{
		i.LeakedBytes - min(i.RuntimeBytes, i.LeakedBytes),
		i.LeakedBlocks - min(i.RuntimeBlocks, i.LeakedBlocks),
	}
}

// InputSpread says how much the inputs of a merged recording differ in a metric.
type InputSpread struct {
	Least, Mean, Most uint64
	Sum               float64
	LeastAt, MostAt   int // indexes of the first inputs that have them
}

// Spread returns the metric's spread over the inputs.
func (m *InputMetric) Spread(inputs []recording.Input) (s InputSpread) {
	sum := uint64(0)
	for i := range inputs {
		v := m.Of(&inputs[i])
		sum += v
		s.Sum += float64(v)
		if i == 0 || v < s.Least {
			s.Least, s.LeastAt = v, i
		}
		if i == 0 || v > s.Most {
			s.Most, s.MostAt = v, i
		}
	}
	s.Mean = sum / uint64(max(len(inputs), 1))
	return s
}
