package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/view"
)

func newPsCommand() *cobra.Command {
	var all, timeline bool
	q := &queryFlags{}
	cmd := &cobra.Command{
		Use:   "ps [flags] [RUN]",
		Short: "Show the processes of a run as a tree",
		Long: `Ps prints the programs of a run, those with the largest resident set first, each below the one that
started it (→ one that the same process executed): the peaks of its resident set and of its live
bytes, how long it ran, its process id, its name and what it works on, and how it ended if that was
not with status 0. Programs with less than a tenth of the largest resident set are folded into one
line, unless they started others; --all shows them.

With --timeline, each program's line shows when it ran and how its live bytes developed, all on one
axis of time; a column's height is the most that was live in it, as a share of the program's peak.

Without RUN it is the last run made here. The other commands take one program with --process: its
process id, its name, or what it works on.`,
		Example: `  heaptap ps
  heaptap ps make.4711.htap
  heaptap ps --timeline --all make.4711.htap
  heaptap report --process 'cc1plus*' make.4711.htap`,
		Args: oneRun,
	}
	f := cmd.Flags()
	f.BoolVar(&all, "all", false, "show small processes, too")
	f.BoolVar(&timeline, "timeline", false, "show how the live bytes of each process developed")
	f.BoolVar(&q.json, "json", false, "print one JSON object, with every program")
	q.looks(f)
	_ = f.MarkHidden("exact")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		look, err := q.look(cmd)
		if err != nil {
			return err
		}
		r, err := q.programs.finder(cmd).Run(first(args))
		if err != nil {
			return err
		}
		defer r.Close()
		a := answer.NewRun(r)
		if timeline {
			levels, err := r.Levels(cmd.Context())
			if levels == nil && err != nil {
				return err
			}
			a.AddLevels(levels, err)
			if err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "heaptap: ps: %v\n", err)
			}
		}
		if q.json {
			return answer.Write(cmd.OutOrStdout(), a)
		}
		return view.Run(cmd.OutOrStdout(), a, all, look)
	}
	return cmd
}
