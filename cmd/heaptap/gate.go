package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/check"
	"github.com/heaptap/heaptap/internal/gate"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
)

// gateFlags are the flags of `heaptap check` and `heaptap run --check` that set limits.
type gateFlags struct {
	gate.Gate
	q                 queryFlags
	limits            []string // in the order of check.Limited
	files             []string // of suppressions
	baselines         []string // recordings, and folders of them
	compare           []string
	tolerance, stacks string
	formats           []string
	json              bool
}

// newGate declares the flags.
func newGate(f *pflag.FlagSet) *gateFlags {
	g := &gateFlags{limits: make([]string, len(check.Limited)), q: queryFlags{color: "auto"}}
	g.Version = version()
	for i, m := range check.Limited {
		kind := "N"
		if m.Unit() == query.ByteCount {
			kind = "SIZE"
		}
		f.StringVar(&g.limits[i], "max-"+m.String(), "", "allow at most `"+kind+"` "+limitText[m])
	}
	f.BoolVar(&g.NoGrowth, "no-growth", false,
		"allow no call stack whose live bytes rise steadily up to the end")
	f.BoolVar(&g.NoMismatches, "no-mismatches", false,
		"allow no block to be freed by a function that does not belong to the one that allocated it")
	f.StringArrayVar(&g.baselines, "baseline", nil, "allow no more than the recording `FILE` has, plus the tolerance; "+
		"several ones, or a folder, are repeated runs")
	f.StringVar(&g.tolerance, "tolerance", "2%", "with --baseline: tolerate an excess of this `SHARE` of the "+
		"baseline's value")
	f.StringVar(&g.stacks, "stack-tolerance", "", "with --baseline: allow no call stack to grow by more than this "+
		"`SHARE` of the baseline's total")
	f.StringSliceVar(&g.compare, "compare", question.MetricNames(check.Compared),
		"with --baseline: compare these `METRICS`")
	f.StringArrayVar(&g.files, "suppressions", nil,
		"do not count known leaks, which the rules in `FILE` match; may be repeated")
	f.BoolVar(&g.Known.Broad, "broad", false, "accept suppressions that match main or another function on nearly "+
		"every call stack")
	f.BoolVar(&g.Known.Runtime, "runtime", false, "also count what the runtime keeps for itself as leaked")
	f.BoolVar(&g.AllowLost, "allow-lost", false, "let recordings with missing events pass")
	f.BoolVar(&g.AllowEmpty, "allow-empty", false,
		"let recordings without allocations pass, if recording was off or none was sampled")
	f.BoolVar(&g.AllowUnmatched, "allow-unmatched", false, "only warn of filters that match no call stack and no "+
		"function of the program")
	f.BoolVar(&g.StrictSuppressions, "strict-suppressions", false, "allow no suppression that hides nothing")
	f.StringSliceVar(&g.Processes, "process", nil, "check only the recordings of this `PROCESS`: its program's name, "+
		"with * and ?, or its id; may be repeated")
	f.StringArrayVar(&g.formats, "format", nil, "print as `FORMAT` text, json, junit (XML) or github (annotations), "+
		"or FORMAT=FILE to write it to a file; may be repeated")
	g.q.filters(f)
	return g
}

var limitText = map[query.Metric]string{
	query.Peak:           "live at the process's peak",
	query.OwnPeak:        "live at any one moment, of what the filters select",
	query.Leaked:         "leaked bytes",
	query.LeakedBlocks:   "leaked blocks",
	query.Allocations:    "allocations",
	query.Bytes:          "allocated in total",
	query.Temporary:      "temporary allocations",
	query.TemporaryBytes: "of temporary allocations in total",
}

// complete has shells complete the values of flags.
func (g *gateFlags) complete(cmd *cobra.Command) {
	for flag, words := range map[string][]string{"format": gate.Formats,
		"compare": question.MetricNames(check.Limited)} {
		if err := cmd.RegisterFlagCompletionFunc(flag,
			cobra.FixedCompletions(words, cobra.ShellCompDirectiveDefault)); err != nil {
			panic(err) // there is no such flag
		}
	}
}

// prepare reads the flags and opens the baseline. top is how many stacks are shown for each limit. Its errors end the
// program with status 125: nothing was checked.
func (g *gateFlags) prepare(cmd *cobra.Command, top int) error {
	err := g.read(cmd, top)
	var usage *usageError
	if err != nil && !errors.As(err, &usage) {
		err = &launch.StatusError{Status: launch.StatusFailed, Err: err}
	}
	return err
}

