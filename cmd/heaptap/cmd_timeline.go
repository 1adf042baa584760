package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/view"
)

func newTimelineCommand() *cobra.Command {
	var csv, stack bool
	top, steps := 0, 0
	cmd := &cobra.Command{
		Use:   "timeline [flags] [RUN]",
		Short: "Show how live memory developed over time",
		Long: `Timeline draws the live bytes over time, the resident set as the kernel counts it, and the rate of
allocation. A column is a step of equal time; its height is the most that was live at any moment of
the step, so that no peak is missed. With --top, the groups that count most have a line each: by
default call stacks, by what was live of them at the peak. A block counts in one group only: by
function, in that of the function that allocated it itself, or with --fold in that of the function
for which libraries did. So the groups and the rest add up to the live bytes at each step.

With --stack, it draws the memory of each thread's stack instead, as deep as it has been so far: at
events, with the call stacks at which it grew (in steps of 4 KiB), and down to the lowest page that
any call touched.`,
		Example: `  heaptap timeline server.4711.htap
  heaptap timeline --top 8 --from 10% --to 20% server.4711.htap
  heaptap timeline --top 8 --by function --fold server.4711.htap
  heaptap timeline --top 5 --by module --csv --steps 1000 server.4711.htap > live.csv
  heaptap timeline --stack --thread 'worker*' server.4711.htap`,
		Args: oneRun,
	}
	q := newQuestion(cmd, -1)
	q.grouped(cmd, query.ByStack, query.Peak)
	cmd.Flags().Lookup("metric").Usage = "the `METRIC` by which --top chooses"
	q.folds(cmd.Flags())
	cmd.Flags().Lookup("at").Hidden = true // what is live is shown at all times
	cmd.Flags().IntVar(&top, "top", top, "show the `N` groups that count most")
	cmd.Flags().IntVar(&steps, "steps", steps, "divide the time into `N` steps; default: one for each column; with "+
		"--csv and --json 200")
	cmd.Flags().BoolVar(&csv, "csv", false, "print comma-separated values, a line for each step")
	cmd.Flags().BoolVar(&stack, "stack", false,
		"show the memory of the threads' stacks; --top is how many threads (8), --csv prints a line for each "+
			"time that one grew")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case top < 0 || top > 1000:
			return usagef("timeline: --top %d: from 0 to 1000", top)
		case steps < 0 || steps > 100_000:
			return usagef("timeline: --steps %d: from 1 to 100000", steps)
		case csv && q.json:
			return usagef("timeline: --csv and --json exclude each other")
		}
		if stack {
			return stackTimeline(cmd, q, args, top, steps, csv)
		}
		return q.ask(cmd, args, func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
			switch {
			case steps > 0:
			case csv || q.json:
				steps = 200
			default:
				steps = view.TimelineSteps(o)
			}
			develop := query.Develop
			if !cmd.Flags().Changed("steps") {
				develop = query.DevelopRoughly
			}
			t, err := develop(cmd.Context(), s, about, steps, top)
			switch {
			case err != nil:
				return err
			case csv:
				return view.TimelineCSV(w, s, t)
			case q.json:
				return answer.Write(w, answer.NewTimeline(s, t))
			}
			return view.Timeline(w, s, t, o)
		})
	}
	return cmd
}

// stackTimeline answers with --stack.
func stackTimeline(cmd *cobra.Command, q *queryFlags, args []string, top, steps int, csv bool) error {
	if !cmd.Flags().Changed("top") {
		top = 8
	}
	return q.ask(cmd, args, func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
		switch {
		case steps > 0:
		case q.json:
			steps = 200
		default:
			steps = view.TimelineSteps(o)
		}
		t, err := query.DevelopStacks(cmd.Context(), s, about, steps, top)
		switch {
		case err != nil:
			return err
		case csv:
			return view.StackTimelineCSV(w, s, t)
		case q.json:
			return answer.Write(w, answer.NewStackTimeline(s, t))
		}
		return view.StackTimeline(w, s, t, o)
	})
}
