package answer

import (
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/replay"
)

// Replay is how allocators fared when a recording was played against them. Times are in nanoseconds, and memory is in
// bytes. What the player itself costs was subtracted.
type Replay struct {
	FormatVersion int             `json:"format_version"`
	Recording     Recording       `json:"recording"`
	Order         string          `json:"order"`
	Speed         string          `json:"speed"`
	Runs          int             `json:"runs"`
	Calls         uint64          `json:"calls"`
	Before        uint64          `json:"allocations_before"`
	Threads       int             `json:"threads"`
	PeakLive      uint64          `json:"peak_live_bytes"`
	EndLive       uint64          `json:"end_live_bytes"`
	PlanBytes     uint64          `json:"plan_bytes"`
	LostEvents    uint64          `json:"lost_events"`
	Dropped       replay.Dropped  `json:"dropped"`
	Pages         *replay.Pages   `json:"pages,omitempty"` // where the recorded pages are touched
	WhatIf        *ReplayWhatIf   `json:"what_if,omitempty"`
	Own           ReplayOwn       `json:"player"`
	Allocators    []ReplayResult  `json:"allocators"`
	Failures      []string        `json:"failures"`
	Verdict       string          `json:"verdict"`
	Best          replay.BestRows `json:"best"`
}

// ReplayWhatIf is what a changed program would do.
type ReplayWhatIf struct {
	Changes []string `json:"changes"`
	Calls   uint64   `json:"calls"`
	replay.Changed
	PeakLive uint64 `json:"peak_live_bytes"`
}

// ReplayOwn is what the player itself costs.
type ReplayOwn struct {
	CallNS    float64 `json:"call_ns"`
	LatencyNS float64 `json:"latency_ns"`
	RSS       float64 `json:"rss_bytes"`
}

// ReplayResult is an allocator's result.
type ReplayResult struct {
	Name        string              `json:"name"`
	WhatIf      bool                `json:"what_if"` // of the changed program
	Library     string              `json:"library"`
	Version     string              `json:"version"`
	Options     []string            `json:"options"`
	CallNS      replay.Spread       `json:"call_ns"`
	CPU         replay.Spread       `json:"cpu_ns"`
	Wall        replay.Spread       `json:"wall_ns"`
	Waited      replay.Spread       `json:"waited_ns"`
	Latency     ReplayLatency       `json:"latency"`
	ByCall      []ReplayLatency     `json:"latency_by_call"`
	RemoteFrees uint64              `json:"remote_frees"`
	RemoteFree  float64             `json:"remote_free_ns"`
	LocalFree   float64             `json:"local_free_ns"`
	MinorFaults replay.Spread       `json:"minor_faults"`
	MajorFaults replay.Spread       `json:"major_faults"`
	SystemCalls []replay.SystemCall `json:"system_calls"` // null: they could not be counted
	None        *ReplayResident     `json:"touch_none,omitempty"`
	First       *ReplayResident     `json:"touch_first,omitempty"`
	All         *ReplayResident     `json:"touch_all,omitempty"`
	Recorded    *ReplayResident     `json:"touch_recorded,omitempty"`
}

// ReplayLatency is the latency of calls.
type ReplayLatency struct {
	Call  string  `json:"call"`  // "": all
	Sizes string  `json:"sizes"` // "": all
	Calls uint64  `json:"calls"`
	Mean  float64 `json:"mean_ns"`
	P50   float64 `json:"p50_ns"`
	P99   float64 `json:"p99_ns"`
	P999  float64 `json:"p999_ns"`
	Max   float64 `json:"max_ns"`
}

// ReplayResident is what was resident.
type ReplayResident struct {
	Peak    replay.Spread       `json:"peak_rss_bytes"`
	Mean    replay.Spread       `json:"mean_rss_bytes"`
	PeakPSS replay.Spread       `json:"peak_pss_bytes"`
	PerLive replay.Spread       `json:"rss_per_live_byte"`
	End     replay.Spread       `json:"end_rss_bytes"`
	Freed   replay.Spread       `json:"freed_rss_bytes"`
	Curve   []replay.CurvePoint `json:"curve"`
}

// NewReplay makes the answer.
func NewReplay(s *query.Source, r *replay.Results, o replay.Options) *Replay {
	p := r.Plan
	j := &Replay{FormatVersion: Version, Recording: NewRecording(s.Profile), Order: string(o.Order), Speed: "max",
		Runs: r.Runs, Calls: p.Calls, Before: p.Before, Threads: p.Threads, PeakLive: p.Peak, EndLive: p.Last,
		PlanBytes: p.Bytes, LostEvents: s.Reader.Health().LostEvents, Dropped: p.Dropped,
		Own: ReplayOwn{r.Own.Call, r.Own.Latency, r.Own.RSS}, Failures: orEmpty(r.Failures), Verdict: r.Verdict,
		Best: r.Best()}
	if o.Pages {
		j.Pages = &p.Pages
	}
	if o.Timed {
		j.Speed = "recorded"
	}
	if c := r.Changed; c != nil {
		j.WhatIf = &ReplayWhatIf{Calls: c.Calls, Changed: c.Changed, PeakLive: c.Peak}
		for _, change := range o.Changes {
			j.WhatIf.Changes = append(j.WhatIf.Changes, change.String())
		}
	}
	for _, row := range r.Rows {
		x := ReplayResult{Name: row.Name, WhatIf: row.Changed, Library: row.File, Version: row.Version,
			Options: orEmpty(row.Options),
			CallNS:  row.Call, CPU: row.CPU, Wall: row.Wall, Waited: row.Waited,
			Latency: replayLatency("", "", &row.Latency), RemoteFrees: row.RemoteFrees, RemoteFree: row.RemoteFree,
			LocalFree: row.LocalFree, MinorFaults: row.MinorFaults, MajorFaults: row.MajorFaults,
			SystemCalls: row.SystemCalls, None: replayResident(row.None), First: replayResident(row.First),
			All: replayResident(row.All), Recorded: replayResident(row.Recorded)}
		for i := range row.ByCall {
			l := &row.ByCall[i]
			x.ByCall = append(x.ByCall, replayLatency(l.Call, l.Sizes, &l.Latency))
		}
		j.Allocators = append(j.Allocators, x)
	}
	return j
}

func replayLatency(call, sizes string, l *replay.Latency) ReplayLatency {
	return ReplayLatency{call, sizes, l.Calls, l.Mean, l.P50, l.P99, l.P999, l.Max}
}

func replayResident(m *replay.Resident) *ReplayResident {
	if m == nil {
		return nil
	}
	return &ReplayResident{m.Peak, m.Mean, m.PeakPSS, m.Fragments, m.End, m.Freed, m.Curve}
}
