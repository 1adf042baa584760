package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/view"
)

func newCompactnessCommand() *cobra.Command {
	steps := 0
	cmd := &cobra.Command{
		Use:   "compactness [flags] [RUN]",
		Short: "Show how full pages are, and who keeps empty ones in use",
		Long: `Compactness shows how densely live blocks fill their pages at a moment: at the peak, unless --at says
otherwise, or with --from or --to at the end of that range. It lists the call stacks whose blocks keep pages
in use that are nearly empty: at most half full, and with less than 10 % of other call stacks' blocks. The
bytes that would be released without a call stack are its pages on which no other blocks lie.

The recording has to say where blocks were: heaptap run --addresses. With run --residency, the pages
that were in memory are counted, too. All blocks of the process count;
filters select the blocks that are named as keeping pages in use. A tilde marks what is derived from where
blocks are: an allocator may keep more, or may have returned pages to the system.`,
		Example: `  heaptap run --addresses -o server.htap ./server
  heaptap compactness server.htap
  heaptap compactness --at end --limit 5 server.htap
  heaptap compactness --steps 20 --at end server.htap
  heaptap compactness --json server.htap | jq '.pins[0].pages.released_bytes'`,
		Args: oneRun,
	}
	q := newQuestion(cmd, 10)
	cmd.Flags().StringVar(&q.At, "at", "", "the `TIME` at which blocks are live; default: the peak, or that of --to")
	cmd.Flags().IntVar(&steps, "steps", 0, "show also `N` moments up to then")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if steps < 0 || steps > query.MostMoments {
			return usagef("compactness: --steps %d: from 0 to %d", steps, query.MostMoments)
		}
		return q.ask(cmd, args, func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
			c, err := query.Compact(cmd.Context(), s, about, steps)
			switch {
			case err != nil:
				return err
			case q.json:
				return answer.Write(w, answer.NewCompactness(s, c, o.Page))
			}
			return view.Compactness(w, s, c, o)
		})
	}
	return cmd
}
