package view

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/moment"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/tally"
)

// JSONVersion is the version of the report as JSON: it grows when a field changes its meaning or goes away, not when
// fields are added. docs/report-json.md describes every field.
const JSONVersion = 1

type jsonReport struct {
	FormatVersion   int               `json:"format_version"`
	Recording       jsonRecording     `json:"recording"`
	Selection       *jsonSelection    `json:"selection,omitempty"`
	Process         jsonProcess       `json:"process"`
	DurationNS      int64             `json:"duration_ns"`
	Threads         int               `json:"threads"`
	LostEvents      uint64            `json:"lost_events"`
	TruncatedStacks uint64            `json:"truncated_stacks"`
	Totals          jsonTotals        `json:"totals"`
	Peak            jsonPeak          `json:"peak"`
	Leaked          jsonLeaked        `json:"leaked"`
	Temporary       jsonTemporary     `json:"temporary"`
	Sampling        *jsonSampling     `json:"sampling,omitempty"`
	Maps            *jsonMaps         `json:"maps"`
	Mapped          *jsonMapped       `json:"mapped"`
	Functions       map[string]uint64 `json:"functions"`
	Unmatched       []jsonUnmatched   `json:"unmatched"`
	Mismatches      []jsonMismatch    `json:"mismatches"`
	Marks           []jsonMark        `json:"marks"`
	Samples         jsonSamples       `json:"samples"`
	Health          jsonHealth        `json:"health"`
	PerThread       []jsonThread      `json:"per_thread"`
	Modules         []jsonModule      `json:"modules"`
	Merge           *jsonMerge        `json:"merge,omitempty"`
	Counts          []jsonCounted     `json:"counts,omitempty"`
	Pools           []jsonPool        `json:"pools,omitempty"`
	StackCount      int               `json:"stack_count"`
}

type jsonRecording struct {
	File     string   `json:"file"`
	Version  string   `json:"version"`
	Bytes    int64    `json:"bytes"`
	Complete bool     `json:"complete"`
	Damage   []string `json:"damage"`
	FoldedNS int64    `json:"folded_ns"`
}

