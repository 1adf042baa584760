package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// The stages of recording: where the processor's time beside the target goes, live, in the recorder and in `heaptap
// run`. The samples are perf's, of a clock, with their call stacks, so that what the kernel does for a stage (copies,
// page faults, files) counts there.

const stagesHeading = "## Where the time beside the target goes"

// stage is a part of the recorder, with the functions that are its own. A sample belongs to the stage of the innermost
// function on its call stack that is in any list.
type stage struct{ name, functions string }

var stages = []stage{
	{"drain", `heaptap/internal/(spool|spill)\. record/(journal|alarm)\. record\.\(\*(run|sink|source|queue)\)`},
	{"decode and order", `record/(order|ticks|records)\. record\.\(\*(piecesArrived|roundEnded)\)`},
	{"settle: what else is asked of each event", `record\.\(\*process\) record/(pairs|notes|pools|watch)\.`},
	{"ledger", `internal/ledger\. record/journal\.\(\*State\)`},
	{"rows on their way to the columns", `internal/recording\.\(\*Writer\)`},
	{"columns", `recording/(block|column)\.`},
	{"statistics", `internal/tally\.`},
	{"summaries by block", `recording\.\(\*(appender|summaries|farWriter)\) ` +
		`recording/block\.\(\*(Changes|farSums)\)`},
	{"compression", `klauspost/ recording/block\.\(\*Packer\) recording/column\.\(\*Payload\)`},
	{"files", `recording\.osFile heaptap/internal/(outfile|private|run|record/output|record/names)\.`},
	{"call stacks, modules", `record/stacks\. spool\.\(\*Tables\) internal/recording\.(move|encode|table)`},
	{"the target's memory", `record/(sampler|resident)\. record\.\(\*process\)\.divide record\.\(\*memory\)`},
	{"the run's processes", `record/procs\.`},
	{"symbols", `internal/(symbolize|elfx|dwarfx|funcname|namecache|debuginfod|namesource)\. ` +
		`record/symbols\. demangle`},
	{"the recording, read again", `internal/run\.readLevels launch\.\(\*Result\)\.Matters recording/timetravel\. ` +
		`recording\.\(\*Reader\) tally\.Unmarshal recording\.\(\*Tables\)`},
	{"start and launch", `heaptap/internal/launch\. heaptap/cmd/ ^main\. runtime\.(doInit|schedinit|rt0_go)`},
	{"Go: sysmon", `^runtime\.sysmon`},
	{"Go: garbage collection", `^runtime\.(gc[A-Z]|bgsweep|bgscavenge)`},
	{"Go: scheduler", `^runtime\.(schedule|findRunnable|park_m|mcall|mstart)`},
}

// stageOf finds the stage of a call stack, innermost function first.
type stageOf struct {
	patterns []*regexp.Regexp
	known    map[string]int // by function; -1: none
}

func newStageOf() *stageOf {
	s := &stageOf{known: map[string]int{}}
	for _, g := range stages {
		s.patterns = append(s.patterns, regexp.MustCompile(strings.Join(strings.Fields(g.functions), "|")))
	}
	return s
}

// of returns the stage of a function: that with the longest match, so that a type can leave its package's stage.
func (s *stageOf) of(function string) int {
	i, ok := s.known[function]
	if ok {
		return i
	}
	i = -1
	longest := 0
	for k, p := range s.patterns {
		if n := len(p.FindString(function)); n > longest {
			i, longest = k, n
		}
	}
	s.known[function] = i
	return i
}

// name returns the name of a call stack's stage. Functions of Go's runtime count only where there are no others.
func (s *stageOf) name(stack []string) string {
	for _, runtime := range []bool{false, true} {
		for _, f := range stack {
			if strings.HasPrefix(f, "runtime.") != runtime {
				continue
			}
			if i := s.of(f); i >= 0 {
				return stages[i].name
			}
		}
	}
	return "other"
}

// askStages profiles the recording of each workload and returns the section of the page.
func (b *bench) askStages(all []workload) (string, error) {
	if _, err := exec.LookPath("perf"); err != nil {
		return "", fmt.Errorf("not measured: %w (Debian: apt install linux-perf)", err)
	}
	list, events := shares{}, map[string]float64{}
	var names []string
	for i := range all {
		w := &all[i]
		if w.drive != nil {
			continue
		}
		times, n, err := b.stagesOf(w)
		if err != nil {
			return "", fmt.Errorf("%s: %w", w.name, err)
		}
		names, list[w.name], events[w.name] = append(names, w.name), times, n
	}
	var text strings.Builder
	text.WriteString(stagesHeading + "\n\nWritten by `make bench-stages`: ns of processor time per event in the " +
		"recorder and in `heaptap run`, live, from samples with call stacks by `perf record -e cpu-clock`. What the " +
		"kernel does for a stage counts there.\n\n")
	list.table(&text, "stage", names, func(w string, v, _ float64) string {
		return fmt.Sprintf("%.1f", v/events[w])
	})
	return text.String(), nil
}

// stagesRate is how many samples perf takes in a second of processor time.
const stagesRate = 2500

// stagesOf records a workload under perf and returns ns by stage, and the number of events.
func (b *bench) stagesOf(w *workload) (times map[string]float64, events float64, err error) {
	out, err := os.MkdirTemp(b.dir, "stages-")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(out)
	data := filepath.Join(out, "perf.data")
	args := append([]string{"record", "-q", "-e", "cpu-clock", "-F", fmt.Sprint(stagesRate), "-g", "-o", data, "--",
		b.heaptap, "run", "-q", "-o", out + "/", "--"}, w.command(1)...)
	cmd := exec.Command("perf", args...)
	cmd.Dir = out
	cmd.Env = append(os.Environ(), w.env...)
	cmd.Stdin = strings.NewReader(w.stdin)
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, 0, fmt.Errorf("perf record: %w\n%s", err, text)
	}
	script := exec.Command("perf", "script", "-i", data, "-F", "comm,pid,tid,ip,sym")
	pipe, err := script.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	if err := script.Start(); err != nil {
		return nil, 0, err
	}
	times = sumStages(bufio.NewScanner(pipe), filepath.Base(b.heaptap))
	if err := script.Wait(); err != nil {
		return nil, 0, fmt.Errorf("perf script: %w", err)
	}
	var s sample
	if err := b.size(&s, w, &exactVariant, out); err != nil {
		return nil, 0, err
	}
	return times, s.events, nil
}

// sumStages reads what perf script prints, a sample after another: a line with the process, then one for each function
// on its call stack, then an empty one. It adds up the samples of heaptap's own processes; name is its file's.
func sumStages(in *bufio.Scanner, name string) map[string]float64 {
	in.Buffer(nil, 1<<20)
	name = name[:min(len(name), 15)] // what the kernel keeps of it
	times := map[string]float64{}
	at := newStageOf()
	ours := false
	var stack []string
	for in.Scan() {
		line := in.Text()
		switch {
		case line == "":
			if ours {
				times[at.name(stack)] += 1e9 / stagesRate
			}
			ours, stack = false, stack[:0]
		case line[0] != '\t':
			// The recorder's threads are named after /proc/self/exe, as which it is started.
			ours = strings.HasPrefix(line, name) || strings.HasPrefix(line, "heaptap-") ||
				strings.HasPrefix(line, "exe ")
		default:
			if f := strings.Fields(line); len(f) > 1 {
				stack = append(stack, f[1])
			}
		}
	}
	return times
}
