package main

import (
	"errors"
	"slices"
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
	var self, tree, scale, all, up, static bool
	cut := question.Trimming{Threshold: "1%"}
	cmd := &cobra.Command{
		Use:   "diff [flags] BEFORE[@FROM..TO] AFTER[@FROM..TO] | BEFORE... -- AFTER...",
		Short: "Show what changed between two recordings, or two ranges of one",
		Long: `Diff compares two recordings: by call stack (or any other grouping) what is new, what is gone, what
grew and what shrank. Call stacks are matched by the functions on them, not by addresses: the two
recordings may be of different builds, with code that has moved. All flags apply to both sides.
@FROM..TO after a file selects a range of its time; a second @FROM..TO without a file selects
another range of the first file. RUN#PROCESS is a program of a run, by its process id or name. Rows
that have not changed are only counted.

Of several runs on a side, with -- between the sides, the median counts. A row varies if the values
of its runs before and after overlap: the next runs might show no change.

With --static, static and thread-local variables are compared instead: by name, section and file.

The rows are sorted by the change of the first metric. The changes of all rows sum up to the change
of the whole (by function and the like, the changes of self do).

` + metricHelp() + `
docs/queries.md says how rows are matched.`,
		Example: `  heaptap diff old.4711.htap new.4712.htap
  heaptap diff --by function --metric allocations old.4711.htap new.4712.htap
  heaptap diff --metric live server.4711.htap@..10% server.4711.htap@..90%
  heaptap diff --tree server.4711.htap@..50% @50%..
  heaptap diff --static old.4711.htap new.4712.htap
  heaptap diff make.4711.htap#make make.4711.htap#tests
  heaptap diff old.1.htap old.2.htap old.3.htap -- new.1.htap new.2.htap new.3.htap`,
		Args: func(cmd *cobra.Command, args []string) error {
			_, _, err := bothSides(cmd, args)
			return err
		},
	}
	q := newQuestion(cmd, 20)
	q.grouped(cmd, query.ByStack, query.Bytes, query.Peak, query.Leaked)
	q.folds(cmd.Flags())
	cmd.Flags().BoolVar(&self, "self", false, "sort by self")
	cmd.Flags().BoolVar(&tree, "tree", false, "show a call tree from main down instead of a table")
	cmd.Flags().BoolVar(&up, "up", false, "with --tree: begin with the functions that allocate, and show their callers")
	cmd.Flags().BoolVar(&static, "static", false, "compare static and thread-local variables")
	cmd.Flags().BoolVar(&all, "unchanged", false, "show what has not changed, too")
	cmd.Flags().BoolVar(&scale, "scale", false,
		"multiply what was before, so that the totals are equal: changes of shares")
	cmd.Flags().StringVar(&cut.Threshold, "threshold", cut.Threshold,
		"with --tree: leave out functions that have less than this `SHARE` of all changes (with --unchanged: of "+
			"the whole)")
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
		before, after, err := bothSides(cmd, args)
		if err != nil {
			return err
		}
		c := &diff.Comparison{Scale: scale, All: all, Up: up}
		if tree && !cmd.Flags().Changed("by") {
			q.By = query.ByFunction.String()
		}
		closeAll, err := q.sides(cmd, c, before, after)
		if err != nil {
			return errors.Join(err, closeAll())
		}
		for _, side := range slices.Concat(c.Before, c.After) {
			side.Source.Profile.SetCode(o.Code)
		}
		switch {
		case static:
			err = q.diffStatic(cmd, c, o)
		case tree:
			err = q.diffTree(cmd, c, trim, o)
		default:
			err = q.diffTable(cmd, c, self, o)
		}
		return errors.Join(err, closeAll())
	}
	return cmd
}

// mostRuns is how many runs may be compared: they are all open at the same time.
const mostRuns = 100

// bothSides divides the arguments into the two sides.
func bothSides(cmd *cobra.Command, args []string) (before, after []string, err error) {
	n := cmd.ArgsLenAtDash()
	switch {
	case n > 0 && n < len(args) && len(args) <= mostRuns:
		return args[:n], args[n:], nil
	case len(args) > mostRuns:
		return nil, nil, usagef("diff: %d recordings are more than the %d that can be compared", len(args), mostRuns)
	case n <= 0 && len(args) == 2:
		return args[:1], args[1:], nil
	case n < 0 && len(args) > 2:
		return nil, nil, usagef("diff: write -- between the sides: heaptap diff old.1.htap old.2.htap -- new.1.htap")
	}
	return nil, nil, usagef("diff: two recordings are needed; for example: heaptap diff old.4711.htap new.4712.htap")
}

// diffTable writes a table of what has changed.
func (q *queryFlags) diffTable(cmd *cobra.Command, c *diff.Comparison, self bool, o view.QueryOptions) error {
	t, err := diff.Compare(cmd.Context(), c)
	if err != nil {
		return err
	}
	if self {
		t.SortSelf()
	}
	w := cmd.OutOrStdout()
	if q.json {
		return answer.Write(w, answer.NewDiff(c, t, o.Page))
	}
	return view.Diff(w, c, t, o)
}

// diffStatic writes what has changed of static variables, which are the same in all runs of a program.
func (q *queryFlags) diffStatic(cmd *cobra.Command, c *diff.Comparison, o view.QueryOptions) error {
	before, after := c.Last()
	s := diff.CompareStatic(before.Source, after.Source, q.Modules)
	w := cmd.OutOrStdout()
	if q.json {
		return answer.Write(w, answer.NewStaticDiff(before.Source, after.Source, s, c.All, o.Page))
	}
	return view.StaticDiff(w, before.Source, after.Source, s, c.All, o)
}

// diffTree writes a call tree with what has changed.
func (q *queryFlags) diffTree(cmd *cobra.Command, c *diff.Comparison, trim query.Trim, o view.QueryOptions) error {
	if !cmd.Flags().Changed("limit") {
		o.Limit = 0
	}
	t, err := diff.CompareTrees(cmd.Context(), c, trim)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	if q.json {
		return answer.Write(w, answer.NewDiffTree(c, t))
	}
	return view.DiffTree(w, c, t, trim, o)
}

// sides opens the recordings, each file once, and makes the query about each.
func (q *queryFlags) sides(cmd *cobra.Command, c *diff.Comparison, before, after []string) (func() error, error) {
	open := make(map[string]*query.Source)
	closeAll := func() (err error) {
		for _, s := range open {
			err = errors.Join(err, s.Close())
		}
		return err
	}
	first := ""
	for _, of := range []struct {
		texts []string
		to    *[]diff.Side
	}{{before, &c.Before}, {after, &c.After}} {
		for _, text := range of.texts {
			file, span := input.SplitRange(text)
			run, process := input.SplitProcess(file)
			if process != "" && (len(q.programs.patterns) > 0 || q.programs.all) {
				return closeAll, usagef("diff: %s names its process, which excludes --process and --all", text)
			}
			if file == "" {
				file = first
			}
			if first == "" {
				first = file
			}
			side := diff.Side{Source: open[file]}
			var err error
			if side.Source == nil {
				programs := q.programs
				if process != "" {
					programs.patterns = []string{process}
				} else {
					run = file
				}
				if side.Source, err = programs.open(cmd, run); err != nil {
					return closeAll, err
				}
				open[file] = side.Source
			}
			if side.Query, err = q.ranged(cmd, side.Source, text, span); err != nil {
				return closeAll, err
			}
			*of.to = append(*of.to, side)
		}
	}
	return closeAll, nil
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
