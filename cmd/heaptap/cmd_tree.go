package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/view"
)

func newTreeCommand() *cobra.Command {
	var up bool
	var of string
	threshold, depth := "1%", 0
	cmd := &cobra.Command{
		Use:   "tree [flags] [RUN...]",
		Short: "Show the call tree: who calls what that allocates",
		Long: `Tree prints the call tree of a recording: from main down to the functions that allocate, or with
--up from those up to main. Each line has the total of the first metric below that function.
Functions with less than --threshold of the whole are left out; a line says how many they are and
what they have. With --of: the callers and the callees of the functions that match.

` + metricHelp(),
		Example: `  heaptap tree server.4711.htap
  heaptap tree --up --metric leaked server.4711.htap
  heaptap tree --of '^parse$' --metric allocations,bytes --threshold 5% server.4711.htap`,
	}
	q := newQuestion(cmd, 0)
	q.grouped(cmd, query.ByFunction, query.Peak)
	q.stacks(cmd.Flags(), false)
	cmd.Flags().BoolVar(&up, "up", false, "begin with the functions that allocate, and show their callers")
	cmd.Flags().StringVar(&of, "of", "", "show the callers and the callees of functions that match `REGEXP`")
	cmd.Flags().StringVar(&threshold, "threshold", threshold,
		"leave out functions with less than this `SHARE` of the whole")
	cmd.Flags().IntVar(&depth, "depth", depth, "show `N` levels at most; 0: all")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		trim, err := question.ParseTrim(threshold, depth)
		if err != nil {
			return usage(cmd, err)
		}
		if up && of != "" {
			return usagef("tree: --of and --up exclude each other: --of shows callers and callees")
		}
		pattern, err := question.Pattern(of)
		if err != nil {
			return usagef("tree: --of: %w", err)
		}
		return q.ask(cmd, args, func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
			if of != "" {
				t, err := query.Sandwich(cmd.Context(), s, about, func(g *query.Group) bool {
					return g.Function != "" && pattern.MatchString(g.Function)
				}, trim)
				if err != nil {
					return err
				}
				if q.json {
					return answer.Write(w, answer.NewSandwich(s, t, about.By))
				}
				return view.Sandwich(w, s, t, trim, o)
			}
			shape, build := "top-down", query.TopDown
			if up {
				shape, build = "bottom-up", query.BottomUp
			}
			t, err := build(cmd.Context(), s, about, trim)
			if err != nil {
				return err
			}
			if q.json {
				return answer.Write(w, answer.NewTree(s, t, about.By, shape))
			}
			return view.Tree(w, s, t, up, trim, o)
		})
	}
	return cmd
}
