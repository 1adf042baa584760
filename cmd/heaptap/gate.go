package main

import (
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/check"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/view"
)

// gate are the flags that say what recordings must keep to, and what came of it: of `heaptap check` and `heaptap run --check`.
type gate struct {
	q                 queryFlags
	limits            []string // by number in check.Limited
	files             []string // of suppressions
	baseline          string
	compare           []string
	tolerance, stacks string
	programs, formats []string
	gate              check.Gate
	json, quiet       bool
	look              view.QueryOptions
	outputs           []*output
	checked, skipped  int      // recordings; of other programs
	allowEmpty        bool     // recordings in which nothing was recorded may pass
	run               bool     // what is checked are a run's recordings
	unseen            []string // of a run: recordings in which nothing was recorded, and why
	status            int      // what it comes to so far
	complaints        []error
}

// newGate declares the flags.
func newGate(f *pflag.FlagSet) *gate {
	g := &gate{limits: make([]string, len(check.Limited)), q: queryFlags{color: "auto"}}
	for i, m := range check.Limited {
		kind := "N"
		if m.Unit() == query.ByteCount {
			kind = "SIZE"
		}
		f.StringVar(&g.limits[i], "max-"+m.String(), "", "allow at most `"+kind+"` "+limitText[m])
	}
	f.BoolVar(&g.gate.NoGrowth, "no-growth", false, "allow no call stack whose live bytes rise steadily over the whole range")
	f.BoolVar(&g.gate.NoMismatches, "no-mismatches", false, "allow no deallocation that does not belong to the function that allocated the block")
	f.StringVar(&g.baseline, "baseline", "", "allow no more than the recording `FILE` has, and the tolerance")
	f.StringVar(&g.tolerance, "tolerance", "2%", "with --baseline: tolerate so much more, a `SHARE` of the baseline's value")
	f.StringVar(&g.stacks, "stack-tolerance", "", "with --baseline: allow no call stack to grow by more than this `SHARE` of the baseline's value of all")
	f.StringSliceVar(&g.compare, "compare", question.MetricNames(check.Compared), "with --baseline: compare these `METRICS`")
	f.StringArrayVar(&g.files, "suppressions", nil, "known leaks, which do not count: what the rules in `FILE` match; may be repeated")
	f.BoolVar(&g.gate.Known.Runtime, "runtime", false, "count what the runtime keeps for itself as leaked, too")
	f.BoolVar(&g.gate.AllowLost, "allow-lost", false, "let recordings pass in which events are missing")
	f.BoolVar(&g.allowEmpty, "allow-empty", false, "let recordings pass that have no allocation because recording was off, or none was sampled")
	f.StringSliceVar(&g.programs, "program", nil, "check the recordings of this `PROGRAM` only: its name, with * and ?; may be repeated")
	f.StringArrayVar(&g.formats, "format", nil, "print as `FORMAT` text, json, junit (XML) or github (annotations), or FORMAT=FILE to write it to a file; may be repeated")
	g.q.filters(f)
	return g
}

var limitText = map[query.Metric]string{
	query.Peak:           "live at the process's peak",
	query.OwnPeak:        "live at any one moment: of what filters select, the most there ever was",
	query.Leaked:         "leaked bytes",
	query.LeakedBlocks:   "leaked blocks",
	query.Allocations:    "allocations",
	query.Bytes:          "allocated in all",
	query.Temporary:      "temporary allocations",
	query.TemporaryBytes: "of temporary allocations in all",
}

// complete has shells complete the values of flags.
func (g *gate) complete(cmd *cobra.Command) {
	for flag, words := range map[string][]string{"format": gateFormats, "compare": question.MetricNames(check.Limited)} {
		if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveDefault)); err != nil {
			panic(err) // there is no such flag
		}
	}
}

// prepare reads the flags and opens the baseline. top is how many stacks are shown for each limit. Errors end with the status of those that
// could not tell.
func (g *gate) prepare(cmd *cobra.Command, top int) error {
	err := g.read(cmd, top)
	var usage *usageError
	if err != nil && !errors.As(err, &usage) {
		err = &launch.StatusError{Status: launch.StatusFailed, Err: err}
	}
	return err
}

func (g *gate) read(cmd *cobra.Command, top int) error {
	if top < 0 {
		return usagef("%s: --top %d: must not be negative", cmd.Name(), top)
	}
	if err := g.readLimits(cmd); err != nil {
		return err
	}
	if err := g.readFormats(cmd); err != nil {
		return err
	}
	for _, p := range g.programs {
		if _, err := path.Match(p, ""); err != nil {
			return usagef("%s: --program %q is no pattern", cmd.Name(), p)
		}
	}
	color, err := g.q.colors(cmd)
	if err != nil {
		return err
	}
	g.look = view.QueryOptions{Options: view.Options{Width: 100, Color: color}, Exact: g.q.exact, Page: answer.Page{Limit: top}}
	rules, err := readSuppressions(g.files)
	if err != nil {
		return err
	}
	g.gate.Known.Rules = rules
	g.gate.Question = func(s *query.Source) (*query.Query, error) { return g.q.query(cmd, s) }
	if g.baseline != "" {
		g.gate.Baseline.Source, err = openSource(cmd.Context(), g.baseline)
	}
	return err
}

