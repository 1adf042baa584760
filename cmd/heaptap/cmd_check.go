package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/escape"
)

func newCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [flags] FILE...",
		Short: "Check recordings against limits, for continuous integration",
		Long: `Check ends with status 0 if every recording keeps to every limit. If one does not, it prints the
call stacks that make up the excess and ends with status 1. Status 125 means that it could not be
determined: a recording cannot be read, or the command line is wrong.

What the loader and the language's runtime keep for themselves is not leaked, nor is what
--suppressions name. Filters ("heaptap help filters") restrict what the limits are about: --module
libcache --max-leaked 0 says that nothing is leaked that this library allocated.

A recording in which events are missing (cut short, damaged, lost) does not pass, whatever its
numbers are; --allow-lost lets it pass. A recording without allocations, because recording was off
or none was sampled, could not be checked (status 125); --allow-empty lets it pass.

With --baseline, peak, leaks, allocations, bytes and temporary allocations must not exceed those of
an earlier recording by more than the --tolerance. --format may be given several times; a format
without =FILE goes to stdout, instead of the text.`,
		Example: `  heaptap check --max-peak 200MiB --max-leaked 0 server.4711.htap
  heaptap check --module libcache --max-leaked 0 --no-growth server.4711.htap
  heaptap check --baseline main.htap --tolerance 2% --format junit=heaptap.xml branch.htap
  heaptap check --max-leaked 0 --suppressions known.supp --format github *.htap
  heaptap run --check --max-leaked 0 -- ./tests     (both in one step)`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("check: no recording given; for example: heaptap check --max-leaked 0 server.4711.htap")
			}
			return nil
		},
	}
	top := 5
	g := newGate(cmd.Flags())
	g.q.looks(cmd.Flags())
	g.complete(cmd)
	cmd.Flags().BoolVar(&g.json, "json", false, "the same as --format json")
	cmd.Flags().IntVar(&top, "top", top, "show `N` call stacks for each limit that does not hold; 0: none")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		saveMemory()
		defer g.Close()
		if err := g.prepare(cmd, top); err != nil {
			return err
		}
		for _, file := range args {
			g.Check(cmd.Context(), file)
		}
		return g.finish(cmd.OutOrStdout(), func(format string, args ...any) {
			fmt.Fprintf(os.Stderr, "heaptap: %s\n", escape.Terminal(fmt.Sprintf(format, args...)))
		})
	}
	return cmd
}
