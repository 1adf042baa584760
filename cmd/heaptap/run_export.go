package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/run"
)

// runExports are the formats to which heaptap run exports.
type runExports []*exporter

// exportsOf finds the formats by name, before the target starts.
func exportsOf(cmd *cobra.Command, names []string) (runExports, error) {
	var list runExports
	taken := make(map[string]string)
	for _, name := range names {
		e := &exporter{flag: "export", done: "exported", name: name}
		e.From, e.To = "start", "end"
		if err := e.find(cmd); err != nil {
			return nil, err
		}
		ending := e.format.FileExtension(e.variant)
		if other, ok := taken[ending]; ok {
			return nil, usagef("%s: --export %s and %s would write the same file; choose one, and write the "+
				"other later with heaptap export", cmd.Name(), other, name)
		}
		taken[ending] = name
		list = append(list, e)
	}
	return list, nil
}

// write exports each recording in each format, beside the recording. Of a run with several programs, it exports the one
// that matters, beside the run. It warns of what fails: the exit status is the program's.
func (list runExports) write(cmd *cobra.Command, result *launch.Result, console *launch.Console) {
	if len(list) == 0 {
		return // which program matters takes time to find out
	}
	recordings := result.Recordings
	if i, _ := result.Matters(); i >= 0 {
		recordings = recordings[i : i+1]
	}
	for _, e := range list {
		for _, r := range recordings {
			beside := cmp.Or(run.Of(r.Path), r.Path)
			ending := e.format.FileExtension(e.variant)
			to := &outfile.Destination{File: filepath.Join(filepath.Dir(beside), outfile.Name(beside)+ending)}
			from := input.File(r.Path)
			switch err := e.exportOne(cmd, &from, to); {
			case err != nil:
				console.Warn("--export %s: %v", e.name, err)
			case !console.Quiet:
				fmt.Fprintf(console, "%-13s %s\n", "exported", escape.Terminal(outfile.Relative(to.Path(r.Path))))
			}
		}
	}
	if n := len(result.Running); n > 0 {
		console.Warn("not exported: processes that still run (%s); their recordings are written when they end",
			strings.Trim(fmt.Sprint(result.Running[:min(n, 5)]), "[]"))
	}
}
