package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroup is a part of a command's help: flags below a title.
type flagGroup struct {
	title string
	flags []string
}

// commonRunFlags are what people need; heaptap run --help shows these.
var commonRunFlags = []string{"output", "quiet", "mode", "sample", "children", "keep", "free-stacks", "mark-every",
	"export", "check", "help", "help-all"}

// runFlagGroups are all flags of heaptap run, in the order of --help-all. Those that are in no group come last.
var runFlagGroups = []flagGroup{
	{"Which programs are recorded", []string{"children", "exe", "ranks", "min-events", "allocator", "require"}},
	{"What is recorded", []string{"mode", "sample", "sample-calls", "stack", "stack-min", "max-depth", "free-stacks",
		"addresses", "residency", "time-calls", "start", "start-after", "stop-after"}},
	{"Recordings on disk", []string{"output", "single", "output-mode", "keep", "max-size", "spill-limit", "scrub",
		"scrub-functions", "salt"}},
	{"While the program runs", []string{"mark-every", "mark-on", "mark-when", "monitor", "log"}},
	{"When it has ended", []string{"quiet", "top", "own", "library", "export", "check"}},
	{"Flags from a file, and help", []string{"config", "print-config", "help", "help-all"}},
}

// showsRunFlags has the help of heaptap run show the flags that people need, or with --help-all all of them in groups.
// The limits of --check have a group of their own.
func showsRunFlags(cmd *cobra.Command, all *bool, limits *pflag.FlagSet) {
	cmd.SetUsageFunc(func(c *cobra.Command) error {
		var shown []*pflag.Flag // which the usual usage must not show
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				shown = append(shown, f)
				f.Hidden = true
			}
		})
		err := c.Parent().UsageFunc()(c)
		for _, f := range shown {
			f.Hidden = false
		}
		out := c.OutOrStderr()
		if !*all {
			printFlags(out, "Flags",
				choose(shown, func(f *pflag.Flag) bool { return slices.Contains(commonRunFlags, f.Name) }))
			fmt.Fprintf(out, "\n%d more flags: heaptap run --help-all\n", len(shown)-len(commonRunFlags))
			return err
		}
		rest := choose(shown, func(f *pflag.Flag) bool { return limits.Lookup(f.Name) == nil })
		for _, g := range runFlagGroups {
			in := func(f *pflag.Flag) bool { return slices.Contains(g.flags, f.Name) }
			printFlags(out, g.title, choose(rest, in))
			rest = slices.DeleteFunc(rest, in)
		}
		printFlags(out, "Others", rest)
		printFlags(out, "With --check", choose(shown, func(f *pflag.Flag) bool { return limits.Lookup(f.Name) != nil }))
		return err
	})
}

func choose(list []*pflag.Flag, is func(*pflag.Flag) bool) (out []*pflag.Flag) {
	for _, f := range list {
		if is(f) {
			out = append(out, f)
		}
	}
	return out
}

// printFlags prints flags below a title.
func printFlags(w io.Writer, title string, flags []*pflag.Flag) {
	if len(flags) == 0 {
		return
	}
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, f := range flags {
		set.AddFlag(f)
	}
	fmt.Fprintf(w, "\n%s:\n%s", title, set.FlagUsagesWrapped(helpWidth))
}
