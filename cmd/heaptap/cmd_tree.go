package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/view"
)

func newTreeCommand() *cobra.Command {
	var up bool
	var of string
	cut := question.Trimming{Threshold: "1%"}
	cmd := &cobra.Command{
		Use:   "tree [flags] [RUN...]",
		Short: "Show the call tree: who calls what that allocates",
		Long: `Tree prints the call tree of a recording: from main down to the functions that allocate, or with
--up from those up to main. Each line has the total of the first metric below that function.
Functions with less than --threshold of the whole are left out; a line says how many they are and
what they have. With --nodes, so are all but those that count most. With --of: the callers and the
callees of the functions that match. With --below: what is below a function at the top of the tree,
or below a path of them.

` + metricHelp(),
		Example: `  heaptap tree server.4711.htap
  heaptap tree --up --metric leaked server.4711.htap
  heaptap tree --below main --below parse server.4711.htap
  heaptap tree --of '^parse$' --metric allocations,bytes --threshold 5% server.4711.htap`,
	}
	q := newQuestion(cmd, 0)
	q.grouped(cmd, query.ByFunction, query.Peak)
	q.stacks(cmd.Flags(), false)
	q.folds(cmd.Flags())
	cmd.Flags().BoolVar(&up, "up", false, "begin with the functions that allocate, and show their callers")
	cmd.Flags().StringVar(&of, "of", "", "show the callers and the callees of functions that match `REGEXP`")
	cmd.Flags().StringVar(&cut.Threshold, "threshold", cut.Threshold,
		"leave out functions with less than this `SHARE` of the whole")
	cmd.Flags().IntVar(&cut.Depth, "depth", cut.Depth, "show `N` levels at most; 0: all")
	cmd.Flags().IntVar(&cut.Nodes, "nodes", 0, "show only the `N` nodes that count most, in all; 0: all")
	cmd.Flags().StringArrayVar(&cut.Below, "below", nil,
		"show the tree below this `FUNCTION`, with shares of it; repeat it for a path")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		trim, err := cut.Trim()
		if err != nil {
			return usage(cmd, err)
		}
		if up && of != "" {
			return usagef("tree: --of and --up exclude each other: --of shows callers and callees")
		}
		if cut.Below != nil && of != "" {
			return usagef("tree: --of and --below exclude each other: --of begins with the functions that match")
		}
		pattern, err := question.Pattern(of)
		if err != nil {
			return usagef("tree: --of: %w", err)
		}
		return q.ask(cmd, args, func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
			if of != "" {
				t, err := query.DrawSandwich(cmd.Context(), s, about, func(g *query.Group) bool {
					return g.Function != "" && pattern.MatchString(g.Function)
				}, trim)
				if err != nil {
					return err
				}
				if q.json {
					return answer.Write(w, answer.NewSandwich(s, t, about.By))
				}
				return view.Sandwich(w, s, t.Tree(), trim, o)
			}
			name, shape := "top-down", query.Down
			if up {
				name, shape = "bottom-up", query.Up
			}
			t, err := query.Draw(cmd.Context(), s, about, shape, trim)
			if err != nil {
				return err
			}
			if cut.Below != nil && t.Total.Values(0) == (query.Values{}) {
				return fmt.Errorf("tree: --below: nothing was counted below %s; \"heaptap tree\" without --below "+
					"shows what the tree begins with", strings.Join(cut.Below, " > "))
			}
			if q.json {
				return answer.Write(w, answer.NewTree(s, t, about.By, name))
			}
			linked := &query.Tree{Answer: t.Answer, Root: t.Tree()}
			return view.Tree(w, s, linked, up, trim, o)
		})
	}
	return cmd
}
