package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/view"
)

func newGlobalsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "globals [flags] [RUN]",
		Short: "Show the largest static and thread-local variables",
		Long: `Globals prints what a program has in memory besides the heap: the largest static and thread-local
variables of the program and its libraries, with their sizes, sections and declarations; and the
size of all static data, by section and by file. Thread-local variables count once for each thread
of the recording.

"In memory" is how much of a writable variable was resident when it was last sampled while the
program ran. Programs that run for less than about 50 ms are never sampled.`,
		Example: `  heaptap globals server.4711.htap
  heaptap globals --module server --limit 0 server.4711.htap
  heaptap globals --json server.4711.htap | jq '.total.total_bytes'`,
		Args: oneRun,
	}
	q := &queryFlags{}
	f := cmd.Flags()
	f.StringSliceVar(&q.Modules, "module", nil, "show the variables of this `FILE`: libc, libc.so.6 or a path, with "+
		"* and ?; may be repeated")
	f.IntVar(&q.limit, "limit", 20, "show `N` variables, and files, at most; 0: all")
	f.IntVar(&q.skip, "skip", 0, "leave out the first `N`")
	f.BoolVar(&q.json, "json", false, "print one JSON object")
	q.looks(f)
	q.programs.add(f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := question.CheckPatterns("module", q.Modules); err != nil {
			return usage(cmd, err)
		}
		s, o, err := q.open(cmd, args)
		if err != nil {
			return err
		}
		g := s.Globals(q.Modules)
		if q.json {
			err = answer.Write(cmd.OutOrStdout(), answer.NewGlobals(s, g, o.Page))
		} else {
			err = view.Globals(cmd.OutOrStdout(), s, g, o)
		}
		return errors.Join(err, s.Close())
	}
	return cmd
}
