package answer

import (
	"fmt"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
)

// Recording is the file that an answer is about.
type Recording struct {
	File     string   `json:"file"`
	Version  string   `json:"version"`
	Bytes    int64    `json:"bytes"`
	Complete bool     `json:"complete"`
	Damage   []string `json:"damage"`
	FoldedNS int64    `json:"folded_ns"`
}

// NewRecording describes the file.
func NewRecording(p *profile.Profile) Recording {
	return Recording{p.Name, fmt.Sprintf("%d.%d", p.Major, p.Minor), p.Size, p.Ended && len(p.Damage) == 0,
		orEmpty(p.Damage), p.Folded.Time}
}

// Process is the process that was recorded, and how it ended.
type Process struct {
	PID       int      `json:"pid"`
	Parent    int      `json:"parent"`
	Exe       string   `json:"exe"`
	Args      []string `json:"args"`
	Dir       string   `json:"dir"`
	Host      string   `json:"host"`
	Env       []string `json:"env"`
	Arch      string   `json:"arch"`
	StartedNS int64    `json:"started_ns"`
	Ended     bool     `json:"ended"`
	Exited    bool     `json:"exited"`
	ExitCode  int      `json:"exit_code"`
	Signal    int      `json:"signal"`
	Status    string   `json:"status"`
	Recorder  string   `json:"recorder"`
}

func newProcess(p *profile.Profile) Process {
	r, e := &p.Process, &p.Ending
	return Process{r.PID, r.Parent, r.Exe, orEmpty(r.Args), r.Dir, r.Host, orEmpty(r.Env), r.Arch, r.Started, p.Ended,
		e.Exited, e.Code, e.Signal, e.Status, r.Recorder}
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// Health says what is missing of a recording or not exact, and what recording has cost.
type Health struct {
	LostEvents      uint64   `json:"lost_events"`
	TruncatedStacks uint64   `json:"truncated_stacks"`
	BadCFI          uint64   `json:"bad_cfi"`
	GuessedFrames   uint64   `json:"guessed_frames"`
	TableFull       uint64   `json:"table_full"`
	NoThread        uint64   `json:"no_thread"`
	SpilledChunks   uint64   `json:"spilled_chunks"`
	Waits           uint64   `json:"waits"`
	FullSteps       uint64   `json:"full_steps"`
	BootAllocations uint64   `json:"boot_allocations"`
	LateEvents      uint64   `json:"late_events"`
	StaticPrograms  uint64   `json:"static_programs"`
	AllocCost       float64  `json:"alloc_cost_ns"`
	FreeCost        float64  `json:"free_cost_ns"`
	Notes           []string `json:"notes"`
}

func newHealth(h *event.Health) Health {
	return Health{h.LostEvents, h.TruncatedStacks, h.BadCFI, h.GuessedFrames, h.TableFull, h.NoThread, h.SpilledChunks,
		h.Waits, h.FullSteps, h.BootAllocations, h.LateEvents, h.StaticPrograms, h.AllocCost, h.FreeCost,
		orEmpty(h.Notes)}
}

// Module is one loading of a file that was mapped as code.
type Module struct {
	ID       uint32 `json:"id"`
	Path     string `json:"path"`
	BuildID  string `json:"build_id"`
	Start    string `json:"start"`
	End      string `json:"end"`
	LoadedNS int64  `json:"loaded_ns"`
	UnloadNS *int64 `json:"unloaded_ns"`
}

func newModules(p *profile.Profile) []Module {
	list := []Module{}
	for _, m := range p.Modules {
		x := Module{m.ID, m.Path, fmt.Sprintf("%x", m.BuildID), hex(m.Start), hex(m.End), m.Loaded, nil}
		if m.Unload >= 0 {
			x.UnloadNS = &m.Unload
		}
		list = append(list, x)
	}
	return list
}

// Samples are the largest values that were read of the process's memory; null: never read.
type Samples struct {
	Count             int    `json:"count"`
	PeakRSSBytes      *int64 `json:"peak_rss_bytes"`
	PeakRSSTimeNS     *int64 `json:"peak_rss_time_ns"`
	PeakVirtualBytes  *int64 `json:"peak_virtual_bytes"`
	PeakSwapBytes     *int64 `json:"peak_swap_bytes"`
	PeakPSSBytes      *int64 `json:"peak_pss_bytes"`
	MinorFaults       *int64 `json:"minor_faults"`
	MajorFaults       *int64 `json:"major_faults"`
	SystemFreeMinimum *int64 `json:"system_available_min_bytes"`
}

func newSamples(list []event.Sample) Samples {
	j := Samples{Count: len(list)}
	most := func(at **int64, v int64) bool {
		if v < 0 || *at != nil && **at >= v {
			return false
		}
		*at = &v
		return true
	}
	for _, s := range list {
		if most(&j.PeakRSSBytes, s.RSS) {
			t := s.Time
			j.PeakRSSTimeNS = &t
		}
		most(&j.PeakVirtualBytes, s.Virtual)
		most(&j.PeakSwapBytes, s.Swap)
		most(&j.PeakPSSBytes, s.PSS)
		most(&j.MinorFaults, s.MinorFaults)
		most(&j.MajorFaults, s.MajorFaults)
		if v := s.SystemFree; v >= 0 && (j.SystemFreeMinimum == nil || *j.SystemFreeMinimum > v) {
			j.SystemFreeMinimum = &v
		}
	}
	return j
}
