package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/gate"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/outfile"
)

// forRun prepares the check of a run's recordings, before the target starts.
func (g *gateFlags) forRun(cmd *cobra.Command, limits *pflag.FlagSet, checked bool, top int,
	console *launch.Console) error {
	if !checked {
		var err error
		limits.VisitAll(func(f *pflag.Flag) {
			if f.Changed && err == nil {
				err = usagef("run: --%s is for --check: heaptap run --check --%s ...", f.Name, f.Name)
			}
		})
		return err
	}
	if err := g.prepare(cmd, top); err != nil {
		return err
	}
	g.fitOn(os.Stderr)
	g.each(func(o *gate.Output) {
		o.Quiet, o.Look.Color, o.Look.Width = console.Quiet, coloured(console), outputWidth(os.Stderr)
	})
	return nil
}

// coloured reports whether the output of a run has colours.
func coloured(console *launch.Console) bool {
	return console.Terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// checkRun checks the recordings of a run, and warns of what is not checked.
func (g *gateFlags) checkRun(cmd *cobra.Command, result *launch.Result, console *launch.Console) error {
	if !console.Quiet {
		g.Say = func(text string) { fmt.Fprintf(console, "checked: %s\n", escape.Terminal(text)) }
	}
	var files []string
	target := 0
	for _, r := range result.Recordings {
		files = append(files, outfile.Relative(r.Path))
		if r.Main {
			target = r.PID
		}
	}
	path := result.Run
	if path != "" {
		path = outfile.Relative(path)
	}
	g.CheckRun(cmd.Context(), path, files, target, result.Named)
	if n := len(result.Running); n > 0 {
		console.Warn("not checked: processes that still run (%s); their recordings are written when they end",
			strings.Trim(fmt.Sprint(result.Running[:min(n, 5)]), "[]"))
	}
	if n := len(g.Unseen); n > 0 && g.Checked > 0 {
		console.Warn("not checked, since nothing was recorded: %s", strings.Join(g.Unseen[:min(n, 5)], ", "))
	}
	return g.finish(cmd.Context(), console, console.Warn)
}
