package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/view"
)

func newHistCommand() *cobra.Command {
	parts := view.HistParts
	var divisions []string
	cmd := &cobra.Command{
		Args:  oneRun,
		Use:   "hist [flags] [RUN]",
		Short: "Show how sizes and lifetimes are distributed",
		Long: `Hist prints histograms: the requested sizes of the allocations by powers of two, the most frequent
requested sizes, the lifetimes of the freed blocks, by how much reallocations changed the size of
blocks, and the slack: what the allocator reserved beyond the requested size.

With --by it prints tables instead: pairs of the sizes before and after reallocations, sizes by
time, lifetimes by size. --json prints all of them.`,
		Example: `  heaptap hist server.4711.htap
  heaptap hist --by pairs,lifetime server.4711.htap
  heaptap hist --show exact --limit 50 --focus 'std::vector' server.4711.htap`,
	}
	q := newQuestion(cmd, 10)
	cmd.Flags().StringSliceVar(&parts, "show", parts, "print these `PARTS`")
	cmd.Flags().StringSliceVar(&divisions, "by", nil, "print `TABLES`: "+strings.Join(view.HistDivisions, ", "))
	complete(cmd, "show", view.HistParts)
	complete(cmd, "by", view.HistDivisions)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, p := range parts {
			if !slices.Contains(view.HistParts, p) {
				return unknownWord(cmd, "show", p, view.HistParts)
			}
		}
		for _, d := range divisions {
			if !slices.Contains(view.HistDivisions, d) {
				return unknownWord(cmd, "by", d, view.HistDivisions)
			}
		}
		if len(divisions) > 0 && !cmd.Flags().Changed("show") {
			parts = nil
		}
		return q.ask(cmd, args, func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
			h, err := query.Distribute(cmd.Context(), s, about)
			switch {
			case err != nil:
				return err
			case q.json:
				return answer.Write(w, answer.NewHist(s, h, o.Page))
			}
			return view.Hist(w, s, h, append(slices.Clone(parts), divisions...), o)
		})
	}
	return cmd
}
