package replay

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Settings say what is measured.
type Settings struct {
	Runs int
	// Touch is what is written to. "": the first bytes, and where memory is measured either what the plan says, or the
	// first bytes in some runs and all pages in others, so that the resident set is known as an interval.
	Touch Touch
	// Progress gets how many runs of the player have ended.
	Progress func(done, total uint64)
	// Failed gets errors of allocators, which are left out then.
	Failed func(error)
}

// moreRuns bounds the runs in which clocks are read again and again.
const moreRuns = 3

// Spread is what several runs gave.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func spreadOf(list []float64) Spread {
	if len(list) == 0 {
		return Spread{}
	}
	list = slices.Clone(list)
	slices.Sort(list)
	middle := list[len(list)/2]
	if len(list)%2 == 0 {
		middle = (middle + list[len(list)/2-1]) / 2
	}
	return Spread{middle, list[0], list[len(list)-1]}
}

// Results are what the runs gave.
type Results struct {
	Plan *Plan
	// Changed is the plan of the changed program; nil: no change was tried.
	Changed *Plan
	Runs    int
	Touch
	Own Own
	// Rows are in the order of the allocators; those that failed are left out. That of the changed program comes after
	// that of the recorded one.
	Rows []*Row
	// What failed, as sentences.
	Failures []string
	Verdict  string
}

// Pages reports whether memory was measured with the recorded pages touched.
func (r *Results) Pages() bool {
	return r.Touch == TouchRecorded || r.Touch == "" && r.Plan.recorded
}

// Own is what the player itself costs, which has been subtracted.
type Own struct {
	Call    float64 // ns, without a clock
	Latency float64 // ns, the median with a clock
	RSS     float64 // bytes
}

// Row is an allocator's results. Times are in ns, and memory in bytes.
type Row struct {
	Allocator
	Changed bool // of the changed program
	Version string
	File    string // that malloc was in

	Call    Spread // a thread's time per call, without waiting
	CPU     Spread // processor time of all threads, the allocator's own included
	Wall    Spread // from the first call to the last
	Waited  Spread // threads waited so long for others
	Latency Latency
	ByCall  []CallLatency
	// RemoteFree is the mean time of a free of a block that another thread had allocated, LocalFree that of others.
	RemoteFree, LocalFree float64
	RemoteFrees           uint64

	// What was resident with nothing touched, the first bytes, all pages, and the recorded ones; nil: not measured.
	None, First, All, Recorded *Resident
	MinorFaults                Spread
	MajorFaults                Spread
	SystemCalls                []SystemCall // nil: they could not be counted
}

// Resident is what was resident, without what is the player's own.
type Resident struct {
	Peak      Spread
	Mean      Spread // over the recorded time
	PeakPSS   Spread
	Fragments Spread // mean resident bytes for each live requested byte
	End       Spread // after the last event
	Freed     Spread // after all blocks were freed
	Curve     []CurvePoint
}

// CurvePoint is a moment of a replay.
type CurvePoint struct {
	Time int64   `json:"time_ns"` // in the recording
	Live uint64  `json:"live_bytes"`
	RSS  float64 `json:"rss_bytes"`
}

// Latency describes the time of single calls.
type Latency struct {
	Calls                     uint64
	Mean, P50, P99, P999, Max float64
}

// CallLatency is the latency of one kind of call, for sizes of one class.
type CallLatency struct {
	Call  string
	Sizes string // "": all
	Latency
}

// SystemCall counts calls by which memory is got and returned.
type SystemCall struct {
	Name  string `json:"name"`
	Count uint64 `json:"count"`
}

// The names of kinds of calls, and of classes of sizes.
var (
	callNames  = [calls]string{"malloc", "calloc", "realloc", "aligned", "free", "free by another thread"}
	classNames = [sizeClasses]string{"..16", "17..64", "65..256", "257..1k", "1k..4k", "4k..32k", "32k..256k", "256k.."}
)

// systemCalls are those that are counted, by their numbers on amd64.
var systemCalls = []struct {
	number int
	name   string
}{{9, "mmap"}, {10, "mprotect"}, {11, "munmap"}, {12, "brk"}, {25, "mremap"}, {28, "madvise"}}

