package main

import (
	"context"
	"errors"
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
	var divisions, heat []string
	cmd := &cobra.Command{
		Args:  oneRun,
		Use:   "hist [flags] [RUN]",
		Short: "Show how sizes and lifetimes are distributed",
		Long: `Hist prints histograms: the requested sizes of the allocations by powers of two, the most frequent
requested sizes, the lifetimes of the freed blocks, by how much reallocations changed the size of
blocks, and the slack: what the allocator reserved beyond the requested size.

With --by it prints tables instead: pairs of the sizes before and after reallocations, sizes by
time, lifetimes by size. --json prints all of them.

With --heat it draws heat maps: rows of characters that are the higher, the more blocks they stand
for, by powers of two. time: sizes by the time of the allocation; lifetime: lifetimes of freed
blocks by size, and the blocks that were never freed; reallocs: sizes before reallocations by sizes
after them, with what these copied.`,
		Example: `  heaptap hist server.4711.htap
  heaptap hist --by pairs,lifetime server.4711.htap
  heaptap hist --heat time,lifetime server.4711.htap
  heaptap hist --show exact --limit 50 --focus 'std::vector' server.4711.htap`,
	}
	q := newQuestion(cmd, 10)
	cmd.Flags().StringSliceVar(&parts, "show", parts, "print these `PARTS`")
	cmd.Flags().StringSliceVar(&divisions, "by", nil, "print `TABLES`: "+strings.Join(view.HistDivisions, ", "))
	cmd.Flags().StringSliceVar(&heat, "heat", nil, "draw heat `MAPS`: "+strings.Join(query.HeatKinds, ", "))
	complete(cmd, "show", view.HistParts)
	complete(cmd, "by", view.HistDivisions)
	complete(cmd, "heat", query.HeatKinds)
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
		for _, kind := range heat {
			if !slices.Contains(query.HeatKinds, kind) {
				return unknownWord(cmd, "heat", kind, query.HeatKinds)
			}
		}
		if len(divisions)+len(heat) > 0 && !cmd.Flags().Changed("show") {
			parts = nil
		}
		return q.ask(cmd, args, func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
			h, err := distribute(cmd.Context(), s, about, !q.json && onlyClasses(slices.Concat(parts, divisions, heat)))
			switch {
			case err != nil:
				return err
			case q.json:
				return answer.Write(w, answer.NewHist(s, h, heat, o.Page))
			}
			all := append(slices.Clone(parts), divisions...)
			for _, kind := range heat {
				all = append(all, view.HeatPart(kind))
			}
			return view.Hist(w, s, h, all, o)
		})
	}
	return cmd
}

// distribute answers at once, if only classes of sizes and lifetimes of the whole run are wanted.
func distribute(ctx context.Context, s *query.Source, q *query.Query, classes bool) (*query.Histogram, error) {
	if classes {
		if h, err := query.Classify(ctx, s, q); !errors.Is(err, query.ErrNotAtOnce) {
			return h, err
		}
	}
	return query.Distribute(ctx, s, q)
}

// onlyClasses reports whether parts of a histogram need no events of the whole run.
func onlyClasses(parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool {
		return part != view.HistSizes && part != view.HistLifetimes
	})
}
