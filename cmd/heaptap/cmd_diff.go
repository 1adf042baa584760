package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/diff"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/view"
)

func newDiffCommand() *cobra.Command {
	var self, tree bool
	cut := question.Trimming{Threshold: "1%"}
	cmd := &cobra.Command{
		Use:   "diff [flags] BEFORE[@FROM..TO] AFTER[@FROM..TO]",
		Short: "Show what changed between two recordings, or two ranges of one",
		Long: `Diff compares two recordings: by call stack (or any other grouping) what is new, what is gone, what
grew and what shrank. Call stacks are matched by the functions on them, not by addresses: the two
recordings may be of different builds, with code that has moved. All flags apply to both sides.
@FROM..TO after a file selects a range of its time; a second @FROM..TO without a file selects
another range of the first file. Rows that have not changed are only counted.

The rows are sorted by the change of the first metric. The changes of all rows sum up to the change
of the whole (by function and the like, the changes of self do).

` + metricHelp() + `
docs/queries.md says how rows are matched.`,
		Example: `  heaptap diff old.4711.htap new.4712.htap
  heaptap diff --by function --metric allocations old.4711.htap new.4712.htap
  heaptap diff --metric live server.4711.htap@..10% server.4711.htap@..90%
  heaptap diff --tree server.4711.htap@..50% @50%..`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("diff: two recordings are needed; for example: heaptap diff old.4711.htap new.4712.htap")
			}
			return nil
		},
	}
	q := newQuestion(cmd, 20)
	q.grouped(cmd, query.ByStack, query.Bytes, query.Peak, query.Leaked)
	cmd.Flags().BoolVar(&self, "self", false, "sort by self")
	cmd.Flags().BoolVar(&tree, "tree", false, "show a call tree from main down instead of a table")
	cmd.Flags().StringVar(&cut.Threshold, "threshold", cut.Threshold,
		"with --tree: leave out functions that have less than this `SHARE` of all changes")
	cmd.Flags().IntVar(&cut.Depth, "depth", cut.Depth, "with --tree: show `N` levels at most; 0: all")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		saveMemory(busyMemory)
		trim, err := cut.Trim()
		if err != nil {
			return usage(cmd, err)
		}
		o, err := q.options(cmd)
		if err != nil {
			return err
		}
		before, after, closeBoth, err := q.sides(cmd, args[0], args[1])
		if err != nil {
			return err
		}
		before.Source.Profile.SetCode(o.Code)
		after.Source.Profile.SetCode(o.Code)
		if tree {
			err = q.diffTree(cmd, before, after, trim, o)
		} else {
			err = q.diffTable(cmd, before, after, self, o)
		}
		return errors.Join(err, closeBoth())
	}
	return cmd
}

// diffTable writes a table of what has changed.
func (q *queryFlags) diffTable(cmd *cobra.Command, before, after diff.Side, self bool, o view.QueryOptions) error {
	t, err := diff.Compare(cmd.Context(), before, after)
	if err != nil {
		return err
	}
	if self {
		t.SortSelf()
	}
	w := cmd.OutOrStdout()
	if q.json {
		return answer.Write(w, answer.NewDiff(before.Source, after.Source, t, before.Query.By, o.Page))
	}
	return view.Diff(w, before.Source, after.Source, t, o)
}

// diffTree writes a call tree with what has changed.
func (q *queryFlags) diffTree(cmd *cobra.Command, before, after diff.Side, trim query.Trim, o view.QueryOptions) error {
	if !cmd.Flags().Changed("limit") {
		o.Limit = 0
	}
	if !cmd.Flags().Changed("by") {
		before.Query.By, after.Query.By = query.ByFunction, query.ByFunction
	}
	t, err := diff.CompareTrees(cmd.Context(), before, after, trim)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	if q.json {
		return answer.Write(w, answer.NewDiffTree(before.Source, after.Source, t, before.Query.By))
	}
	return view.DiffTree(w, before.Source, after.Source, t, trim, o)
}

// sides opens the two recordings, or one for both sides, and makes the query about each.
func (q *queryFlags) sides(cmd *cobra.Command, first, second string) (before, after diff.Side, closeBoth func() error,
	err error) {
	var open []*query.Source
	closeBoth = func() (err error) {
		for _, s := range open {
			err = errors.Join(err, s.Close())
		}
		return err
	}
	fail := func(err error) (diff.Side, diff.Side, func() error, error) {
		return diff.Side{}, diff.Side{}, nil, errors.Join(err, closeBoth())
	}
	fileA, rangeA := input.SplitRange(first)
	fileB, rangeB := input.SplitRange(second)
	if fileB == "" {
		fileB = fileA
	}
	if before.Source, err = q.programs.open(cmd, fileA); err != nil {
		return fail(err)
	}
	open = append(open, before.Source)
	after.Source = before.Source
	if fileB != fileA {
		if after.Source, err = q.programs.open(cmd, fileB); err != nil {
			return fail(err)
		}
		open = append(open, after.Source)
	}
	if before.Query, err = q.ranged(cmd, before.Source, first, rangeA); err != nil {
		return fail(err)
	}
	if after.Query, err = q.ranged(cmd, after.Source, second, rangeB); err != nil {
		return fail(err)
	}
	return before, after, closeBoth, nil
}

// ranged makes the query about a range FROM..TO of a recording; "": the range of the flags.
func (q *queryFlags) ranged(cmd *cobra.Command, s *query.Source, text, span string) (*query.Query, error) {
	if span == "" {
		return q.query(cmd, s)
	}
	if cmd.Flags().Changed("from") || cmd.Flags().Changed("to") {
		return nil, usagef("diff: %s has its own range, which excludes --from and --to", text)
	}
	own := *q
	from, to, _ := strings.Cut(span, "..")
	if from != "" {
		own.From = from
	}
	if to != "" {
		own.To = to
	}
	return own.query(cmd, s)
}