const (
	callFree = 4 + iota
	callFreeOfOther
)

// sums are the outcomes of one allocator's runs.
type sums struct {
	a       Allocator
	plan    *Plan
	empty   *sums // of the same plan
	err     error
	time    []*outcome
	latency []*outcome
	memory  map[Touch][]memoryRun
	calls   *outcome
	noCalls bool
}

type memoryRun struct {
	*outcome
	readings []reading
}

// WhatIf is added to the name of an allocator that was measured with a changed program.
const WhatIf = " (what if)"

// Measure plays a plan against allocators, in turns, and that of a changed program as well, unless it is nil. An
// allocator that fails is left out; it is an error if all fail.
func Measure(ctx context.Context, p *Player, plan, changed *Plan, list []Allocator, s Settings) (*Results, error) {
	basic := s.Touch
	if basic == "" {
		basic = TouchFirst
	}
	plans := []*Plan{plan}
	if changed != nil {
		plans = append(plans, changed)
	}
	var all []*sums
	for _, plan := range plans {
		all = append(all, &sums{a: p.empty(), plan: plan})
	}
	for _, a := range list {
		for i, plan := range plans {
			all = append(all, &sums{a: a, plan: plan, empty: all[i]})
		}
	}
	total, done := uint64(len(all)*(3*s.Runs+min(s.Runs, moreRuns)+1)), uint64(0)
	for round := range s.Runs {
		for _, m := range all {
			t := basic
			if m.empty == nil {
				t = TouchNone
			}
			steps := []step{{modeTime, t}}
			if round < moreRuns {
				steps = append(steps, step{modeLatency, t})
			}
			switch {
			case m.empty == nil || s.Touch != "":
				steps = append(steps, step{modeMemory, t})
			case m.plan.recorded:
				steps = append(steps, step{modeMemory, TouchRecorded})
			default:
				steps = append(steps, step{modeMemory, t}, step{modeMemory, TouchAll})
			}
			if round == 0 && m.empty != nil {
				steps = append(steps, step{modeCalls, t})
			}
			for _, one := range steps {
				if m.err == nil {
					m.run(ctx, p, one)
				}
				if done++; s.Progress != nil {
					s.Progress(min(done, total-1), total)
				}
			}
			switch {
			case ctx.Err() != nil:
				return nil, context.Cause(ctx)
			case m.err != nil && (m.empty == nil || !isFailed(m.err)):
				return nil, m.err
			}
		}
	}
	if s.Progress != nil {
		s.Progress(total, total)
	}
	return collect(plan, changed, all, s)
}

type step struct {
	mode
	Touch
}

func (m *sums) run(ctx context.Context, p *Player, s step) {
	o, readings, err := p.play(ctx, m.plan, m.a, s.mode, s.Touch)
	if s.mode == modeCalls {
		// A kernel or an allocator may not allow it: then they are not counted.
		if m.calls = o; err != nil {
			m.calls, m.noCalls = nil, true
		}
		return
	}
	if err != nil {
		m.err = err
		return
	}
	if m.memory == nil {
		m.memory = make(map[Touch][]memoryRun)
	}
	switch s.mode {
	case modeTime:
		m.time = append(m.time, o)
	case modeLatency:
		m.latency = append(m.latency, o)
	case modeMemory:
		m.memory[s.Touch] = append(m.memory[s.Touch], memoryRun{o, readings})
	}
}

func collect(plan, changed *Plan, all []*sums, s Settings) (*Results, error) {
	r := &Results{Plan: plan, Changed: changed, Runs: s.Runs, Touch: s.Touch}
	r.Own = all[0].own()
	for _, m := range all {
		if m.empty == nil {
			continue
		}
		if m.err != nil {
			r.Failures = append(r.Failures, m.err.Error())
			if s.Failed != nil {
				s.Failed(m.err)
			}
			continue
		}
		r.Rows = append(r.Rows, m.row(changed, m.empty.own()))
	}
	if len(r.Rows) == 0 {
		return nil, fmt.Errorf("no allocator could be measured: %s", strings.Join(r.Failures, "; "))
	}
	if r.Verdict = verdict(r.Rows); changed != nil {
		r.Verdict = effect(r)
	}
	return r, nil
}

