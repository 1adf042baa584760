package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/timeref"
	"github.com/heaptap/heaptap/internal/view"
)

func newMemoryCommand() *cobra.Command {
	at := ""
	cmd := &cobra.Command{
		Use:   "memory [flags] [RUN]",
		Short: "Show what the resident set consisted of",
		Long: `Memory prints a table that adds up to the resident set, as the kernel counts it: what is in memory of
the live blocks, what the allocator keeps besides (free blocks, slack), what the program has mapped
itself, by call stack, the stacks of the threads, static data, files, heaptap's own, and the rest.

The recorder reads these numbers whenever the resident set has grown, and now and then otherwise.
Without --at, the table is that of the largest resident set that was read. Processes that run for
less than about 10 ms are never read.

What a language keeps in a heap of its own (Python's pools, Go, V8, GCC's collector) is mapped
memory here; the lines below the table say how to look into it.`,
		Example: `  heaptap memory server.4711.htap
  heaptap memory --at end server.4711.htap
  heaptap memory --json server.4711.htap | jq '.parts'`,
		Args: oneRun,
	}
	q := &queryFlags{}
	f := cmd.Flags()
	f.StringVar(&at, "at", "", "the reading nearest to `TIME`: "+timeref.Help+"; default: the largest one")
	f.IntVar(&q.limit, "limit", 8, "show `N` mappings, and files, at most; 0: all")
	f.BoolVar(&q.json, "json", false, "print one JSON object")
	q.looks(f)
	q.programs.add(f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, o, err := q.open(cmd, args)
		if err != nil {
			return err
		}
		set := s.Profile.LargestResident()
		if set != nil && at != "" {
			var time int64
			if time, err = question.Time(s, "at", at); err == nil {
				set = s.Profile.ResidentAt(time)
			}
		}
		switch {
		case err != nil:
			err = usage(cmd, err)
		case q.json:
			err = answer.Write(cmd.OutOrStdout(), answer.NewMemory(s.Profile, set))
		default:
			err = view.Memory(cmd.OutOrStdout(), s.Profile, set, o)
		}
		return errors.Join(err, s.Close())
	}
	return cmd
}
