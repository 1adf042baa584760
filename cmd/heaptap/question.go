package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/moment"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/spelling"
	"github.com/heaptap/heaptap/internal/view"
)

// question are the flags that all commands share that ask something of a recording.
type question struct {
	from, to            string
	threads, modules    []string
	regions             []string
	sizes, lifetimes    string
	focus, ignore, hide string
	by, at              string
	metrics             []string
	limit, skip         int
	json, exact         bool
	color               string
}

// newQuestion declares the flags. limit is the default of --limit; less than 0: the command has no rows.
func newQuestion(cmd *cobra.Command, limit int) *question {
	q := &question{}
	f := cmd.Flags()
	q.filters(f)
	if limit >= 0 {
		f.IntVar(&q.limit, "limit", limit, "show `N` rows at most; 0: all")
		f.IntVar(&q.skip, "skip", 0, "leave out the first `N` rows")
	}
	f.BoolVar(&q.json, "json", false, "print one JSON object")
	q.looks(f)
	return q
}

// filterFlags are the flags that say what counts.
var filterFlags = []string{"from", "to", "thread", "region", "module", "size", "lifetime", "focus", "ignore", "hide"}

// filters declares them.
func (q *question) filters(f *pflag.FlagSet) {
	f.StringVar(&q.from, "from", "start", "count events later than `TIME`: "+moment.Help)
	f.StringVar(&q.to, "to", "end", "count events up to `TIME`")
	f.StringSliceVar(&q.threads, "thread", nil, "count blocks that this `THREAD` allocated: its id, or its name with * and ?; may be repeated")
	f.StringSliceVar(&q.regions, "region", nil, "count blocks allocated in regions of this `NAME`, and in those within: load, load/7 with its number, load/*; may be repeated")
	f.StringSliceVar(&q.modules, "module", nil, "count call stacks with a frame in this `FILE`: libc, libc.so.6 or a path, with * and ?; may be repeated")
	f.StringVar(&q.sizes, "size", "", "count blocks of so many requested bytes: a `RANGE` as 64, 100..4k, ..16, 1M.. (k, M and G are powers of 1024)")
	f.StringVar(&q.lifetimes, "lifetime", "", "count blocks that lived so long: a `RANGE` as ..1ms, 10us..2s, 5s.. (which has those never freed)")
	f.StringVar(&q.focus, "focus", "", "count call stacks with a frame whose function, file or module matches this `REGEXP`")
	f.StringVar(&q.ignore, "ignore", "", "count no call stack with a frame that matches `REGEXP`")
	f.StringVar(&q.hide, "hide", "", "take frames that match `REGEXP` out of the call stacks")
}

// asked are the filters that were given, as they are written.
func (q *question) asked(f *pflag.FlagSet) []string {
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

// looks declares the flags that say how text looks.
func (q *question) looks(f *pflag.FlagSet) {
	f.BoolVar(&q.exact, "exact", false, "print numbers in full: bytes and nanoseconds")
	f.StringVar(&q.color, "color", "auto", "`WHEN` to use colours: auto (on terminals, unless NO_COLOR is set), always, never")
}

// grouped declares --by and --metric.
func (q *question) grouped(cmd *cobra.Command, by query.By, metrics ...query.Metric) {
	q.by = by.String()
	for _, m := range metrics {
		q.metrics = append(q.metrics, m.String())
	}
	cmd.Flags().StringVar(&q.by, "by", q.by, "group by `WHAT`: "+strings.Join(query.Groupings(), ", "))
	cmd.Flags().StringSliceVar(&q.metrics, "metric", q.metrics, "show these `METRICS`; the first one sorts. \"heaptap help "+cmd.Name()+"\" lists them")
	cmd.Flags().StringVar(&q.at, "at", "", "the `TIME` for the metrics live and live-blocks; default: that of --to")
}

// metricHelp lists the metrics for a command's help.
func metricHelp() string {
	text := "Metrics:\n"
	for _, m := range query.Metrics() {
		text += fmt.Sprintf("  %-16s %s\n", m, m.Text())
	}
	return text
}

// oneRecording are the arguments of a command that takes one recording.
func oneRecording(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%s: one recording is needed; for example: heaptap %s server.4711.htap", name, name)
		}
		return nil
	}
}

// options are how the answer is to look.
func (q *question) options(cmd *cobra.Command) (view.QueryOptions, error) {
	o := view.QueryOptions{Exact: q.exact, Page: answer.Page{Skip: q.skip, Limit: q.limit}, Options: view.Options{Width: 100}}
	if q.limit < 0 || q.skip < 0 {
		return o, usagef("%s: --limit and --skip must not be negative", cmd.Name())
	}
	var err error
	o.Color, err = q.colors(cmd)
	return o, err
}