func (g *gateFlags) read(cmd *cobra.Command, top int) error {
	if top < 0 {
		return usagef("%s: --top %d: must not be negative", cmd.Name(), top)
	}
	if err := g.readLimits(cmd); err != nil {
		return err
	}
	formats := g.formats
	if g.json {
		formats = append(formats, "json")
	}
	var err error
	g.Outputs, err = gate.NewOutputs(formats)
	var unknown *gate.UnknownFormat
	switch {
	case errors.As(err, &unknown):
		return unknownWord(cmd, "format", unknown.Name, gate.Formats)
	case err != nil:
		return usagef("%s: --format %w", cmd.Name(), err)
	}
	for _, p := range g.Processes {
		if _, err := path.Match(p, ""); err != nil {
			return usagef("%s: --process %q is not a pattern", cmd.Name(), p)
		}
	}
	g.q.limit = top
	look, err := g.q.options(cmd)
	if err != nil {
		return err
	}
	g.each(func(o *gate.Output) { o.Look = look })
	rules, err := query.ReadSuppressions(g.files)
	if err != nil {
		return err
	}
	g.Known.Rules = rules
	g.Question = func(s *query.Source) (*query.Query, error) { return g.q.query(cmd, s) }
	if len(g.baselines) > 0 {
		files, err := input.Expand(g.baselines)
		if err != nil {
			return err
		}
		if len(files) > check.MaxRuns {
			return usagef("%s: --baseline: %d recordings, at most %d", cmd.Name(), len(files), check.MaxRuns)
		}
		g.Baseline.Sources, err = g.OpenAll(cmd.Context(), files)
		return err
	}
	return nil
}

// fitOn has text fit onto a screen: that of a terminal, or what people read of a log. A file has all of it.
func (g *gateFlags) fitOn(w io.Writer) {
	lines := 60
	if f, ok := w.(*os.File); ok {
		if st, err := f.Stat(); err != nil || st.Mode().IsRegular() {
			return
		}
	}
	if _, rows := terminalSize(w); rows > 0 {
		lines = max(rows-2, 10) // the prompt and the command stay in view
	}
	g.each(func(o *gate.Output) { o.Screen = lines })
}

// each sets something of each output.
func (g *gateFlags) each(set func(o *gate.Output)) {
	for _, o := range g.Outputs {
		set(o)
	}
}

// readLimits reads the limits.
func (g *gateFlags) readLimits(cmd *cobra.Command) error {
	for i, m := range check.Limited {
		text := g.limits[i]
		if text == "" {
			continue
		}
		limit, err := check.ParseLimit(m, text)
		if err != nil {
			return usagef("%s: --max-%s: %w", cmd.Name(), m, err)
		}
		g.Limits = append(g.Limits, limit)
	}
	if len(g.baselines) > 0 {
		if err := g.readBaseline(cmd); err != nil {
			return err
		}
	}
	if on(cmd.Flags(), "runs") && on(cmd.Flags(), "output") {
		return nil // it makes a baseline
	}
	if g.Empty() {
		return usagef("%s: no limit given; for example: --max-leaked 0", cmd.Name())
	}
	return nil
}

func (g *gateFlags) readBaseline(cmd *cobra.Command) error {
	b := &check.Baseline{Stacks: -1}
	g.Baseline = b
	var err error
	if b.Tolerance, err = humanize.ParseShare(g.tolerance); err != nil {
		return usagef("%s: --tolerance: %w", cmd.Name(), err)
	}
	if g.stacks != "" {
		if b.Stacks, err = humanize.ParseShare(g.stacks); err != nil {
			return usagef("%s: --stack-tolerance: %w", cmd.Name(), err)
		}
	}
	for _, name := range g.compare {
		m, ok := query.ParseMetric(name)
		if !ok || !slices.Contains(check.Limited, m) {
			return unknownWord(cmd, "compare", name, question.MetricNames(check.Limited))
		}
		b.Metrics = append(b.Metrics, m)
	}
	return nil
}

// finish writes the results, to out if no file is named, and returns what the command ends with: nil if every limit
// holds.
func (g *gateFlags) finish(ctx context.Context, out io.Writer, complain func(format string, args ...any)) error {
	ok, complaints := g.Finish(ctx, out)
	for _, text := range g.Warnings {
		complain("%s", text)
	}
	for _, err := range complaints {
		complain("%s", oneLine(err))
	}
	switch {
	case ok:
		return nil
	case complaints != nil:
		return &exitError{status: launch.StatusFailed}
	}
	return &exitError{status: 1}
}
