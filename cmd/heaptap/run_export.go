package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/outfile"
)

// runExports are the formats that heaptap run writes at its end.
type runExports []*exporter

// exportsOf finds the formats of that name, before the target starts.
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
			return nil, usagef("%s: --export %s and %s would go to one file; choose one, and heaptap export the "+
				"other one later", cmd.Name(), other, name)
		}
		taken[ending] = name
		list = append(list, e)
	}
	return list, nil
}

// write writes a file for each process and format, beside the recording. What fails is told: the exit status is the
// program's.
func (list runExports) write(cmd *cobra.Command, result *launch.Result, console *launch.Console) {
	for _, e := range list {
		for _, r := range result.Recordings {
			to := &outfile.Destination{Dir: filepath.Dir(r.Path), Extension: e.format.FileExtension(e.variant)}
			switch err := e.exportOne(cmd, r.Path, to); {
			case err != nil:
				console.Warn("--export %s: %v", e.name, err)
			case !console.Quiet:
				fmt.Fprintf(console, "%-13s %s\n", "exported", escape.Terminal(outfile.Relative(to.Path(r.Path))))
			}
		}
	}
	if n := len(result.Running); n > 0 && len(list) > 0 {
		console.Warn("not exported: processes that still run (%s); their recordings are written when they end",
			strings.Trim(fmt.Sprint(result.Running[:min(n, 5)]), "[]"))
	}
}
