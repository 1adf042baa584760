package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/timeref"
	"github.com/heaptap/heaptap/internal/view"
)

// queryFlags are the flags of the commands that ask a recording a question.
type queryFlags struct {
	question.Question
	codeFlags
	programs    programFlags
	limit, skip int
	json, exact bool
	fold        bool
	color       string
}

// newQuestion declares the flags. limit is the default of --limit; a negative one means that the command has no rows.
func newQuestion(cmd *cobra.Command, limit int) *queryFlags {
	q := &queryFlags{}
	f := cmd.Flags()
	q.filters(f)
	if limit >= 0 {
		f.IntVar(&q.limit, "limit", limit, "show at most `N` rows; 0: all")
		f.IntVar(&q.skip, "skip", 0, "skip the first `N` rows")
	}
	f.BoolVar(&q.json, "json", false, "print one JSON object")
	q.looks(f)
	q.programs.add(f)
	return q
}

// filterFlags are the flags that say what counts.
var filterFlags = []string{"from", "to", "thread", "freed-by", "region", "module", "size", "old-size",
	"lifetime", "focus", "ignore", "hide"}

// filters declares them.
func (q *queryFlags) filters(f *pflag.FlagSet) {
	f.StringVar(&q.From, "from", "start", "count events after `TIME`: "+timeref.Help)
	f.StringVar(&q.To, "to", "end", "count events up to `TIME`")
	f.StringSliceVar(&q.Threads, "thread", nil, "count blocks that this `THREAD` allocated: its id, or its name "+
		"with * and ?; may be repeated")
	f.StringSliceVar(&q.FreedBy, "freed-by", nil, "count blocks that this `THREAD` freed, or gave to realloc: its id, "+
		"or its name with * and ?; may be repeated")
	f.StringSliceVar(&q.Regions, "region", nil, "count blocks allocated in regions of this `NAME`, nested regions "+
		"included: load, load/7 with its number, load/*; may be repeated")
	f.StringSliceVar(&q.Modules, "module", nil, "count call stacks with a frame in this `FILE`: libc, libc.so.6 or "+
		"a path, with * and ?; may be repeated")
	f.StringVar(&q.Sizes, "size", "", "count blocks whose requested bytes are in this `RANGE`: 64, 100..4k, ..16, "+
		"1M.. (k, M and G are powers of 1024)")
	f.StringVar(&q.OldSizes, "old-size", "", "count blocks that realloc made of blocks whose requested bytes are in "+
		"this `RANGE`: 64, 100..4k, ..16, 1M..")
	f.StringVar(&q.Lifetimes, "lifetime", "", "count blocks whose lifetime is in this `RANGE`: ..1ms, 10us..2s, "+
		"5s.. (includes blocks that were never freed), never (these alone)")
	f.StringArrayVar(&q.Focus, "focus", nil, "count call stacks with a frame whose function, file or module matches "+
		"this `REGEXP`; repeated: with one for each")
	f.StringArrayVar(&q.Ignore, "ignore", nil, "count no call stacks with a frame that matches `REGEXP`; may be "+
		"repeated")
	f.StringArrayVar(&q.Hide, "hide", nil, "remove frames that match `REGEXP` from the call stacks; may be repeated")
}

// folds declares --fold.
func (q *queryFlags) folds(f *pflag.FlagSet) {
	f.BoolVar(&q.fold, "fold", false,
		"remove the frames of wrappers and libraries: what they allocate is their callers'")
}

// asked returns the filters that were given, as they were written.
func (q *queryFlags) asked(f *pflag.FlagSet) []string {
	var list []string
	for _, name := range filterFlags {
		flag := f.Lookup(name)
		values := []string{flag.Value.String()}
		if many, ok := flag.Value.(pflag.SliceValue); ok {
			values = many.GetSlice()
		}
		for _, v := range values {
			if flag.Changed {
				list = append(list, "--"+name+" "+v)
			}
		}
	}
	return list
}

// looks declares the flags for the appearance of text.
func (q *queryFlags) looks(f *pflag.FlagSet) {
	f.BoolVar(&q.exact, "exact", false, "print exact numbers: bytes and nanoseconds")
	f.StringVar(&q.color, "color", "auto", "`WHEN` to use colours: auto (on terminals, unless NO_COLOR is set), "+
		"always, never")
}

