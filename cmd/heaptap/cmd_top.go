package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/view"
)

func newTopCommand() *cobra.Command {
	var sorting question.Sorting
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
  heaptap top --by line --match json --sort allocations --metric bytes,allocations server.4711.htap
  heaptap top --by thread --metric allocations,bytes,own-peak server.4711.htap
  heaptap top --fold --self --metric bytes server.4711.htap
  heaptap top --from 50% --lifetime ..1ms --metric churn server.4711.htap`,
	}
	q := newQuestion(cmd, 20)
	q.grouped(cmd, query.ByFunction, query.Peak, query.Bytes, query.Leaked)
	q.stacks(cmd.Flags(), false)
	q.folds(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&sorting.Sort, "sort", "", "sort by this `METRIC` of --metric, or by name; default: the first metric")
	f.BoolVar(&sorting.Self, "self", false, "sort by self")
	f.BoolVar(&sorting.Reverse, "reverse", false, "show the last rows first")
	f.StringVar(&sorting.Match, "match", "", "show rows whose name contains this `TEXT`, in upper or lower case, or "+
		"matches /REGEXP/; a call stack: if one of its frames does")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return q.ask(cmd, args, func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
			wanted, err := sorting.Page(about)
			if err != nil {
				return usage(cmd, err)
			}
			list, err := query.List(cmd.Context(), s, about)
			if err != nil {
				return err
			}
			page, err := list.Page(wanted)
			if err != nil {
				return err
			}
			t := &page.Table
			if sorting.Self {
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
