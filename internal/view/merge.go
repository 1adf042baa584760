package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/recording"
)

// inputMetric is a number of each input of a merged recording.
type inputMetric struct {
	name  string
	bytes bool
	of    func(*recording.Input) uint64
}

var inputMetrics = []inputMetric{
	{"peak", true, func(i *recording.Input) uint64 { return i.PeakBytes }},
	{"bytes", true, func(i *recording.Input) uint64 { return i.Bytes }},
	{"allocations", false, func(i *recording.Input) uint64 { return i.Allocations }},
	{"leaked", true, func(i *recording.Input) uint64 { return i.LeakedBytes }},
}

// spread is the least, the mean and the most of a metric, and the places of the first inputs that have them.
type spread struct {
	least, mean, most     uint64
	leastAt, mostAt, many int
}

func spreadOf(list []recording.Input, m *inputMetric) (s spread) {
	sum := uint64(0)
	for i := range list {
		v := m.of(&list[i])
		sum += v
		if i == 0 || v < s.least {
			s.least, s.leastAt = v, i
		}
		if i == 0 || v > s.most {
			s.most, s.mostAt = v, i
		}
	}
	s.many = len(list)
	if s.many > 0 {
		s.mean = sum / uint64(s.many)
	}
	return s
}

// inputName is how people know an input.
func inputName(i *recording.Input, width int) string {
	return middle(clean(i.File), max(8, width))
}

// together tells of the peak of a merged recording.
func (r *report) together() {
	least, most := r.p.Merged.Peak()
	t := &r.p.Totals
	if r.p.Merged.Imported() != "" {
		r.line("peak", fmt.Sprintf("%s in %s", r.bold(r.size(t.Peak.Bytes)), humanize.Plural(t.Peak.Blocks, "block")))
		return
	}
	r.line("peak", fmt.Sprintf("%s in %s, the sum of the processes' peaks", r.bold(r.size(t.Peak.Bytes)), humanize.Plural(t.Peak.Blocks, "block")))
	if r.Selection != nil || len(r.p.Merged.Inputs) == 0 {
		return // the bounds are not of the selected, or not known
	}
	how := "counted from each one's start"
	if r.p.Merged.Clock {
		how = "by the wall clock"
	}
	text := fmt.Sprintf("%s to %s at one moment, %s", r.bold(r.size(least)), r.bold(r.size(most)), how)
	if least == most {
		text = fmt.Sprintf("%s at one moment, %s", r.bold(r.size(most)), how)
	}
	r.line("together", text)
}

// inputs lists what was merged: first how much the inputs differ, then those with the largest peaks.
func (r *report) inputs() {
	m := r.p.Merged
	if m == nil || r.Top < 0 || m.Imported() != "" || len(m.Inputs) == 0 { // none: the list is damaged, as a warning says
		return
	}
	r.printf("%s  %s\n", r.title("INPUTS"), r.faint(humanize.Plural(uint64(len(m.Inputs)), "recording")))
	size := func(k *inputMetric, v uint64) string {
		if k.bytes {
			return r.size(v)
		}
		return r.short(v)
	}
	r.printf("%s\n", r.faint(padLeft("least", 24)+padLeft("mean", 12)+padLeft("most", 12)))
	for k := range inputMetrics {
		im := &inputMetrics[k]
		s := spreadOf(m.Inputs, im)
		r.printf("  %s%s%s%s  %s\n", padRight(im.name, 12), padLeft(size(im, s.least), 10), padLeft(size(im, s.mean), 12),
			r.bold(padLeft(size(im, s.most), 12)), r.faint(inputName(&m.Inputs[s.mostAt], r.Width-52)))
	}
	order := make([]int, len(m.Inputs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(m.Inputs[b].PeakBytes, m.Inputs[a].PeakBytes) })
	r.printf("%s\n", r.faint(padLeft("peak", 12)+padLeft("leaked", 12)+padLeft("allocations", 14)+padLeft("ran", 17)+padLeft("process", 10)))
	shown := order[:min(len(order), 4*r.Top)]
	for _, i := range shown {
		in := &m.Inputs[i]
		name := inputName(in, r.Width-69)
		if in.Host != "" && r.p.Process.Host == "" {
			name += " " + r.faint("on "+clean(in.Host))
		}
		if in.Status != "" && !strings.HasSuffix(r.p.Ending.Status, in.Status) {
			name += " " + r.faint(clean(in.Status))
		}
		r.printf("%s%s%s%s%s  %s\n", r.bold(padLeft(r.size(in.PeakBytes), 12)), padLeft(r.size(in.LeakedBytes), 12),
			padLeft(r.short(in.Allocations), 14), padLeft(r.duration(in.End), 17), padLeft(fmt.Sprint(in.PID), 10), name)
	}
	if n := len(order) - len(shown); n > 0 {
		r.printf("  %s\n", r.faint(fmt.Sprintf("and %d more (--top, --json)", n)))
	}
	r.printf("\n")
}