// grouped declares --by and --metric.
func (q *queryFlags) grouped(cmd *cobra.Command, by query.By, metrics ...query.Metric) {
	q.By = by.String()
	for _, m := range metrics {
		q.Metrics = append(q.Metrics, m.String())
	}
	cmd.Flags().StringVar(&q.By, "by", q.By, "group by `WHAT`: "+strings.Join(query.Groupings(), ", "))
	cmd.Flags().StringSliceVar(&q.Metrics, "metric", q.Metrics,
		"show these `METRICS`; the first one sorts. \"heaptap help "+cmd.Name()+"\" lists them")
	cmd.Flags().StringVar(&q.At, "at", "", "the `TIME` for the metrics live, live-blocks, kept and "+
		"kept-blocks; default: that of --to")
}

// metricHelp lists the metrics for the help of a command.
func metricHelp() string {
	text := "Metrics:\n"
	for _, m := range query.Metrics() {
		text += fmt.Sprintf("  %-16s %s\n", m, m.Text())
	}
	return text
}

// options returns how the answer is to be shown.
func (q *queryFlags) options(cmd *cobra.Command) (view.QueryOptions, error) {
	o := view.QueryOptions{Page: answer.Page{Skip: q.skip, Limit: q.limit}}
	if q.limit < 0 || q.skip < 0 {
		return o, usagef("%s: --limit and --skip must not be negative", cmd.Name())
	}
	var err error
	if o.Options, err = q.look(cmd); err != nil {
		return o, err
	}
	return o, q.apply(cmd, &o.Options)
}

// look returns how text looks.
func (q *queryFlags) look(cmd *cobra.Command) (o view.Options, err error) {
	o.Width, o.Exact = outputWidth(cmd.OutOrStdout()), q.exact
	o.Color, err = q.colors(cmd)
	return o, err
}

// colors reports whether text has colours.
func (q *queryFlags) colors(cmd *cobra.Command) (bool, error) {
	switch q.color {
	case "auto":
		return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(cmd.OutOrStdout()), nil
	case "always", "never":
		return q.color == "always", nil
	}
	return false, usagef("%s: --color %s: known are auto, always and never", cmd.Name(), q.color)
}

// query makes the query about an open recording.
func (q *queryFlags) query(cmd *cobra.Command, s *query.Source) (*query.Query, error) {
	asked := q.Question
	if q.fold {
		asked.Hide = append(slices.Clone(asked.Hide), s.Profile.FoldPattern())
	}
	out, err := asked.Query(s)
	if err != nil {
		return nil, usage(cmd, err)
	}
	if note := q.Beyond(s); note != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "heaptap: %s\n", note)
	}
	out.Progress = progress(cmd)
	return out, nil
}

// usage turns the error of a text that cannot be read into one of the command line. It returns other errors as they
// are.
func usage(cmd *cobra.Command, err error) error {
	var wrong *question.Error
	if errors.As(err, &wrong) {
		return usagef("%s: %w", cmd.Name(), err)
	}
	return err
}

// unknownWord returns the error of a flag whose value is not one of the known words.
func unknownWord(cmd *cobra.Command, flag, word string, known []string) error {
	return usage(cmd, question.UnknownWord(flag, word, known))
}

// progress shows the progress of a long question; nil if stderr is not a terminal.
func progress(cmd *cobra.Command) func(done, total uint64) { return progressOf(cmd, "reading events") }

// progressOf shows the progress of what takes long; nil if stderr is not a terminal.
func progressOf(cmd *cobra.Command, what string) func(done, total uint64) {
	w := cmd.ErrOrStderr()
	if !isTerminal(w) {
		return nil
	}
	start := time.Now()
	shown := false
	return func(done, total uint64) {
		if time.Since(start) < time.Second || total == 0 {
			return
		}
		const clearLine = "\r\x1b[K"
		if shown = done < total; shown {
			fmt.Fprintf(w, "%s%s: %.0f %%%s", clearLine, what, math.Floor(100*float64(done)/float64(total)), "\r")
		}
	}
}

// open opens the recording that arguments stand for, and returns how the answer is to be shown.
func (q *queryFlags) open(cmd *cobra.Command, args []string) (s *query.Source, o view.QueryOptions, err error) {
	if o, err = q.options(cmd); err == nil {
		s, err = q.programs.open(cmd, args...)
	}
	if err == nil {
		s.Profile.SetCode(o.Code)
	}
	return s, o, err
}

// ask opens the recording that arguments stand for, makes the query, and calls show with both.
func (q *queryFlags) ask(cmd *cobra.Command, args []string,
	show func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error) error {
	s, o, err := q.open(cmd, args)
	if err != nil {
		return err
	}
	about, err := q.query(cmd, s)
	if err == nil {
		err = show(cmd.OutOrStdout(), s, about, o)
	}
	return errors.Join(err, s.Close())
}
