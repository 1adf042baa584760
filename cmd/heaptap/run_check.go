package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
	g.each(func(o *gate.Output) { o.Quiet, o.Look.Color = console.Quiet, coloured(console) })
	return nil
}

// coloured reports whether the output of a run has colours.
func coloured(console *launch.Console) bool {
	return console.Terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// checkRun checks the recordings of a run, and warns of what is not checked.
func (g *gateFlags) checkRun(cmd *cobra.Command, result *launch.Result, console *launch.Console) error {
	g.OfRun = true
	for _, r := range result.Recordings {
		g.Check(cmd.Context(), outfile.Relative(r.Path))
	}
	if n := len(result.Running); n > 0 {
		console.Warn("not checked: processes that still run (%s); their recordings are written when they end",
			strings.Trim(fmt.Sprint(result.Running[:min(n, 5)]), "[]"))
	}
	if n := len(g.Unseen); n > 0 && g.Checked > 0 {
		console.Warn("not checked, since nothing was recorded: %s", strings.Join(g.Unseen[:min(n, 5)], ", "))
	}
	return g.finish(console, console.Warn)
}

// usageInParts has the help show some flags of a command below their own title.
func usageInParts(cmd *cobra.Command, part *pflag.FlagSet, title string) {
	hide := func(hidden bool) { part.VisitAll(func(f *pflag.Flag) { f.Hidden = hidden }) }
	cmd.SetUsageFunc(func(c *cobra.Command) error {
		hide(true)
		err := c.Parent().UsageFunc()(c)
		hide(false)
		fmt.Fprintf(c.OutOrStderr(), "\n%s:\n%s", title, part.FlagUsagesWrapped(helpWidth))
		return err
	})
}