// colors says whether text has colours.
func (q *question) colors(cmd *cobra.Command) (bool, error) {
	switch q.color {
	case "auto":
		return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(cmd.OutOrStdout()), nil
	case "always", "never":
		return q.color == "always", nil
	}
	return false, usagef("%s: --color %s: known are auto, always and never", cmd.Name(), q.color)
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// query makes the question about an open recording.
func (q *question) query(cmd *cobra.Command, s *query.Source) (*query.Query, error) {
	out := &query.Query{Progress: progress(cmd)}
	wrong := func(flag string, err error) (*query.Query, error) {
		return nil, usagef("%s: --%s: %w", cmd.Name(), flag, err)
	}
	cut := func(flag, text string) (uint64, error) {
		at, err := cutOf(s.Reader, text)
		if err != nil {
			return 0, wrongMoment(cmd, flag, err)
		}
		return at, nil
	}
	var err error
	if q.from != "start" || q.to != "end" {
		out.Range = &query.Range{}
		if out.Range.From, err = cut("from", q.from); err != nil {
			return nil, err
		}
		if out.Range.To, err = cut("to", q.to); err != nil {
			return nil, err
		}
		if out.Range.From > out.Range.To {
			return nil, usagef("%s: --from %s is later than --to %s", cmd.Name(), q.from, q.to)
		}
	}
	if q.at != "" {
		at, err := cut("at", q.at)
		if err != nil {
			return nil, err
		}
		out.At = &at
	}
	if out.Threads, err = findThreads(s, q.threads); err != nil {
		return wrong("thread", err)
	}
	if err := s.CheckRegions(q.regions); err != nil {
		return wrong("region", err)
	}
	out.Regions = q.regions
	for _, p := range q.modules {
		if _, err := path.Match(p, ""); err != nil {
			return wrong("module", fmt.Errorf("%q is no pattern", p))
		}
	}
	out.Modules = q.modules
	if out.Sizes, err = parseRange(q.sizes, sizeBound); err != nil {
		return wrong("size", err)
	}
	if out.Lifetimes, err = parseRange(q.lifetimes, humanize.ParseDuration); err != nil {
		return wrong("lifetime", err)
	}
	for _, p := range []struct {
		flag, text string
		to         **regexp.Regexp
	}{{"focus", q.focus, &out.Focus}, {"ignore", q.ignore, &out.Ignore}, {"hide", q.hide, &out.Hide}} {
		if p.text == "" {
			continue
		}
		if *p.to, err = regexp.Compile(p.text); err != nil {
			return wrong(p.flag, err)
		}
	}
	if q.by != "" {
		by, ok := query.ParseBy(q.by)
		if !ok {
			return nil, unknownWord(cmd, "by", q.by, query.Groupings())
		}
		out.By = by
	}
	var names []string
	for _, m := range query.Metrics() {
		names = append(names, m.String())
	}
	for _, name := range q.metrics {
		m, ok := query.ParseMetric(name)
		if !ok {
			return nil, unknownWord(cmd, "metric", name, names)
		}
		out.Metrics = append(out.Metrics, m)
	}
	return out, nil
}

// unknownWord is the error of a flag whose value is none of the known words.
func unknownWord(cmd *cobra.Command, flag, word string, known []string) error {
	return usagef("%s: --%s %s: known are %s%s", cmd.Name(), flag, word, strings.Join(known, ", "), spelling.DidYouMean(word, known))
}

// findThreads returns the indexes of threads by id or name; nil if none is asked for.
func findThreads(s *query.Source, wanted []string) ([]uint32, error) {
	if wanted == nil {
		return nil, nil
	}
	list := []uint32{}
	for _, w := range wanted {
		found := false
		for i, t := range s.Reader.Threads() {
			match, err := path.Match(w, t.Name)
			if err != nil {
				return nil, fmt.Errorf("%q is no pattern", w)
			}
			if match || t.Name == w || strconv.FormatUint(uint64(t.TID), 10) == w {
				list, found = append(list, uint32(i)), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no thread has the name or the id %q", w)
		}
	}
	return list, nil
}

// sizeBound is a number of bytes, for parseRange.
func sizeBound(text string) (uint64, error) {
	n, err := humanize.ParseSize(text)
	return uint64(n), err
}

// parseRange reads a number, or two with .. between, of which either may be left out. "" is nil: no range.
func parseRange(text string, number func(string) (uint64, error)) (*query.Interval, error) {
	if text == "" {
		return nil, nil
	}
	out := &query.Interval{Max: query.Unbounded}
	low, high, two := strings.Cut(text, "..")
	if !two {
		high = low
	}
	var err error
	if low != "" {
		if out.Min, err = number(low); err != nil {
			return nil, err
		}
	}
	if high != "" {
		if out.Max, err = number(high); err != nil {
			return nil, err
		}
	}
	if out.Min > out.Max {
		return nil, fmt.Errorf("%q: the lower bound is above the upper one", text)
	}
	return out, nil
}

// openSource opens what a command asks.
func openSource(ctx context.Context, file string) (*query.Source, error) {
	return input.Open(ctx, file, version())
}

// progress tells on a terminal how far a long question is; nil if stderr is none.
func progress(cmd *cobra.Command) func(done, total uint64) { return progressOf(cmd, "reading events") }

// progressOf tells on a terminal how far something is that takes long; nil if stderr is none.
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

// ask opens a recording, makes the question and hands both over.
func (q *question) ask(cmd *cobra.Command, file string, show func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error) error {
	o, err := q.options(cmd)
	if err != nil {
		return err
	}
	s, err := openSource(cmd.Context(), file)
	if err != nil {
		return err
	}
	about, err := q.query(cmd, s)
	if err == nil {
		err = show(cmd.OutOrStdout(), s, about, o)
	}
	return errors.Join(err, s.Close())
}