type jsonMerge struct {
	Align  string             `json:"align"`
	Peak   jsonMergePeak      `json:"peak"`
	Spread map[string]jsonTri `json:"spread"`
	Inputs []jsonInput        `json:"inputs"`
}

type jsonMergePeak struct {
	Sum     uint64 `json:"sum_of_peaks_bytes"`
	AtLeast uint64 `json:"together_at_least_bytes"`
	AtMost  uint64 `json:"together_at_most_bytes"`
}

// jsonTri is a number of the inputs.
type jsonTri struct {
	Min      uint64  `json:"min"`
	Mean     float64 `json:"mean"`
	Max      uint64  `json:"max"`
	MinInput *uint32 `json:"min_input"` // null: several have nothing
	MaxInput uint32  `json:"max_input"`
}

type jsonInput struct {
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

func jsonMergeOf(p *profile.Profile) *jsonMerge {
	m := p.Merged
	if m == nil {
		return nil
	}
	least, most := m.Peak()
	j := &jsonMerge{Align: "start", Peak: jsonMergePeak{p.Totals.Peak.Bytes, least, most}, Spread: make(map[string]jsonTri), Inputs: []jsonInput{}}
	if m.Clock {
		j.Align = "clock"
	}
	for k := range inputMetrics {
		if len(m.Inputs) == 0 {
			break
		}
		s := spreadOf(m.Inputs, &inputMetrics[k])
		at := uint32(s.leastAt)
		sum := 0.
		for i := range m.Inputs {
			sum += float64(inputMetrics[k].of(&m.Inputs[i]))
		}
		j.Spread[inputMetrics[k].name] = jsonTri{s.least, sum / float64(max(s.many, 1)), s.most, &at, uint32(s.mostAt)}
	}
	for i := range m.Inputs {
		in := &m.Inputs[i]
		k := jsonInput{in.File, in.PID, in.Host, in.Exe, orEmpty(in.Args), in.Started, in.End, in.Status, in.Threads, in.Events, in.Lost,
			in.Allocations, in.Bytes, in.Deallocations, in.Temporary, in.PeakBytes, in.PeakBlocks, in.PeakTime, in.LeakedBytes,
			in.LeakedBlocks, in.RuntimeBytes, in.RuntimeBlocks, nil, in.Format}
		if in.PeakRSS >= 0 {
			k.PeakRSS = &in.PeakRSS
		}
		j.Inputs = append(j.Inputs, k)
	}
	return j
}

type jsonStackSpread struct {
	Inputs uint64             `json:"inputs"` // that have the stack
	Spread map[string]jsonTri `json:"spread"` // over all inputs
}

// stackSpreadOf tells how a stack differs between the inputs; nil if there are none.
func stackSpreadOf(p *profile.Profile, s *profile.Stack) *jsonStackSpread {
	if p.Merged == nil {
		return nil
	}
	v, ok := p.Merged.Spreads[s.ID]
	if !ok {
		return nil
	}
	n := uint64(len(p.Merged.Inputs))
	j := &jsonStackSpread{Inputs: v.Inputs, Spread: make(map[string]jsonTri)}
	sums := [...]uint64{s.LiveAtPeakBytes, s.Bytes, s.Allocations, s.Stack.LeakedBytes()}
	for k, e := range v.All() {
		t := jsonTri{e.Min, float64(sums[k]) / float64(max(n, 1)), e.Max, &e.MinAt, e.MaxAt}
		if v.Inputs < n {
			t.Min, t.MinInput = 0, nil
		}
		j.Spread[inputMetrics[k].name] = t
	}
	return j
}
