// Package summary prints what heaptap run shows when its command has ended.
package summary

import (
	"cmp"
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
	"github.com/heaptap/heaptap/internal/view"
)

// listed is how many recordings or reasons the summary lists.
const listed = 8

// namedProcesses is how many processes a line names.
const namedProcesses = 50

// Write writes a short report of the recording with the highest peak, the names of all recordings, and the cost of
// recording. top is how many call stacks are shown.
func Write(console *launch.Console, result *launch.Result, top int, color bool) {
	list := slices.DeleteFunc(slices.Clone(result.Recordings), func(r launch.Recording) bool {
		return size(r.Path) < 0 // Complain has warned of it
	})
	slices.SortStableFunc(list, func(a, b launch.Recording) int {
		switch {
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
		options := view.Options{Top: top, Color: color}
		if top == 0 {
			options.Top = -1
		}
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
	costs(console, result)
}

// Complain warns of recordings that could not be written or were removed: of the first, and how many more.
func Complain(console *launch.Console, list []launch.Recording) {
	first, more := "", 0
	for _, r := range list {
		if r.Error == "" && size(r.Path) < 0 {
			r.Error = r.Path + " was written, but does not exist any more"
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

// costs writes what recording has cost.
func costs(console *launch.Console, result *launch.Result) {
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
	fmt.Fprint(console, b.String())
}

// shown returns a path for a terminal.
func shown(path string) string { return escape.Terminal(outfile.Relative(path)) }
