package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/view"
)

func newRegionsCommand() *cobra.Command {
	sort, trace := "begin", false
	cmd := &cobra.Command{
		Use:   "regions [flags] [RUN]",
		Short: "Show what threads did in each region that the program has named",
		Long: `Regions prints a line for each time that a thread was in a region (heaptap_region_begin, see
docs/api.md): what the thread allocated and freed meanwhile, nested regions included. Requested is
the bytes of the allocations. Added, highest and lowest are of the balance of usable bytes, which
begins at 0; largest is the largest single allocation.

Other commands know regions, too: --region selects what was allocated in some, --by region groups by
them.`,
		Example: `  heaptap regions server.4711.htap
  heaptap regions --region 'event/*' --sort highest server.4711.htap
  heaptap regions --trace server.4711.htap > trace.json`,
		Args: oneRun,
	}
	q := newQuestion(cmd, 0)
	cmd.Flags().StringVar(&sort, "sort", sort, "sort by `WHAT`: begin, or a column, largest first")
	cmd.Flags().BoolVar(&trace, "trace", false, "write a trace that Perfetto's and Chrome's viewers open")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if known := query.RegionOrders(); !slices.Contains(known, sort) {
			return unknownWord(cmd, "sort", sort, known)
		}
		if trace && q.json {
			return usagef("regions: --trace and --json exclude each other")
		}
		return q.ask(cmd, args, func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
			t, err := query.Regions(cmd.Context(), s, about)
			if err != nil {
				return err
			}
			t.Sort(sort)
			switch {
			case trace:
				return answer.WriteRegionsTrace(w, s, t)
			case q.json:
				return answer.Write(w, answer.NewRegions(s, t, o.Page))
			}
			return view.Regions(w, s, t, sort == "begin", o)
		})
	}
	return cmd
}
