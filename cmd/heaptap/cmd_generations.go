package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/view"
)

func newGenerationsCommand() *cobra.Command {
	rows, columns, marks := 20, 0, false
	var names []string
	metric := query.Kept.String()
	cmd := &cobra.Command{
		Use:   "generations [flags] [RUN]",
		Short: "Show how much of what each part of the run allocated is live later",
		Long: `Generations divides the range into intervals, and prints a row for each: how much of what was allocated
in it is live at the moments of the columns. Where a program frees what it allocates, rows fade from left
to right. A row that keeps its value is what that interval has left behind.

Intervals have about equal time; in a large recording, they end where no events have to be read. What is in
a cell, top and tree show by call stack: --metric kept with the row's time as --from and --to, and the
column's as --at.

With --marks, the rows are the spans between marks: set one before each repeat of an action. Below them are
the call stacks of which every repeat left equally many blocks behind. With --mark NAME, only marks of
that name count, with * and ?: so a repeat may have marks within it.`,
		Example: `  heaptap generations server.4711.htap
  heaptap generations --from 50% --rows 10 --columns 5 server.4711.htap
  heaptap generations --focus parse_request --metric kept-blocks server.4711.htap
  heaptap generations --json server.4711.htap | jq '.rows[3].kept_bytes'
  heaptap generations --marks server.4711.htap
  heaptap generations --mark 'click*' server.4711.htap
  heaptap top --metric kept --from 20% --to 40% --at end server.4711.htap`,
		Args: oneRun,
	}
	q := newQuestion(cmd, -1)
	cmd.Flags().IntVar(&rows, "rows", rows, "divide the range into `N` intervals")
	cmd.Flags().IntVar(&columns, "columns", columns, "show `N` moments; default: as many as fit, with --json 20")
	cmd.Flags().BoolVar(&marks, "marks", false, "let the rows be the spans between marks, and list what every one of "+
		"them left behind")
	cmd.Flags().StringSliceVar(&names, "mark", nil, "as --marks, but only marks of this `NAME` count, with * and ?; "+
		"may be repeated")
	cmd.Flags().StringVar(&metric, "metric", metric, "show this `METRIC`: kept (bytes) or kept-blocks")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		known := []string{query.Kept.String(), query.KeptBlocks.String()}
		switch {
		case rows < 1 || rows > query.MostGenerations:
			return usagef("generations: --rows %d: from 1 to %d", rows, query.MostGenerations)
		case columns < 0 || columns > query.MostGenerations:
			return usagef("generations: --columns %d: from 1 to %d", columns, query.MostGenerations)
		case (marks || names != nil) && cmd.Flags().Changed("rows"):
			return usagef("generations: --marks and --mark exclude --rows")
		case metric != known[0] && metric != known[1]:
			return unknownWord(cmd, "metric", metric, known)
		}
		if columns == 0 && q.json {
			columns = 20
		}
		return q.ask(cmd, args, func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
			if err := question.CheckMarks(s, "mark", names); err != nil {
				return usage(cmd, err)
			}
			if columns == 0 {
				columns = view.GenerationColumns(o)
			}
			g, err := query.Generate(cmd.Context(), s, about,
				query.Triangle{Rows: rows, Columns: columns, Marks: marks || names != nil, Names: names})
			switch {
			case err != nil:
				return err
			case q.json:
				return answer.Write(w, answer.NewGenerations(s, g))
			}
			return view.Generations(w, s, g, metric == known[1], o)
		})
	}
	return cmd
}