// own is what the player itself costs, of the runs with the allocator that does nothing.
func (m *sums) own() Own {
	return Own{
		Call:    perCall(m.time).Median,
		Latency: latencyOf(m.latency, 0, anyCall, anyClass).P50,
		RSS:     m.spread(TouchNone, func(o *outcome) float64 { return diff(o.RSSPeak, o.Tables) }).Median,
	}
}

func (m *sums) row(changed *Plan, own Own) *Row {
	o, empty, plan := m.time[0], m.empty, m.plan
	r := &Row{Changed: plan == changed, Allocator: m.a, Version: text(o.Version[:]), File: text(o.Library[:])}
	if r.Changed {
		r.Name += WhatIf
	}
	less := func(s Spread, by float64) Spread {
		return Spread{max(s.Median-by, 0), max(s.Min-by, 0), max(s.Max-by, 0)}
	}
	r.Call = less(perCall(m.time), own.Call)
	r.CPU = less(spreadBy(m.time, func(o *outcome) float64 { return diff(o.ProcessCPU, o.WaitCPU) }),
		own.Call*float64(plan.Calls))
	r.Wall = spreadBy(m.time, func(o *outcome) float64 { return diff(o.EndNS, o.BeginNS) })
	r.Waited = spreadBy(m.time, func(o *outcome) float64 { return float64(o.Wait) })
	emptyFaults := spreadBy(empty.time, func(o *outcome) float64 { return float64(o.MinorFaults) }).Median
	r.MinorFaults = less(spreadBy(m.time, func(o *outcome) float64 { return float64(o.MinorFaults) }), emptyFaults)
	r.MajorFaults = spreadBy(m.time, func(o *outcome) float64 { return float64(o.MajorFaults) })

	r.Latency = latencyOf(m.latency, own.Latency, anyCall, anyClass)
	for call := range calls {
		l := latencyOf(m.latency, own.Latency, call, anyClass)
		if l.Calls == 0 {
			continue
		}
		r.ByCall = append(r.ByCall, CallLatency{callNames[call], "", l})
		for class := range sizeClasses {
			if l := latencyOf(m.latency, own.Latency, call, class); l.Calls > 0 {
				r.ByCall = append(r.ByCall, CallLatency{callNames[call], classNames[class], l})
			}
		}
		switch call {
		case callFree:
			r.LocalFree = l.Mean
		case callFreeOfOther:
			r.RemoteFree, r.RemoteFrees = l.Mean, l.Calls
		}
	}
	r.None, r.First, r.All = m.resident(own, TouchNone), m.resident(own, TouchFirst), m.resident(own, TouchAll)
	r.Recorded = m.resident(own, TouchRecorded)
	if m.calls != nil {
		for _, c := range systemCalls {
			r.SystemCalls = append(r.SystemCalls, SystemCall{c.name, m.calls.SystemCalls[c.number]})
		}
	}
	return r
}

// perCall is the threads' time for each call, without waiting.
func perCall(list []*outcome) Spread {
	return spreadBy(list, func(o *outcome) float64 {
		n := uint64(0)
		for _, c := range o.Calls {
			n += c
		}
		return diff(o.CPU, o.WaitCPU) / float64(max(n, 1))
	})
}

func spreadBy(list []*outcome, f func(o *outcome) float64) Spread {
	values := make([]float64, len(list))
	for i, o := range list {
		values[i] = f(o)
	}
	return spreadOf(values)
}

// spread is of the runs in which memory was measured, with that much touched. In the others, threads may be further
// apart than in the program, and more may be live.
func (m *sums) spread(t Touch, f func(o *outcome) float64) Spread {
	var list []*outcome
	for _, run := range m.memory[t] {
		list = append(list, run.outcome)
	}
	return spreadBy(list, f)
}

func diff(a, b uint64) float64 { return max(float64(a)-float64(b), 0) }

