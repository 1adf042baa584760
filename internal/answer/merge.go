package answer

import "github.com/heaptap/heaptap/internal/profile"

// Merge says what a merged recording was made of.
type Merge struct {
	Align  string            `json:"align"`
	Peak   MergePeak         `json:"peak"`
	Spread map[string]Spread `json:"spread"`
	Inputs []Input           `json:"inputs"`
}

// MergePeak bounds the peak of all inputs together.
type MergePeak struct {
	Sum     uint64 `json:"sum_of_peaks_bytes"`
	AtLeast uint64 `json:"together_at_least_bytes"`
	AtMost  uint64 `json:"together_at_most_bytes"`
}

// Spread is how much the inputs differ in a number.
type Spread struct {
	Min      uint64  `json:"min"`
	Mean     float64 `json:"mean"`
	Max      uint64  `json:"max"`
	MinInput *uint32 `json:"min_input"` // null: several have nothing
	MaxInput uint32  `json:"max_input"`
}

// Input is a recording that was merged.
type Input struct {
	File          string   `json:"file"`
	PID           int      `json:"pid"`
	Host          string   `json:"host"`
	Exe           string   `json:"exe"`
	Args          []string `json:"args"`
	StartedNS     int64    `json:"started_ns"`
	DurationNS    int64    `json:"duration_ns"`
	Status        string   `json:"status"`
	Threads       int      `json:"threads"`
	Events        uint64   `json:"events"`
	Lost          uint64   `json:"lost_events"`
	Allocations   uint64   `json:"allocations"`
	Bytes         uint64   `json:"bytes"`
	Deallocations uint64   `json:"deallocations"`
	Temporary     uint64   `json:"temporary"`
	PeakBytes     uint64   `json:"peak_bytes"`
	PeakBlocks    uint64   `json:"peak_blocks"`
	PeakTimeNS    int64    `json:"peak_time_ns"`
	LeakedBytes   uint64   `json:"leaked_bytes"`
	LeakedBlocks  uint64   `json:"leaked_blocks"`
	RuntimeBytes  uint64   `json:"runtime_bytes"`
	RuntimeBlocks uint64   `json:"runtime_blocks"`
	PeakRSS       *int64   `json:"peak_rss_bytes"`
	Format        string   `json:"format"`
}

func newMerge(p *profile.Profile) *Merge {
	m := p.Merged
	if m == nil {
		return nil
	}
	least, most := m.Peak()
	j := &Merge{Align: "start", Peak: MergePeak{p.Totals.Peak.Bytes, least, most}, Spread: make(map[string]Spread),
		Inputs: []Input{}}
	if m.Clock {
		j.Align = "clock"
	}
	for k := range profile.InputMetrics {
		if len(m.Inputs) == 0 {
			break
		}
		x := profile.InputMetrics[k].Spread(m.Inputs)
		at := uint32(x.LeastAt)
		j.Spread[profile.InputMetrics[k].Name] = Spread{x.Least, x.Sum / float64(len(m.Inputs)), x.Most, &at,
			uint32(x.MostAt)}
	}
	for i := range m.Inputs {
		in := &m.Inputs[i]
		leaked := profile.OwnLeak(in)
		k := Input{in.File, in.PID, in.Host, in.Exe, orEmpty(in.Args), in.Started, in.End, in.Status, in.Threads,
			in.Events, in.Lost, in.Allocations, in.Bytes, in.Deallocations, in.Temporary, in.PeakBytes, in.PeakBlocks,
			in.PeakTime, leaked.Bytes, leaked.Blocks, in.RuntimeBytes, in.RuntimeBlocks, nil, in.Format}
		if in.PeakRSS >= 0 {
			k.PeakRSS = &in.PeakRSS
		}
		j.Inputs = append(j.Inputs, k)
	}
	return j
}

// StackSpread is how much the inputs differ in a call stack.
type StackSpread struct {
	Inputs uint64            `json:"inputs"` // that have the stack
	Spread map[string]Spread `json:"spread"` // over all inputs
}

// newStackSpread returns nil if the recording is not a merged one.
func newStackSpread(p *profile.Profile, s *profile.Stack) *StackSpread {
	if p.Merged == nil {
		return nil
	}
	v, ok := p.Merged.Spreads[s.ID]
	if !ok {
		return nil
	}
	n := uint64(len(p.Merged.Inputs))
	j := &StackSpread{Inputs: v.Inputs, Spread: make(map[string]Spread)}
	sums := [...]uint64{s.LiveAtPeakBytes, s.Bytes, s.Allocations, s.Stack.LeakedBytes()}
	for k, e := range v.All() {
		t := Spread{e.Min, float64(sums[k]) / float64(max(n, 1)), e.Max, &e.MinAt, e.MaxAt}
		if v.Inputs < n {
			t.Min, t.MinInput = 0, nil
		}
		j.Spread[profile.InputMetrics[k].Name] = t
	}
	return j
}
