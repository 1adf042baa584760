package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/view"
)

func newThreadsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Args:  oneRun,
		Use:   "threads [flags] [RUN]",
		Short: "Show what each thread allocated, and who freed it",
		Long: `Threads prints a line for each thread: how often it allocated and how much, how much of that is live
at the end of the range and was at most at any moment, and how deep its call stacks were; the same
by the function that was called; and which threads freed what other threads had allocated.`,
		Example: `  heaptap threads server.4711.htap
  heaptap threads --focus cache --from 50% server.4711.htap`,
	}
	q := newQuestion(cmd, 20)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return q.ask(cmd, args, func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
			about.Metrics = []query.Metric{query.Allocations, query.Bytes, query.Live, query.OwnPeak, query.Temporary,
				query.Depth}
			t, err := query.Threads(cmd.Context(), s, about)
			if err != nil {
				return err
			}
			if q.json {
				return answer.Write(w, answer.NewThreads(s, t, o.Page))
			}
			return view.Threads(w, s, t, o)
		})
	}
	return cmd
}
