package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/view"
)

func newTopCommand() *cobra.Command {
	var self bool
	cmd := &cobra.Command{
		Use:   "top [flags] [RUN...]",
		Short: "Show which functions, lines, modules, threads ... allocate most",
		Long: `Top prints a table: a row for each function, source line, address, source file, module, call stack,
thread, size class or allocation function, and any metrics of them. Functions have two values of
each metric: total, of all call stacks that contain them, and self, of those in which they call the
allocator.

` + metricHelp() + `
docs/queries.md has the exact definitions.`,
		Example: `  heaptap top server.4711.htap
  heaptap top --by line --metric leaked,leaked-blocks server.4711.htap
  heaptap top --by thread --metric allocations,bytes,own-peak server.4711.htap
  heaptap top --from 50% --lifetime ..1ms --metric churn server.4711.htap`,
	}
	q := newQuestion(cmd, 20)
	q.grouped(cmd, query.ByFunction, query.Peak, query.Bytes, query.Leaked)
	q.stacks(cmd.Flags(), false)
	cmd.Flags().BoolVar(&self, "self", false, "sort by self")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return q.ask(cmd, args, func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
			t, err := query.Flat(cmd.Context(), s, about)
			if err != nil {
				return err
			}
			if self {
				t.SortSelf()
				o.Frames = -1 // who calls the allocator itself is mostly a library
			}
			if q.json {
				return answer.Write(w, answer.NewTop(s, t, about.By, o.Page))
			}
			return view.Top(w, s, t, o)
		})
	}
	return cmd
}