type jsonProcess struct {
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

type jsonTotals struct {
	Events        uint64  `json:"events"`
	Allocations   uint64  `json:"allocations"`
	Deallocations uint64  `json:"deallocations"`
	Bytes         uint64  `json:"bytes"`
	FreedBytes    uint64  `json:"freed_bytes"`
	Failed        *uint64 `json:"failed"` // nil, as the next three: not known of a selection
	Unmatched     *uint64 `json:"unmatched_deallocations"`
	Inherited     *uint64 `json:"inherited_deallocations"`
	Unrecorded    *uint64 `json:"unrecorded_deallocations"`
	Unseen        uint64  `json:"unseen_deallocations"`
	Reallocations uint64  `json:"reallocations"`
	InPlace       uint64  `json:"reallocations_in_place"`
	ZeroSize      uint64  `json:"zero_size"`
	MinSize       uint64  `json:"min_size"`
	MaxSize       uint64  `json:"max_size"`
	SlackBytes    uint64  `json:"slack_bytes"`
	SlackCount    uint64  `json:"slack_known_allocations"`
	MeanLifetime  int64   `json:"mean_lifetime_ns"`
}

type jsonPeak struct {
	Bytes  uint64 `json:"bytes"`
	Blocks uint64 `json:"blocks"`
	TimeNS int64  `json:"time_ns"`
	Event  uint64 `json:"event"`
}

type jsonLeaked struct {
	Bytes         uint64 `json:"bytes"`
	Blocks        uint64 `json:"blocks"`
	RuntimeBytes  uint64 `json:"runtime_bytes"`
	RuntimeBlocks uint64 `json:"runtime_blocks"`
}

type jsonTemporary struct {
	Allocations *uint64 `json:"allocations"` // nil: not known of samples
	Bytes       *uint64 `json:"bytes"`
}

type jsonCalls struct {
	Calls  uint64 `json:"calls"`
	Failed uint64 `json:"failed"`
	Bytes  uint64 `json:"bytes"`
}

// jsonMapped is what the program has mapped itself.
type jsonMapped struct {
	PeakBytes   uint64         `json:"peak_bytes"`
	PeakTimeNS  int64          `json:"peak_time_ns"`
	LeakedBytes uint64         `json:"leaked_bytes"`
	Stacks      []jsonMapStack `json:"stacks"`
}

type jsonMapStack struct {
	Stack           uint32      `json:"stack"`
	Calls           uint64      `json:"calls"`
	Bytes           uint64      `json:"bytes"`
	OwnPeakBytes    uint64      `json:"own_peak_bytes"`
	LiveAtPeakBytes uint64      `json:"live_at_peak_bytes"`
	LeakedBytes     uint64      `json:"leaked_bytes"`
	Frames          []jsonFrame `json:"frames"`
}

func jsonMappedOf(p *profile.Profile) *jsonMapped {
	m := p.Mapped
	if m == nil {
		return nil
	}
	j := &jsonMapped{m.PeakBytes, m.PeakTime, m.LiveBytes, []jsonMapStack{}}
	for _, s := range mappedSites(m) {
		one := jsonMapStack{s.Stack, s.Calls, s.Bytes, s.OwnPeak, s.LiveAtPeak, s.LiveBytes(), []jsonFrame{}}
		for _, f := range p.AppendFrames(nil, s.Stack) {
			one.Frames = append(one.Frames, jsonFrameOf(&f))
		}
		j.Stacks = append(j.Stacks, one)
	}
	return j
}

type jsonMaps struct {
	Mmap   jsonCalls `json:"mmap"`
	Munmap jsonCalls `json:"munmap"`
	Mremap struct {
		jsonCalls
		OldBytes uint64 `json:"old_bytes"`
	} `json:"mremap"`
	Brk struct {
		jsonCalls
		ReturnedBytes uint64 `json:"returned_bytes"`
	} `json:"brk"`
}

type jsonSamples struct {
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

type jsonHealth struct {
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
	AllocCost       float64  `json:"alloc_cost_ns"`
	FreeCost        float64  `json:"free_cost_ns"`
	Notes           []string `json:"notes"`
}

type jsonThread struct {
	Index         int     `json:"index"`
	TID           uint32  `json:"tid"`
	Name          string  `json:"name"`
	StartNS       int64   `json:"start_ns"`
	Allocations   uint64  `json:"allocations"`
	Bytes         uint64  `json:"bytes"`
	Deallocations uint64  `json:"deallocations"`
	FreedBytes    uint64  `json:"freed_bytes"`
	Foreign       uint64  `json:"foreign_deallocations"`
	Temporary     *uint64 `json:"temporary"`
	Failed        *uint64 `json:"failed"`
	Unmatched     *uint64 `json:"unmatched_deallocations"`
	Inherited     *uint64 `json:"inherited_deallocations"`
	Unrecorded    *uint64 `json:"unrecorded_deallocations"`
}

type jsonModule struct {
	ID       uint32 `json:"id"`
	Path     string `json:"path"`
	BuildID  string `json:"build_id"`
	Start    string `json:"start"`
	End      string `json:"end"`
	LoadedNS int64  `json:"loaded_ns"`
	UnloadNS *int64 `json:"unloaded_ns"`
}

type jsonStack struct {
	ID               uint32  `json:"id"`
	Class            string  `json:"class"`
	Truncated        bool    `json:"truncated"`
	Allocations      uint64  `json:"allocations"`
	Bytes            uint64  `json:"bytes"`
	Deallocations    uint64  `json:"deallocations"`
	FreedBytes       uint64  `json:"freed_bytes"`
	Failed           *uint64 `json:"failed"`
	LiveAtPeakBytes  uint64  `json:"live_at_peak_bytes"`
	LiveAtPeakBlocks uint64  `json:"live_at_peak_blocks"`
	OwnPeakBytes     uint64  `json:"own_peak_bytes"`
	LeakedBytes      uint64  `json:"leaked_bytes"`
	LeakedBlocks     uint64  `json:"leaked_blocks"`
	Temporary        *uint64 `json:"temporary"`
	TemporaryBytes   *uint64 `json:"temporary_bytes"`
	MinSize          uint64  `json:"min_size"`
	MaxSize          uint64  `json:"max_size"`
	ZeroSize         uint64  `json:"zero_size"`
	Reallocations    uint64  `json:"reallocations"`
	InPlace          uint64  `json:"reallocations_in_place"`
	SlackBytes       uint64  `json:"slack_bytes"`
	SlackCount       uint64  `json:"slack_known_allocations"`
	MeanLifetime     int64   `json:"mean_lifetime_ns"`

	Errors    *jsonErrors      `json:"standard_errors,omitempty"` // of a sampled recording
	Processes *jsonStackSpread `json:"processes,omitempty"`       // of a merged recording
}

type jsonFrame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     uint32 `json:"line"`
	Module   string `json:"module"`
	Inlined  bool   `json:"inlined"`
	Address  string `json:"address"`
	Offset   string `json:"offset"`
}

// ReportJSON writes the whole report as one JSON object. Stacks are written one by one, so that a recording of many deep
// stacks needs no memory for all of their frames. Of o only Top counts: if it is more than 0, the stacks are those that are
// among the first Top by any metric; if it is less, there are none.
func ReportJSON(w io.Writer, p *profile.Profile, o Options) error {
	out := bufio.NewWriterSize(w, 64<<10)
	head, err := json.MarshalIndent(jsonHeadOf(p, o.Selection), "", "  ")
	if err != nil {
		return err
	}
	out.Write(bytes.TrimSuffix(head, []byte("\n}")))
	out.WriteString(",\n  \"stacks\": [")
	frames := make(map[uint32][]byte) // by pc, comma-separated
	stacks := p.Select(max(o.Top, 0))
	if o.Top == 0 {
		for i := range p.Stacks {
			stacks = append(stacks, &p.Stacks[i])
		}
	}
	for i, s := range stacks {
		if i > 0 {
			out.WriteByte(',')
		}
		stack := jsonStackOf(p, s, o.Selection)
		stack.Processes = stackSpreadOf(p, s)
		text, err := json.Marshal(stack)
		if err != nil {
			return err
		}
		out.WriteString("\n    ")
		out.Write(bytes.TrimSuffix(text, []byte("}")))
		out.WriteString(`,"frames":[`)
		first := true
		p.PCs(s.ID, func(pc uint32) bool {
			f, ok := frames[pc]
			if !ok {
				if f, err = jsonFrames(p.PCFrames(pc)); err != nil {
					return false
				}
				frames[pc] = f
			}
			if !first {
				out.WriteByte(',')
			}
			first = false
			out.Write(f)
			return true
		})
		if err != nil {
			return err
		}
		out.WriteString("]}")
	}
	if len(stacks) > 0 {
		out.WriteString("\n  ")
	}
	out.WriteString("]\n}\n")
	return out.Flush()
}

func jsonFrames(list []profile.Frame) ([]byte, error) {
	var b []byte
	for i, f := range list {
		if i > 0 {
			b = append(b, ',')
		}
		text, err := json.Marshal(jsonFrameOf(&f))
		if err != nil {
			return nil, err
		}
		b = append(b, text...)
	}
	return b, nil
}

func jsonFrameOf(f *profile.Frame) jsonFrame {
	return jsonFrame{f.Function, f.File, f.Line, f.Module, f.Inlined, hex(f.Address), hex(f.Offset)}
}

func hex(v uint64) string { return fmt.Sprintf("%#x", v) }

func jsonStackOf(p *profile.Profile, s *profile.Stack, of *Selection) jsonStack {
	return jsonStack{
		ID: s.ID, Class: s.Class.String(), Truncated: s.Truncated, Allocations: s.Allocations, Bytes: s.Bytes,
		Deallocations: s.Deallocations, FreedBytes: s.FreedBytes, Failed: of.known(s.Failed), LiveAtPeakBytes: s.LiveAtPeakBytes,
		LiveAtPeakBlocks: s.LiveAtPeakBlocks, OwnPeakBytes: s.OwnPeakBytes, LeakedBytes: s.Leaked.Bytes,
		LeakedBlocks: s.Leaked.Blocks, Temporary: ofSamples(p, s.Temporary), TemporaryBytes: ofSamples(p, s.TemporaryBytes), MinSize: s.MinSize,
		MaxSize: s.MaxSize, ZeroSize: s.ZeroSize, Reallocations: s.Reallocations, InPlace: s.InPlace,
		SlackBytes: s.Slack, SlackCount: s.SlackCount, MeanLifetime: s.MeanLifetime(),
		Errors: jsonErrorsOf(s.Variances),
	}
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// jsonHead is the report without its stacks.
func jsonHead(p *profile.Profile) *jsonReport { return jsonHeadOf(p, nil) }

func jsonHeadOf(p *profile.Profile, of *Selection) *jsonReport {
	t, h, e, pr := &p.Totals, &p.Ending.Health, &p.Ending, &p.Process
	j := &jsonReport{
		FormatVersion: JSONVersion,
		Recording: jsonRecording{p.Name, fmt.Sprintf("%d.%d", p.Major, p.Minor), p.Size, p.Ended && len(p.Damage) == 0,
			orEmpty(p.Damage), p.Folded.Time},
		Process: jsonProcess{pr.PID, pr.Parent, pr.Exe, orEmpty(pr.Args), pr.Dir, pr.Host, orEmpty(pr.Env), pr.Arch,
			pr.Started, p.Ended, e.Exited, e.Code, e.Signal, e.Status, pr.Recorder},
		Selection:       jsonSelectionOf(of),
		DurationNS:      p.Duration,
		Threads:         len(p.Threads),
		LostEvents:      h.LostEvents,
		TruncatedStacks: h.TruncatedStacks,
		Totals: jsonTotals{t.Events, t.Allocations, t.Deallocations, t.Bytes, t.FreedBytes, of.known(t.Failed), of.known(t.Unmatched),
			of.known(t.Inherited), of.known(t.Unrecorded), t.Unseen, t.Reallocations, t.InPlace, t.ZeroSize, t.MinSize, t.MaxSize, t.Slack, t.SlackCount,
			t.MeanLifetime()},
		Peak:      jsonPeak{t.Peak.Bytes, t.Peak.Blocks, t.Peak.Time, t.Peak.Event},
		Leaked:    jsonLeaked{p.Leaked.Bytes, p.Leaked.Blocks, p.Runtime.Bytes, p.Runtime.Blocks},
		Temporary: jsonTemporary{ofSamples(p, t.Temporary), ofSamples(p, t.TemporaryBytes)},
		Sampling:  jsonSamplingOf(p),
		Functions: make(map[string]uint64),
		Health: jsonHealth{h.LostEvents, h.TruncatedStacks, h.BadCFI, h.GuessedFrames, h.TableFull, h.NoThread,
			h.SpilledChunks, h.Waits, h.FullSteps, h.BootAllocations, h.LateEvents, h.AllocCost, h.FreeCost, orEmpty(h.Notes)},
		Marks:     jsonMarksOf(p.Marks, moment.Names(p.Marks)),
		Samples:   jsonSamplesOf(p.Samples),
		PerThread: []jsonThread{},
		Modules:   []jsonModule{},
		Merge:     jsonMergeOf(p),

		StackCount: len(p.Stacks),
	}
	for f, n := range t.Funcs {
		if n > 0 {
			j.Functions[event.Func(f).String()] += n
		}
	}
	for _, th := range p.Threads {
		c := th.Counts
		j.PerThread = append(j.PerThread, jsonThread{th.Index, th.TID, th.Name, th.Start, c.Allocations, c.Bytes,
			c.Deallocations, c.FreedBytes, c.Foreign, ofSamples(p, c.Temporary), of.known(c.Failed), of.known(c.Unmatched),
			of.known(c.Inherited), of.known(c.Unrecorded)})
	}
	for _, m := range p.Modules {
		jm := jsonModule{m.ID, m.Path, fmt.Sprintf("%x", m.BuildID), hex(m.Start), hex(m.End), m.Loaded, nil}
		if m.Unload >= 0 {
			jm.UnloadNS = &m.Unload
		}
		j.Modules = append(j.Modules, jm)
	}
	if of != nil {
		return j
	}
	j.Unmatched = jsonUnmatchedOf(p)
	j.Counts = jsonCountsOf(p.Counts)
	j.Pools = jsonPoolsOf(p.Pools)
	j.Mismatches = jsonMismatchesOf(p, p.Mismatches)
	j.Maps = &jsonMaps{}
	j.Maps.Mmap, j.Maps.Munmap = calls(t.Maps.Mmap), calls(t.Maps.Munmap)
	j.Maps.Mremap.jsonCalls, j.Maps.Mremap.OldBytes = calls(t.Maps.Mremap), t.Maps.RemappedBytes
	j.Maps.Brk.jsonCalls, j.Maps.Brk.ReturnedBytes = calls(t.Maps.Brk), t.Maps.BrkReturned
	j.Mapped = jsonMappedOf(p)
	return j
}

func calls(c tally.Calls) jsonCalls { return jsonCalls{c.Calls, c.Failed, c.Bytes} }

// jsonSamplesOf sums the samples up; what was never read is null.
func jsonSamplesOf(list []event.Sample) jsonSamples {
	j := jsonSamples{Count: len(list)}
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