// resident sums up what was resident when that much was touched.
func (m *sums) resident(own Own, t Touch) *Resident {
	plan, empty := m.plan, m.empty
	if len(m.memory[t]) == 0 {
		return nil
	}
	r := &Resident{}
	without := func(rss func(o *outcome) uint64) func(o *outcome) float64 {
		return func(o *outcome) float64 {
			return max(float64(rss(o))-float64(o.Tables)-own.RSS, 0)
		}
	}
	r.Peak = m.spread(t, without(func(o *outcome) uint64 { return max(o.RSSPeak, o.RSSEnd) }))
	r.End = m.spread(t, without(func(o *outcome) uint64 { return o.RSSEnd }))
	r.Freed = m.spread(t, without(func(o *outcome) uint64 { return o.RSSFreed }))
	var means, fragments, pss []float64
	for i, run := range m.memory[t] {
		// What is the player's own at that moment, as with the allocator that does nothing.
		runs := empty.memory[TouchNone]
		alone := runs[min(i, len(runs)-1)]
		without := func(with, alone reading, tables, aloneTables uint64) (rss, pss float64) {
			pss = float64(with.PSS) - float64(tables) - diff(alone.PSS, aloneTables)
			return max(float64(with.RSS)-float64(tables)-diff(alone.RSS, aloneTables), 0), max(pss, 0)
		}
		var sum, live, span, peakPSS float64
		var curve []CurvePoint
		before := plan.start()
		for k, e := range plan.Epochs {
			if run.readings[k].RSS == 0 || alone.readings[k].RSS == 0 {
				continue
			}
			rss, p := without(run.readings[k], alone.readings[k], run.Tables, alone.Tables)
			width := float64(e.Time-before) + 1
			before = e.Time
			sum, live, span = sum+rss*width, live+float64(e.Live)*width, span+width
			if run.readings[k].PSS > 0 {
				peakPSS = max(peakPSS, p)
			}
			curve = append(curve, CurvePoint{e.Time, e.Live, rss})
		}
		if span == 0 {
			continue
		}
		means = append(means, sum/span)
		if live > 0 {
			fragments = append(fragments, sum/live)
		}
		pss = append(pss, peakPSS)
		r.Curve = curve
	}
	r.Mean, r.Fragments, r.PeakPSS = spreadOf(means), spreadOf(fragments), spreadOf(pss)
	r.Curve = thin(r.Curve, 200)
	return r
}

// start is the time before the first epoch.
func (p *Plan) start() int64 {
	if len(p.Epochs) == 0 {
		return 0
	}
	return p.Epochs[0].Time
}

// thin keeps about n points of a curve: of each part the one with the largest resident set.
func thin(list []CurvePoint, n int) []CurvePoint {
	if len(list) <= n {
		return list
	}
	var out []CurvePoint
	for i := range n {
		part := list[i*len(list)/n : (i+1)*len(list)/n]
		out = append(out, slices.MaxFunc(part, func(a, b CurvePoint) int { return cmp.Compare(a.RSS, b.RSS) }))
	}
	return out
}

const (
	anyCall  = -1
	anyClass = -1
)

// latencyOf sums up the times of calls of one kind and class, in all runs.
func latencyOf(list []*outcome, own float64, call, class int) (l Latency) {
	var counts [buckets]float64
	var sum, most float64
	ns := 0.0
	for _, o := range list {
		rate := diff(o.EndNS, o.BeginNS) / max(diff(o.EndTSC, o.BeginTSC), 1)
		ns += rate / float64(len(list))
		for i := range o.Times {
			for k := range o.Times[i] {
				if call != anyCall && call != i || class != anyClass && class != k {
					continue
				}
				t := &o.Times[i][k]
				sum += float64(t.Sum) * rate
				most = max(most, float64(t.Most)*rate)
				for b, n := range t.Buckets {
					counts[b] += float64(n)
					l.Calls += n
				}
			}
		}
	}
	if l.Calls == 0 {
		return l
	}
	at := func(share float64) float64 { return max(min(quantile(&counts, share)*ns, most)-own, 0) }
	l.Mean = max(sum/float64(l.Calls)-own, 0)
	l.P50, l.P99, l.P999, l.Max = at(0.5), at(0.99), at(0.999), max(most-own, 0)
	l.Calls /= uint64(len(list))
	return l
}

