package answer

import (
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/run"
)

// Run is a run with its programs, in order of start.
type Run struct {
	Run       string       `json:"run"`
	Command   []string     `json:"command"`
	Folder    string       `json:"folder"`
	Host      string       `json:"host"`
	Rank      string       `json:"rank"`
	StartedNS int64        `json:"started_ns"`
	Live      bool         `json:"live"`
	Damage    string       `json:"damage"`
	Programs  []RunProgram `json:"programs"`
	// Unknown are the programs whose levels cannot be read, each with the reason.
	Unknown []string `json:"levels_unknown,omitempty"`
}

// RunProgram is a program of a run. Numbers that are not known are 0.
type RunProgram struct {
	PID               int      `json:"pid"`
	ParentPID         int      `json:"parent_pid"`
	Parent            int      `json:"parent"` // index of the program that started or executed it; -1: none of the run
	Executed          bool     `json:"executed"`
	Forked            bool     `json:"forked"`
	Named             bool     `json:"named"`
	Name              string   `json:"name"`
	Label             string   `json:"label"`
	Exe               string   `json:"exe"`
	Args              []string `json:"args"`
	Dir               string   `json:"dir"`
	StartedNS         int64    `json:"started_ns"`
	EndedNS           int64    `json:"ended_ns"`
	Running           bool     `json:"running"`
	ExitKnown         bool     `json:"exit_known"`
	ExitCode          int      `json:"exit_code"`
	Signal            int      `json:"signal"`
	PeakLiveBytes     int64    `json:"peak_live_bytes"`
	PeakResidentBytes int64    `json:"peak_resident_bytes"`
	LeakedBytes       int64    `json:"leaked_bytes"`
	Events            uint64   `json:"events"`
	LostEvents        uint64   `json:"lost_events"`
	// Levels is how the program's memory developed, if that was requested.
	Levels *RunLevels `json:"levels,omitempty"`
}

// RunLevels is how the memory of a program developed, in up to 64 steps of about equal time from its start to its end.
type RunLevels struct {
	TimesNS  []int64 `json:"times_ns"`       // the end of each step, since the program's start
	Live     []int64 `json:"live_bytes"`     // the most in the step
	Resident []int64 `json:"resident_bytes"` // likewise
}

// AddLevels adds how the memory of each program developed, in the order of Programs. err says of which programs that is
// not known.
func (x *Run) AddLevels(list []run.Levels, err error) {
	if err != nil {
		x.Unknown = strings.Split(err.Error(), "\n")
	}
	for i, levels := range list[:min(len(list), len(x.Programs))] {
		l := &RunLevels{TimesNS: []int64{}, Live: []int64{}, Resident: []int64{}}
		for _, v := range levels {
			l.TimesNS, l.Live = append(l.TimesNS, v.Time), append(l.Live, v.Live)
			l.Resident = append(l.Resident, max(v.Resident, 0))
		}
		x.Programs[i].Levels = l
	}
}

// NewRun describes a run.
func NewRun(r *run.Run) *Run {
	i := r.Info()
	x := &Run{Run: r.Path(), Command: orEmpty(i.Command), Folder: i.Folder, Host: i.Host, Rank: i.Rank,
		StartedNS: nanoseconds(i.Started), Live: r.Live(), Damage: r.Damage(), Programs: []RunProgram{}}
	latest := map[int]int{} // by process id
	for n, p := range r.Programs() {
		row := RunProgram{PID: p.Pid, ParentPID: p.ParentPid, Parent: p.Parent, Forked: p.Forked, Named: p.Named,
			Name: p.Name(), Label: p.Label, Exe: p.Exe, Args: orEmpty(p.Command), Dir: p.Folder,
			StartedNS: nanoseconds(p.Start), EndedNS: nanoseconds(p.End), Running: p.Running() && x.Live,
			ExitKnown: p.Exit.Known, ExitCode: p.Exit.Status, Signal: p.Exit.Signal, PeakLiveBytes: p.PeakLive,
			PeakResidentBytes: p.PeakResident, LeakedBytes: p.Leaked, Events: p.Events, LostEvents: p.Lost}
		if before, ok := latest[p.Pid]; ok && p.Exec > 0 {
			row.Parent, row.Executed = before, true
			x.Programs[before].Running = false
		}
		latest[p.Pid] = n
		x.Programs = append(x.Programs, row)
	}
	return x
}

func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// Runs are the runs in a folder, the latest first.
type Runs struct {
	Runs []RunEntry `json:"runs"`
}

// RunEntry is a run in a folder.
type RunEntry struct {
	Run       string   `json:"run"`
	Command   []string `json:"command"`
	PID       int      `json:"pid"`
	Host      string   `json:"host"`
	StartedNS int64    `json:"started_ns"`
	Live      bool     `json:"live"`
	Ours      bool     `json:"ours"`
}

// NewRuns describes runs.
func NewRuns(list []run.Entry) *Runs {
	x := &Runs{Runs: []RunEntry{}}
	for _, e := range list {
		x.Runs = append(x.Runs, RunEntry{e.Path, orEmpty(e.Info.Command), e.Info.Pid, e.Info.Host,
			nanoseconds(e.Info.Started), e.Live, e.Ours})
	}
	return x
}