// readLimits reads what must hold.
func (g *gate) readLimits(cmd *cobra.Command) error {
	for i, m := range check.Limited {
		text := g.limits[i]
		if text == "" {
			continue
		}
		parse := humanize.ParseCount
		if m.Unit() == query.ByteCount {
			parse = humanize.ParseSize
		}
		n, err := parse(text)
		if err != nil {
			return usagef("%s: --max-%s: %w", cmd.Name(), m, err)
		}
		g.gate.Limits = append(g.gate.Limits, check.Limit{Metric: m, Most: uint64(n)})
	}
	if g.baseline == "" {
		for _, name := range []string{"tolerance", "stack-tolerance", "compare"} {
			if cmd.Flags().Changed(name) {
				return usagef("%s: --%s is for a --baseline", cmd.Name(), name)
			}
		}
	} else if err := g.readBaseline(cmd); err != nil {
		return err
	}
	if g.gate.Empty() {
		return usagef("%s: no limit given; for example: --max-leaked 0", cmd.Name())
	}
	return nil
}

func (g *gate) readBaseline(cmd *cobra.Command) error {
	b := &check.Baseline{Stacks: -1}
	g.gate.Baseline = b
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

// check checks a recording, or the recordings of a spool.
func (g *gate) check(cmd *cobra.Command, file string) {
	paths, remove, err := input.Recordings(cmd.Context(), file, version())
	if err != nil {
		g.add(&check.Result{File: file, Err: err})
		return
	}
	defer remove()
	for _, p := range paths {
		name := file
		if len(paths) > 1 {
			name = filepath.Base(p)
		}
		g.checkOne(cmd, p, name)
	}
}

// checkOne opens a recording and closes it: there may be thousands.
func (g *gate) checkOne(cmd *cobra.Command, path, name string) {
	r := &check.Result{File: name}
	if r.Source, r.Err = query.Open(path); r.Err == nil {
		defer r.Source.Close()
		if !g.wanted(r.Source) {
			g.skipped++
			return
		}
		if why := r.Source.Profile.Unseen(); why == "" || g.allowEmpty {
			r.Checks, r.Suppressed, r.Err = g.gate.Ask(cmd.Context(), r.Source)
		} else if g.run {
			g.unseen = append(g.unseen, fmt.Sprintf("%s: %s", name, why))
			return
		} else {
			r.Err = fmt.Errorf("%s: nothing was recorded: %s; --allow-empty lets it pass", name, why)
		}
	}
	g.add(r)
}

// add takes note of a result, in all forms.
func (g *gate) add(r *check.Result) {
	g.checked++
	for _, o := range g.outputs {
		if err := o.add(r, g); err != nil {
			g.fail(err)
		}
	}
	if r.Err != nil {
		g.fail(r.Err)
	} else if !r.OK() {
		g.status = max(g.status, 1)
	}
}

// fail takes note of what keeps it from telling whether everything holds.
func (g *gate) fail(err error) {
	g.complaints = append(g.complaints, err)
	g.status = launch.StatusFailed
}

// wanted reports whether a recording is of a program that is to be checked.
func (g *gate) wanted(s *query.Source) bool {
	name := filepath.Base(s.Profile.Process.Exe)
	return len(g.programs) == 0 || slices.ContainsFunc(g.programs, func(p string) bool {
		match, _ := path.Match(p, name)
		return match || p == s.Profile.Process.Exe
	})
}

// finish prints the results, to out if no file is named, and returns what the command ends with: nil if everything holds.
func (g *gate) finish(out io.Writer, complain func(format string, args ...any)) error {
	if g.checked == 0 {
		g.fail(fmt.Errorf("nothing was checked: %s", g.nothing()))
	}
	for _, o := range g.outputs {
		if err := o.write(out); err != nil {
			g.fail(fmt.Errorf("cannot write the results as %s: %w", o.format, err))
		}
	}
	for _, err := range g.complaints {
		complain("%s", oneLine(err))
	}
	if g.status == 0 {
		return nil
	}
	return &exitError{status: g.status}
}

// nothing says why there are no results.
func (g *gate) nothing() string {
	if len(g.unseen) > 0 {
		return fmt.Sprintf("nothing was recorded in %s; --allow-empty lets it pass", strings.Join(g.unseen[:min(len(g.unseen), 5)], ", "))
	}
	if g.skipped > 0 {
		return fmt.Sprintf("no recording is of %s", strings.Join(g.programs, ", "))
	}
	return "nothing was recorded"
}

// close closes the baseline.
func (g *gate) close() {
	if b := g.gate.Baseline; b != nil && b.Source != nil {
		b.Source.Close()
	}
}
