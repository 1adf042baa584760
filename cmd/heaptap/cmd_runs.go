package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/run"
	"github.com/heaptap/heaptap/internal/view"
)

func newRunsCommand() *cobra.Command {
	var prune, dry bool
	keep := 3
	q := &queryFlags{}
	cmd := &cobra.Command{
		Use:   "runs [flags] [FOLDER]",
		Short: "List the runs in a folder, and remove old ones",
		Long: `Runs lists the runs and recordings in the working directory, or in FOLDER, the latest first.

--prune removes all but the latest ones (--keep), and prints what it removes. It only removes runs
of this user that have ended and have the name that heaptap gives, NAME.PID.htap: recordings that
you named with -o stay. A folder that holds anything but a run stays, too. --dry-run only prints.`,
		Example: `  heaptap runs
  heaptap runs --prune --keep 1 --dry-run`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return usagef("runs: takes one folder, and %q is a second one", args[1])
			case keep < 0:
				return usagef("runs: --keep %d: must not be negative", keep)
			case !prune && (dry || cmd.Flags().Changed("keep")):
				return usagef("runs: --keep and --dry-run are for --prune")
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&prune, "prune", false, "remove all but the latest runs")
	f.IntVar(&keep, "keep", keep, "with --prune: keep the `N` latest")
	f.BoolVarP(&dry, "dry-run", "n", false, "with --prune: print what would be removed, and remove nothing")
	f.BoolVar(&q.json, "json", false, "print one JSON object")
	q.looks(f)
	_ = f.MarkHidden("exact")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		look, err := q.look(cmd)
		if err != nil {
			return err
		}
		list, err := run.List(cmp.Or(first(args), "."))
		if err != nil {
			return err
		}
		if prune {
			var failed []error
			list, failed = run.Prune(list, keep, dry)
			for _, err := range failed {
				fmt.Fprintf(cmd.ErrOrStderr(), "heaptap: not removed: %s\n", oneLine(err))
			}
			if err = printPruned(cmd.OutOrStdout(), list, q.json); err == nil && failed != nil {
				err = &exitError{status: 1}
			}
			return err
		}
		switch {
		case q.json:
			return answer.Write(cmd.OutOrStdout(), answer.NewRuns(list))
		case len(list) == 0:
			fmt.Fprintln(cmd.ErrOrStderr(), "heaptap: no run is in this folder; to make one: heaptap run COMMAND")
			return nil
		}
		return view.Runs(cmd.OutOrStdout(), answer.NewRuns(list), look)
	}
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return cmd
}

// printPruned prints the runs that were removed, or would be.
func printPruned(w io.Writer, list []run.Entry, json bool) error {
	if json {
		return answer.Write(w, answer.NewRuns(list))
	}
	for _, e := range list {
		if _, err := fmt.Fprintln(w, escape.Terminal(e.Path)); err != nil {
			return err
		}
	}
	return nil
}
