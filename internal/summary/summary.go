// Package summary prints what heaptap run shows when its command has ended.
package summary

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/run"
	"github.com/heaptap/heaptap/internal/view"
)

// listed is how many recordings or reasons the summary lists.
const listed = 8

// namedProcesses is how many processes a line names.
const namedProcesses = 50

// Write writes a short report of the program that matters, or of the recording with the largest resident set if each
// program has a file of its own, what the run consists of, and the cost of recording. Of options, Top is how many call
// stacks are shown.
func Write(console *launch.Console, result *launch.Result, options view.Options) {
	if options.Top == 0 {
		options.Top = -1
	}
	if result.Run != "" {
		unit(console, result, options)
	} else {
		programs(console, result, options)
	}
	costs(console, result, options.Width)
}

// unit writes about a run that is kept as one unit.
func unit(console *launch.Console, result *launch.Result, options view.Options) {
	r, err := run.Open(result.Run)
	if err != nil {
		if size(result.Run) >= 0 { // else Complain has warned of it
			console.Warn("%v", err)
		}
		return
	}
	defer r.Close()
	list := r.Programs()
	i, why, _ := r.Matters()
	if i < 0 {
		return
	}
	rec, err := r.OpenProgram(i)
	var p *profile.Profile
	if err == nil {
		defer rec.Close()
		p, err = profile.Load(context.Background(), rec)
	}
	fmt.Fprintln(console)
	if err == nil {
		err = view.Summary(console, p, options)
	}
	if err != nil {
		console.Warn("%v", err)
	}
	name := shown(result.Run)
	if r.IsRecording() {
		incomplete := ""
		if len(result.Recordings) > 0 && result.Recordings[0].Error != "" {
			incomplete = ", incomplete"
		}
		size := humanize.Size(uint64(size(result.Run)))
		fmt.Fprintf(console, "%-13s %s (%s%s)\n", "recording", name, size, incomplete)
	} else {
		of := fmt.Sprintf("%-13s %s (process %d), %s", "of", escape.Terminal(list[i].Title()), list[i].Pid,
			escape.Terminal(why))
		fmt.Fprintln(console, broken(of, options.Width))
		fmt.Fprintf(console, "%-13s %s (%s, %s)\n", "run", name, humanize.Plural(uint64(len(list)), "program"),
			humanize.Size(uint64(r.Size())))
	}
	fmt.Fprintf(console, "%-13s heaptap report %s\n", "more", name)
}

// programs writes about the recordings of a run that are files of their own.
func programs(console *launch.Console, result *launch.Result, options view.Options) {
	list := slices.DeleteFunc(slices.Clone(result.Recordings), func(r launch.Recording) bool {
		return size(r.Path) < 0 // Complain has warned of it
	})
	slices.SortStableFunc(list, func(a, b launch.Recording) int {
		switch {
		case a.Resident != b.Resident:
			return cmp.Compare(b.Resident, a.Resident)
		case a.Peak != b.Peak:
			return cmp.Compare(b.Peak, a.Peak)
		case a.Main != b.Main && a.Main:
			return -1
		case a.Main != b.Main:
			return 1
		}
		return 0
	})
	if i := slices.IndexFunc(list, func(r launch.Recording) bool { return size(r.Path) > 0 }); i >= 0 {
		list[0], list[i] = list[i], list[0]
		if p, err := profile.Open(list[0].Path); err != nil {
			console.Warn("%v", err)
		} else {
			fmt.Fprintln(console)
			if err := view.Summary(console, p, options); err != nil {
				console.Warn("%v", err)
			}
		}
	}
	files(console, list)
}

// Complain warns of recordings that could not be written or were removed: of the first, and how many more.
func Complain(console *launch.Console, list []launch.Recording) {
	first, more := "", 0
	for _, r := range list {
		if at := cmp.Or(run.Of(r.Path), r.Path); r.Error == "" && size(at) < 0 {
			r.Error = at + " was written, but does not exist any more"
		}
		switch {
		case r.Error == "":
		case first == "":
			first = r.Error
		default:
			more++
		}
	}
	switch {
	case first == "":
	case more == 0:
		console.Warn("%s", first)
	default:
		console.Warn("%s (and %d more like it)", first, more)
	}
}

