package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/view"
)

func newMismatchesCommand() *cobra.Command {
	status := 0
	cmd := &cobra.Command{
		Use:   "mismatches [flags] [RUN]",
		Short: "Show blocks that were freed by the wrong function",
		Long: `Mismatches prints allocations and deallocations that do not belong together: free of a block from
operator new, operator delete of a block from malloc or operator new[], a deallocation with another
size or alignment than the allocation. Each pair of call stacks is shown once, with how often it
occurred. The call stack of the deallocation is shown if it was recorded (heaptap run
--free-stacks).`,
		Example: `  heaptap run --free-stacks -o tests.htap -- ./tests && heaptap mismatches --exit-status 1 tests.htap
  heaptap mismatches --json tests.4711.htap | jq '.mismatches[].mismatch'`,
		Args: oneRun,
	}
	q := &queryFlags{}
	f := cmd.Flags()
	f.IntVar(&q.limit, "limit", 20, "show `N` pairs at most; 0: all")
	f.IntVar(&q.skip, "skip", 0, "leave out the first `N` pairs")
	q.stacks(f, true)
	f.IntVar(&status, "exit-status", status, "end with status `N` if there is any")
	f.BoolVar(&q.json, "json", false, "print one JSON object")
	q.looks(f)
	q.programs.add(f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if status < 0 || status > 255 {
			return usagef("mismatches: --exit-status must be from 0 to 255")
		}
		s, o, err := q.open(cmd, args)
		if err != nil {
			return err
		}
		if q.json {
			err = answer.Write(cmd.OutOrStdout(), answer.NewMismatches(s.Profile, o.Page))
		} else {
			err = view.Mismatches(cmd.OutOrStdout(), s, o)
		}
		found := len(s.Profile.Mismatches) > 0
		if err = errors.Join(err, s.Close()); err == nil && found && status != 0 {
			return &exitError{status: status}
		}
		return err
	}
	return cmd
}
