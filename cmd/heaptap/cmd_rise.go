package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/view"
)

func newRiseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rise [flags] [RUN]",
		Short: "Show why live memory rose, or fell, over a range of time",
		Long: `Rise prints what was live at the beginning of the range, the call stacks whose live bytes changed, and
what was live at the end: the lines add up. It shows the fewest call stacks that account for 80 % of the
change, those that grew first, then those that shrank; the line before the last has all others.

With --by, a block belongs to one group: by function, line, file or module to the one that called the
allocator. --hide removes frames, so that their callers get their blocks.`,
		Example: `  heaptap rise --from 50% server.4711.htap
  heaptap rise --from start --to peak --by thread server.4711.htap
  heaptap rise --from 10% --to 20% --by function --hide '^std::' server.4711.htap
  heaptap rise --to peak --json server.4711.htap | jq '.rows[0]'`,
		Args: oneRun,
	}
	q := newQuestion(cmd, -1)
	q.By = query.ByStack.String()
	q.stacks(cmd.Flags(), false)
	q.folds(cmd.Flags())
	cmd.Flags().StringVar(&q.By, "by", q.By, "group by `WHAT`: "+strings.Join(query.Groupings(), ", "))
	cmd.Flags().IntVar(&q.limit, "limit", 10, "show at most `N` groups; 0: all that it takes")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return q.ask(cmd, args, func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
			r, err := query.Explain(cmd.Context(), s, about, o.Limit)
			switch {
			case err != nil:
				return err
			case q.json:
				return answer.Write(w, answer.NewRise(s, r))
			}
			return view.Rise(w, s, r, o)
		})
	}
	return cmd
}
