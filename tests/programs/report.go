package programs

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// Report is the part of `heaptap report --json` that the checks need.
type Report struct {
	Totals struct {
		Allocations, Deallocations, Bytes, Failed uint64
		Unmatched                                 uint64 `json:"unmatched_deallocations"`
		Inherited                                 uint64 `json:"inherited_deallocations"`
		Unseen                                    uint64 `json:"unseen_deallocations"`
	}
	Process struct {
		PID int
		Exe string
	}
	Recording struct {
		Complete bool
	}
	Health struct {
		BadCFI    uint64 `json:"bad_cfi"`
		TableFull uint64 `json:"table_full"`
		NoThread  uint64 `json:"no_thread"`
		Boot      uint64 `json:"boot_allocations"`
		Late      uint64 `json:"late_events"`
		Guessed   uint64 `json:"guessed_frames"`
		Spilled   uint64 `json:"spilled_chunks"`
		Waits     uint64
	}
	Peak      struct{ Bytes, Blocks uint64 }
	Leaked    leaked
	Temporary struct{ Allocations uint64 }
	Lost      *uint64 `json:"lost_events"`
	Truncated *uint64 `json:"truncated_stacks"`
	Duration  int64   `json:"duration_ns"`
	Stacks    []Stack
	Frames    []Frame
}

// leaked is what was live at the end.
type leaked struct{ Bytes, Blocks uint64 }

// UnmarshalJSON counts what the runtime keeps, too: those who count calls know nothing of whose blocks are whose.
func (l *leaked) UnmarshalJSON(b []byte) error {
	var in struct {
		Bytes, Blocks uint64
		RuntimeBytes  uint64 `json:"runtime_bytes"`
		RuntimeBlocks uint64 `json:"runtime_blocks"`
	}
	err := json.Unmarshal(b, &in)
	l.Bytes, l.Blocks = in.Bytes+in.RuntimeBytes, in.Blocks+in.RuntimeBlocks
	return err
}

// Stack is a call stack of a report.
type Stack struct {
	Numbers                                                     []int   `json:"frames"` // indexes into Report.Frames
	Frames                                                      []Frame `json:"-"`
	Allocations, Bytes, Deallocations, Reallocations, Temporary uint64
	LiveAtPeakBytes                                             uint64 `json:"live_at_peak_bytes"`
	LiveAtPeakBlocks                                            uint64 `json:"live_at_peak_blocks"`
	LeakedBytes                                                 uint64 `json:"leaked_bytes"`
	LeakedBlocks                                                uint64 `json:"leaked_blocks"`
}

// Frame is a function on a call stack.
type Frame struct {
	Function, File, Module string
	Line                   int
}

// Recording is a recording of a run, and heaptap's report of it.
type Recording struct {
	Path  string
	Name  string // the program's
	PID   uint64
	Image int // 1; more if the process has exec'd the same program again
	Size  int64
	Report
}

var recordingName = regexp.MustCompile(`^(.*)\.(\d+)(?:\.(\d+))?\.htap$`)

// recordings returns the recordings in dir with their reports.
func (k *Kit) recordings(dir string) ([]Recording, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.htap"))
	if err != nil {
		return nil, err
	}
	var all []Recording
	for _, path := range names {
		m := recordingName.FindStringSubmatch(filepath.Base(path))
		if m == nil {
			return nil, fmt.Errorf("%s: its name is not NAME.PID[.N].htap", path)
		}
		r := Recording{Path: path, Name: m[1], Image: 1}
		r.PID, _ = strconv.ParseUint(m[2], 10, 64)
		if m[3] != "" {
			r.Image, _ = strconv.Atoi(m[3])
		}
		st, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		r.Size = st.Size()
		if r.Report, err = k.Report(path); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		if a.PID != b.PID {
			return a.PID < b.PID
		}
		if a.Name != b.Name {
			return a.Name < b.Name
		}
		return a.Image < b.Image
	})
	return all, nil
}

// Report returns heaptap's report of a recording.
func (k *Kit) Report(path string) (Report, error) {
	var r Report
	var stderr strings.Builder
	cmd := exec.Command(k.Heaptap, "report", "--json", path)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("heaptap report --json %s: %w\n%s", path, err, stderr.String())
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return r, fmt.Errorf("heaptap report --json %s: %w", path, err)
	}
	for i := range r.Stacks {
		for _, n := range r.Stacks[i].Numbers {
			r.Stacks[i].Frames = append(r.Stacks[i].Frames, r.Frames[n])
		}
	}
	if r.Lost == nil || r.Truncated == nil {
		return r, fmt.Errorf("heaptap report --json %s: no lost_events or truncated_stacks in the answer", path)
	}
	return r, nil
}

// Below sums up the stacks that contain one of the functions.
func (r *Report) Below(functions ...string) Truth {
	var t Truth
	for _, s := range r.Stacks {
		for _, f := range s.Frames {
			if matches(f.Function, functions) {
				t.Allocations += s.Allocations
				t.Deallocations += s.Deallocations
				t.Bytes += s.Bytes
				t.LeakedBlocks += s.LeakedBlocks
				t.LeakedBytes += s.LeakedBytes
				t.PeakBlocks += s.LiveAtPeakBlocks
				t.PeakBytes += s.LiveAtPeakBytes
				break
			}
		}
	}
	return t
}

// matches reports whether a function's name, with or without its parameters, is one of names.
func matches(function string, names []string) bool {
	if i := strings.IndexByte(function, '('); i > 0 {
		function = function[:i]
	}
	for _, n := range names {
		if function == n {
			return true
		}
	}
	return false
}

// Truth is what a program of src/ says about itself.
type Truth struct {
	Pairs         uint64
	CPU           int64 `json:"cpu_ns"`
	Wall          int64 `json:"wall_ns"`
	Allocations   uint64
	Deallocations uint64
	Bytes         uint64
	LeakedBlocks  uint64 `json:"leaked_blocks"`
	LeakedBytes   uint64 `json:"leaked_bytes"`
	PeakBlocks    uint64 `json:"peak_blocks"`
	PeakBytes     uint64 `json:"peak_bytes"`
}

// ParseTruth parses the line that a program of src/ prints.
func ParseTruth(stdout []byte) (Truth, error) {
	var t Truth
	if err := json.Unmarshal(stdout, &t); err != nil {
		return t, fmt.Errorf("the program's line %q: %w", stdout, err)
	}
	return t, nil
}

// Sum adds up a value over all stacks.
func (r *Report) Sum(of func(Stack) uint64) uint64 {
	var n uint64
	for _, s := range r.Stacks {
		n += of(s)
	}
	return n
}