// quantile is the value below which that share of the counts is, in cycles. Processors read their clocks in steps of up
// to 10 ns; so values between two buckets are interpolated.
func quantile(counts *[buckets]float64, share float64) float64 {
	all := 0.0
	for _, n := range counts {
		all += n
	}
	want, seen, lastSeen, last := share*all, 0.0, 0.0, -1
	for b, n := range counts {
		if n == 0 {
			continue
		}
		here := seen + n/2 // half of a bucket is below its middle
		if here >= want {
			if last < 0 {
				return middle(b)
			}
			return middle(last) + (middle(b)-middle(last))*(want-lastSeen)/(here-lastSeen)
		}
		seen, lastSeen, last = seen+n, here, b
	}
	return middle(max(last, 0))
}

// middle is the middle of a bucket, in cycles.
func middle(bucket int) float64 {
	if bucket < 16 {
		return float64(bucket)
	}
	scale := math.Ldexp(1, bucket/16-1)
	return (float64(16+bucket%16) + 0.5) * scale
}

// Resident is what allocators are compared by: with the recorded pages touched, or the first bytes, if that was
// measured.
func (r *Row) Resident() *Resident {
	for _, m := range []*Resident{r.Recorded, r.First, r.All, r.None} {
		if m != nil {
			return m
		}
	}
	return &Resident{}
}

// BestRows are the names of the best allocators.
type BestRows struct {
	Time string `json:"time"` // least processor time
	P99  string `json:"p99"`
	RSS  string `json:"peak_rss"`
	Mean string `json:"mean_rss"`
}

// Best finds the best allocators.
func (r *Results) Best() BestRows {
	least := func(value func(r *Row) float64) string {
		return slices.MinFunc(r.Rows, func(a, b *Row) int { return cmp.Compare(value(a), value(b)) }).Name
	}
	return BestRows{
		Time: least(func(r *Row) float64 { return r.CPU.Median }),
		P99:  least(func(r *Row) float64 { return r.Latency.P99 }),
		RSS:  least(func(r *Row) float64 { return r.Resident().Peak.Median }),
		Mean: least(func(r *Row) float64 { return r.Resident().Mean.Median }),
	}
}

// notable is by how much two allocators differ at least, for that to be said.
const notable = 0.05

// verdict says in a sentence which allocator is better than the first one.
func verdict(rows []*Row) string {
	if len(rows) < 2 {
		return ""
	}
	base := rows[0]
	best, saved := (*Row)(nil), 0.0
	for _, r := range rows[1:] {
		rss, cpu := change(base.Resident().Peak, r.Resident().Peak), change(base.CPU, r.CPU)
		// The larger of two gains; a gain that costs as much elsewhere is none.
		gain := max(-rss, -cpu)
		if gain > notable && gain > max(rss, cpu) && gain > saved {
			best, saved = r, gain
		}
	}
	if best == nil {
		return fmt.Sprintf("none needs clearly less memory or time than %s", base.Name)
	}
	return fmt.Sprintf("%s against %s: %s peak RSS, %s CPU time, p99 %s", best.Name, base.Name,
		percent(change(base.Resident().Peak, best.Resident().Peak), "less", "more"),
		percent(change(base.CPU, best.CPU), "less", "more"),
		percent(relative(base.Latency.P99, best.Latency.P99), "faster", "slower"))
}

// effect says in sentences what a change of the program would do.
func effect(r *Results) string {
	less := func(v float64) string { return percent(v, "less", "more") }
	text := fmt.Sprintf("what if: %s calls", percent(relative(float64(r.Plan.Calls), float64(r.Changed.Calls)),
		"fewer", "more"))
	for i, to := range r.Rows {
		if !to.Changed || i == 0 || r.Rows[i-1].Name+WhatIf != to.Name {
			continue
		}
		from := r.Rows[i-1]
		text += fmt.Sprintf("; with %s %s CPU time, %s peak RSS", from.Name, less(change(from.CPU, to.CPU)),
			less(change(from.Resident().Peak, to.Resident().Peak)))
	}
	return text
}

func change(from, to Spread) float64 { return relative(from.Median, to.Median) }

func relative(from, to float64) float64 {
	if from <= 0 {
		return 0
	}
	return to/from - 1
}

func percent(v float64, less, more string) string {
	word := more
	if v < 0 {
		word, v = less, -v
	}
	if v < 0.005 {
		return "the same"
	}
	return fmt.Sprintf("%.0f %% %s", 100*v, word)
}
