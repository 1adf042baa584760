package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/view"
)

func newHistCommand() *cobra.Command {
	parts := view.HistParts
	cmd := &cobra.Command{
		Use:   "hist [flags] FILE",
		Short: "Show how sizes and lifetimes are distributed",
		Long: `Hist prints histograms: the requested sizes of the allocations by powers of two, the sizes that were requested most, the
lifetimes of the blocks that were freed, by how much reallocations changed the size of blocks, and the slack: what the allocator reserved beyond
what was asked for.`,
		Example: `  heaptap hist server.4711.htap
  heaptap hist --show exact --limit 50 --focus 'std::vector' server.4711.htap`,
		Args: oneRecording("hist"),
	}
	q := newQuestion(cmd, 10)
	cmd.Flags().StringSliceVar(&parts, "show", parts, "print these `PARTS`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, p := range parts {
			if !slices.Contains(view.HistParts, p) {
				return unknownWord(cmd, "show", p, view.HistParts)
			}
		}
		return q.ask(cmd, args[0], func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
			h, err := query.Distribute(cmd.Context(), s, about)
			switch {
			case err != nil:
				return err
			case q.json:
				return view.HistJSON(w, s, h, o)
			}
			return view.Hist(w, s, h, parts, o)
		})
	}
	return cmd
}