// Unseen warns of processes whose allocations the agent did not see, once for each reason.
func Unseen(console *launch.Console, list []launch.Recording) {
	var reasons []string
	processes := map[string][]int{}
	for _, r := range list {
		if r.Unseen == "" {
			continue
		}
		if len(processes[r.Unseen]) == 0 {
			reasons = append(reasons, r.Unseen)
		}
		processes[r.Unseen] = append(processes[r.Unseen], r.PID)
	}
	for i, reason := range reasons {
		if i == listed {
			console.Warn("and %d more reasons; see the reports of the recordings", len(reasons)-i)
			return
		}
		list := processes[reason]
		slices.Sort(list)
		noun, more := "processes", ""
		if len(list) == 1 {
			noun = "process"
		}
		if n := len(list) - namedProcesses; n > 0 {
			list, more = list[:namedProcesses], fmt.Sprintf(" and %d more", n)
		}
		console.Warn("%s %s%s: %s", noun, strings.Trim(fmt.Sprint(list), "[]"), more, strings.TrimSuffix(reason, "."))
	}
}

// size returns the length of a file in bytes; -1 if it does not exist.
func size(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return st.Size()
}

// files lists the recordings.
func files(console *launch.Console, list []launch.Recording) {
	var b strings.Builder
	for i, r := range list {
		if i == listed {
			fmt.Fprintf(&b, "%-13s and %d more in %s\n", "", len(list)-i, shown(filepath.Dir(r.Path)))
			break
		}
		name := ""
		if i == 0 {
			name = "recording"
			if len(list) > 1 {
				name = "recordings"
			}
		}
		detail := humanize.Size(uint64(max(0, size(r.Path))))
		if len(list) > 1 {
			detail += ", peak " + humanize.Size(r.Peak)
			if r.Resident > 0 {
				detail += " live, " + humanize.Size(uint64(r.Resident)) + " resident"
			}
		}
		if r.Error != "" {
			detail += ", incomplete"
		}
		fmt.Fprintf(&b, "%-13s %s (%s)\n", name, shown(r.Path), detail)
	}
	if len(list) > 0 {
		fmt.Fprintf(&b, "%-13s heaptap report %s\n", "more", shown(list[0].Path))
	}
	fmt.Fprint(console, b.String())
}

// costs writes what recording has cost, in lines of at most width columns; 0: in whole lines.
func costs(console *launch.Console, result *launch.Result, width int) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-13s target %s (%s CPU)", "time", humanize.Duration(int64(result.Wall)),
		humanize.Duration(int64(result.TargetCPU)))
	if result.Complete > 0 {
		fmt.Fprintf(&b, ", recording complete after %s", humanize.Duration(int64(result.Complete)))
	}
	if result.RecorderCPU > 0 {
		fmt.Fprintf(&b, "; recorder %s CPU, %s", humanize.Duration(int64(result.RecorderCPU)),
			humanize.Size(uint64(result.RecorderRSS)))
	}
	fmt.Fprintln(&b)
	if n := len(result.Running); n > 0 {
		pids := strings.Trim(fmt.Sprint(result.Running[:min(n, 5)]), "[]")
		fmt.Fprintf(&b, "%-13s %d of its processes still run (%s) and are recorded until they end\n", "still running",
			n, pids)
	}
	fmt.Fprintln(console, broken(strings.TrimSuffix(b.String(), "\n"), width))
}

// broken breaks lines that are too long for a terminal; 0: for none.
func broken(text string, width int) string {
	if width == 0 {
		return text
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, view.BreakLine(line, max(width, view.MinWidth), 14)...)
	}
	return strings.Join(lines, "\n")
}

// shown returns a path for a terminal.
func shown(path string) string { return escape.Terminal(outfile.Relative(path)) }
