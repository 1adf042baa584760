package answer

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/replay"
)

// SavedReplay is what heaptap replay --save keeps beside a run: enough for a table and a chart.
type SavedReplay struct {
	FormatVersion int                 `json:"format_version"`
	PID           int                 `json:"pid"` // of the recorded process
	StartedNS     int64               `json:"started_ns"`
	Runs          int                 `json:"runs"`
	Calls         uint64              `json:"calls"`
	Threads       int                 `json:"threads"`
	PeakLive      uint64              `json:"peak_live_bytes"`
	Verdict       string              `json:"verdict"`
	WhatIf        []string            `json:"what_if"` // changes of the program
	Best          replay.BestRows     `json:"best"`
	Allocators    []SavedReplayResult `json:"allocators"`
	TimesNS       []int64             `json:"times_ns"`   // in the recording
	Live          []uint64            `json:"live_bytes"` // at these times
	Failures      []string            `json:"failures"`
}

// SavedReplayResult is an allocator's result: medians.
type SavedReplayResult struct {
	Name     string    `json:"name"`
	WhatIf   bool      `json:"what_if"` // of the changed program
	CallNS   float64   `json:"call_ns"`
	CPU      float64   `json:"cpu_ns"`
	P50      float64   `json:"p50_ns"`
	P99      float64   `json:"p99_ns"`
	P999     float64   `json:"p999_ns"`
	Max      float64   `json:"max_ns"`
	PeakRSS  float64   `json:"peak_rss_bytes"`
	MeanRSS  float64   `json:"mean_rss_bytes"`
	FreedRSS float64   `json:"freed_rss_bytes"`
	Upper    float64   `json:"peak_rss_all_bytes"` // with all pages touched; 0: not measured, or that is PeakRSS
	TimesNS  []int64   `json:"times_ns"`           // in the recording
	RSS      []float64 `json:"rss_bytes"`          // at these times
}

// What is kept of a replay, and read of a file.
const (
	mostSavedPoints     = 400
	mostSavedAllocators = 64
	mostSavedText       = 500 // bytes
)

// NewSavedReplay is what is kept of a replay of a recording.
func NewSavedReplay(s *query.Source, r *replay.Results, o replay.Options) *SavedReplay {
	p := s.Profile.Process
	j := &SavedReplay{FormatVersion: Version, PID: p.PID, StartedNS: p.Started, Runs: r.Runs, Calls: r.Plan.Calls,
		Threads: r.Plan.Threads, PeakLive: r.Plan.Peak, Verdict: r.Verdict, Best: r.Best(), Failures: r.Failures}
	for _, change := range o.Changes {
		j.WhatIf = append(j.WhatIf, change.String())
	}
	for _, row := range r.Rows {
		x := SavedReplayResult{Name: row.Name, WhatIf: row.Changed, CallNS: row.Call.Median, CPU: row.CPU.Median,
			P50: row.Latency.P50, P99: row.Latency.P99, P999: row.Latency.P999, Max: row.Latency.Max}
		if m := row.Resident(); m != nil {
			x.PeakRSS, x.MeanRSS, x.FreedRSS = m.Peak.Median, m.Mean.Median, m.Freed.Median
			if row.All != nil && row.All != m {
				x.Upper = row.All.Peak.Median
			}
			step := max(1, (len(m.Curve)+mostSavedPoints-1)/mostSavedPoints)
			first := len(j.TimesNS) == 0
			for i := 0; i < len(m.Curve); i += step {
				c := &m.Curve[i]
				x.TimesNS, x.RSS = append(x.TimesNS, c.Time), append(x.RSS, c.RSS)
				if first {
					j.TimesNS, j.Live = append(j.TimesNS, c.Time), append(j.Live, c.Live)
				}
			}
		}
		j.Allocators = append(j.Allocators, x)
	}
	j.bound()
	return j
}

// ReadSavedReplay reads what was kept. The error says why it is not a replay of the recording.
func ReadSavedReplay(s *query.Source, text []byte) (*SavedReplay, error) {
	j, err := parseSavedReplay(text)
	if err != nil {
		return nil, fmt.Errorf("the saved replay cannot be read: %w", err)
	}
	p := s.Profile.Process
	switch {
	case j.FormatVersion != Version:
		return nil, fmt.Errorf("the saved replay has format %d; this heaptap reads %d", j.FormatVersion, Version)
	case j.PID != p.PID || j.StartedNS != p.Started:
		return nil, fmt.Errorf("the saved replay is of another recording, of process %d", j.PID)
	}
	j.bound()
	return j, nil
}

// parseSavedReplay leaves out results beyond the most at once: three bytes of a file can say another one.
func parseSavedReplay(text []byte) (*SavedReplay, error) {
	var file struct {
		SavedReplay
		Allocators [mostSavedAllocators]*SavedReplayResult `json:"allocators"` // instead of SavedReplay's
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	for _, x := range file.Allocators {
		if x != nil {
			file.SavedReplay.Allocators = append(file.SavedReplay.Allocators, *x)
		}
	}
	return &file.SavedReplay, nil
}

// bound makes what a file may say as large as what heaptap writes, and lists that belong together equally long.
func (j *SavedReplay) bound() {
	for _, list := range []*[]string{&j.WhatIf, &j.Failures} {
		*list = head(*list, mostSavedAllocators)
		for i := range *list {
			(*list)[i] = cutText((*list)[i])
		}
	}
	for _, text := range []*string{&j.Verdict, &j.Best.Time, &j.Best.P99, &j.Best.RSS, &j.Best.Mean} {
		*text = cutText(*text)
	}
	j.Runs, j.Threads = max(j.Runs, 0), max(j.Threads, 0)
	j.Calls, j.PeakLive = min(j.Calls, math.MaxInt64), min(j.PeakLive, math.MaxInt64)
	n := min(len(j.Live), mostSavedPoints)
	j.TimesNS = increasing(head(j.TimesNS, n))
	j.Live = head(j.Live, len(j.TimesNS))
	j.Allocators = head(j.Allocators, mostSavedAllocators)
	for i := range j.Allocators {
		x := &j.Allocators[i]
		x.Name = cutText(x.Name)
		for _, v := range []*float64{&x.CallNS, &x.CPU, &x.P50, &x.P99, &x.P999, &x.Max, &x.PeakRSS, &x.MeanRSS,
			&x.FreedRSS, &x.Upper} {
			*v = possible(*v)
		}
		x.TimesNS = increasing(head(x.TimesNS, min(len(x.RSS), mostSavedPoints)))
		x.RSS = head(x.RSS, len(x.TimesNS))
		for k, v := range x.RSS {
			x.RSS[k] = possible(v)
		}
	}
}

// head is a copy of the first n of a list, or of all; never nil.
func head[T any](list []T, n int) []T { return append([]T{}, list[:min(len(list), n)]...) }

// possible is a number of bytes or ns that can be.
func possible(v float64) float64 {
	if math.IsNaN(v) { // JSON has none
		return 0
	}
	return min(max(v, 0), math.MaxInt64)
}

func increasing(times []int64) []int64 {
	for i := range times {
		times[i] = max(times[i], times[max(i-1, 0)], 0)
	}
	return times
}

func cutText(s string) string { return strings.ToValidUTF8(s[:min(len(s), mostSavedText)], "") }
