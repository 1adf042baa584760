package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/escape"
)

func newCheckCommand() *cobra.Command {
	runs := &runsFlags{}
	cmd := &cobra.Command{
		Use:   "check [flags] [RUN...]\n  heaptap check --runs N [flags] -- COMMAND [ARGS...]",
		Short: "Check recordings against limits, for continuous integration",
		Long: `Check ends with status 0 if every recording keeps to every limit. If one does not, it prints the
call stacks that make up the excess and ends with status 1. Status 125 means that it could not be
determined: a recording cannot be read, or the command line is wrong.

What the loader and the language's runtime keep for themselves is not leaked, nor is what
--suppressions name. Filters ("heaptap help filters") restrict what the limits are about: --module
libcache --max-leaked 0 says that nothing is leaked that this library allocated. A filter that
matches no call stack, and no function of the files that were loaded, ends with status 125: the
function may have been renamed. --allow-unmatched turns that into a warning.

A recording in which events are missing (cut short, damaged, lost) does not pass, whatever its
numbers are; --allow-lost lets it pass. A recording without allocations, because recording was off
or none was sampled, could not be checked (status 125); --allow-empty lets it pass.

With --baseline, peak, leaks, allocations, bytes and temporary allocations must not exceed those of
an earlier recording by more than the --tolerance.

--runs N runs and records COMMAND N times, or takes N recordings of repeated runs, and checks them
together. Limits must hold in every run. Against a baseline of several runs, medians are compared,
and only what noise does not explain is a regression: that appears by chance in at most 5 % of all
checks. With 5 runs of each, that can be told; with fewer, all runs must exceed the whole baseline.

--format may be given several times; a format without =FILE goes to stdout, instead of the text.`,
		Example: `  heaptap check --max-peak 200MiB --max-leaked 0 server.4711.htap
  heaptap check --module libcache --max-leaked 0 --no-growth server.4711.htap
  heaptap check --baseline main.htap --tolerance 2% --format junit=heaptap.xml branch.htap
  heaptap check --max-leaked 0 --suppressions known.supp --format github tests.*.htap
  heaptap run --check --max-leaked 0 -- ./tests     # both in one step
  heaptap check --runs 5 -o main --max-leaked 0 -- ./tests     # keeps the recordings in the folder main
  heaptap check --runs 5 --baseline main -- ./tests`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("runs") {
				return runs.args(cmd, args)
			}
			return nil
		},
	}
	top := 5
	g := newGate(cmd.Flags())
	g.q.looks(cmd.Flags())
	cmd.Flags().BoolVar(&g.All, "all", false, "of a run, check all programs, each on its own")
	g.complete(cmd)
	cmd.Flags().BoolVar(&g.json, "json", false, "the same as --format json")
	cmd.Flags().IntVar(&top, "top", top, "show `N` call stacks for each limit that does not hold; 0: none")
	runs.add(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		saveMemory(busyMemory)
		defer g.Close()
		if err := g.prepare(cmd, top); err != nil {
			return err
		}
		g.fitOn(cmd.OutOrStdout())
		g.Say = sayTo(cmd)
		if runs.n > 0 {
			if err := runs.check(cmd, g, args); err != nil {
				return err
			}
		} else {
			for _, file := range each(args) {
				g.Check(cmd.Context(), file)
			}
		}
		return g.finish(cmd.Context(), cmd.OutOrStdout(), func(format string, args ...any) {
			fmt.Fprintf(os.Stderr, "heaptap: %s\n", escape.Terminal(fmt.Sprintf(format, args...)))
		})
	}
	return cmd
}
