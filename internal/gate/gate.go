// Package gate checks recordings one after the other, and writes the results in all requested formats: text, JSON,
// JUnit XML and annotations for GitHub. Package check decides whether one recording keeps to its limits.
package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/check"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/run"
)

// Gate checks recordings.
type Gate struct {
	check.Gate
	Processes  []string // patterns: only recordings of these processes are checked; nil: all
	All        bool     // of a run: all recordings are checked, not only those of the program that the user named
	AllowEmpty bool     // recordings in which nothing was recorded may pass
	OfRun      bool     // the recordings are those of one run: empty ones are left out
	// AllowUnmatched warns of filters that match nothing, instead of refusing to judge. StrictSuppressions fails if a
	// suppression hides nothing.
	AllowUnmatched, StrictSuppressions bool

	Outputs []*Output
	Version string            // of heaptap, for recordings made from other files
	Say     func(text string) // tells the user which recordings were found; nil: nobody wants to know

	Unseen  []string // recordings of a run in which nothing was recorded, and why
	Checked int      // recordings
	skipped int      // recordings of other programs
	judged  []string // recordings, as results name them
	filters filters
	usage   usage

	// Warnings are what the user should know besides the results.
	Warnings []string

	failed     bool    // a limit does not hold
	complaints []error // why it cannot be said whether all limits hold
}

// Check checks the recordings that an argument stands for. Of a run, these are the recordings of the program that the
// user named, unless the gate says which; doubt is an error.
func (g *Gate) Check(ctx context.Context, arg string) {
	found, err := g.finder().Find(ctx, arg)
	if arg == "" {
		arg = "the last run made here"
	}
	if err != nil {
		g.add(&check.Result{File: arg, Err: err})
		return
	}
	defer found.Close()
	g.checkEach(ctx, found)
}

func (g *Gate) finder() *input.Finder {
	return &input.Finder{Version: g.Version, Say: g.Say, Programs: g.Processes, All: g.All, Apart: true, Sure: true}
}

// CheckRun checks a run that has just been made: at a path, or, if that is empty, of recordings that are files of their
// own; target is the command's process then, 0 if that was not recorded. What has no recording any more is an error,
// and so is a command that has none (named is false), unless the user says what is checked.
func (g *Gate) CheckRun(ctx context.Context, path string, files []string, target int, named bool) {
	g.OfRun = true
	lacking, readable := files, true
	if path != "" {
		if whole, err := run.Open(path); err == nil {
			lacking = whole.Lacks(files)
			whole.Close()
		}
	}
	if len(files) > 0 && !named && !g.All && g.Processes == nil {
		g.Checked++ // the complaint says it all
		g.complaints = append(g.complaints, errors.New("nothing was checked: the command itself was not recorded, "+
			"only what it started; --process PATTERN or --all checks that"))
		return
	}
	for _, file := range lacking {
		if r, err := run.OpenRecording(file); err != nil {
			g.add(&check.Result{File: file, Err: err})
			readable = false
		} else if err := r.Close(); err != nil {
			g.complaints = append(g.complaints, err)
		}
	}
	switch {
	case path != "":
		g.Check(ctx, path)
	case len(files) > 0 && readable:
		found, err := g.finder().Gathered(run.Gather(files, target))
		if err != nil {
			g.Checked++ // the complaint says it all
			g.complaints = append(g.complaints, err)
			return
		}
		g.checkEach(ctx, found)
	}
}

// checkEach checks the recordings of an argument. A region that --region names need not be in each of them.
func (g *Gate) checkEach(ctx context.Context, found *input.Found) {
	var without []*check.Result
	before := g.Checked
	for i := range found.Recordings {
		r := &check.Result{File: found.Recordings[i].Title}
		if lacks := g.checkOne(ctx, &found.Recordings[i], r); lacks {
			r.Source = nil
			without = append(without, r)
		}
	}
	if g.Checked > before {
		return
	}
	for _, r := range without {
		g.add(r)
	}
}

// checkOne checks one recording and adds its result, unless the recording lacks the region that is asked about: that it
// reports. It closes the recording again: there may be thousands.
func (g *Gate) checkOne(ctx context.Context, rec *input.Recording, r *check.Result) (lacksRegion bool) {
	if r.Source, r.Err = rec.Source(); r.Err == nil {
		defer r.Source.Close()
		if !g.wanted(r.Source.Reader) {
			g.skipped++
			return false
		}
		if g.OfRun && r.Source.Reader.Live() { // it can be checked when it has ended
			return false
		}
		if why := r.Source.Profile.Unseen(); why == "" || g.AllowEmpty {
			r.Checks, r.Suppressed, r.Err = g.Ask(ctx, r.Source)
			if r.Err == nil {
				g.note(r, r.Source)
			}
		} else if g.OfRun {
			g.Unseen = append(g.Unseen, fmt.Sprintf("%s: %s", r.File, why))
			return false
		} else {
			r.Err = fmt.Errorf("%s: nothing was recorded: %s; --allow-empty lets it pass", r.File, why)
		}
	}
	var none *query.NoRegionError
	if errors.As(r.Err, &none) {
		return true
	}
	g.add(r)
	return false
}

// note notes which filters and suppressions match something of the recordings of a result.
func (g *Gate) note(r *check.Result, sources ...*query.Source) {
	for _, s := range sources {
		if q, err := g.Question(s); err == nil {
			g.filters.note(s, q)
		}
	}
	if g.AboutLeaks() {
		g.usage.note(r.Suppressed)
	}
}

// wanted reports whether a recording is of one of the selected processes.
func (g *Gate) wanted(rec *recording.Reader) bool {
	p := run.ProgramOf(rec)
	return len(g.Processes) == 0 || slices.ContainsFunc(g.Processes, func(pattern string) bool {
		return input.Matches(&p, pattern)
	})
}

// add adds a result to all outputs.
func (g *Gate) add(r *check.Result) {
	g.Checked++
	g.judged = append(g.judged, r.File)
	for _, o := range g.Outputs {
		if err := o.add(r); err != nil {
			g.complaints = append(g.complaints, err)
		}
	}
	if r.Err != nil {
		g.complaints = append(g.complaints, r.Err)
	} else if !r.OK() {
		g.failed = true
	}
}

// judge adds what is known only of all recordings together: filters and suppressions that matched nothing.
func (g *Gate) judge(ctx context.Context) {
	if unmatched := g.filters.unmatched(ctx); g.AllowUnmatched {
		g.Warnings = append(g.Warnings, unmatched...)
	} else if len(unmatched) > 0 {
		g.refuse(fmt.Errorf("%s; --allow-unmatched lets it pass", strings.Join(unmatched, "; and ")))
	}
	const listed = 20
	unused := g.usage.unused()
	for i, rule := range unused {
		if i == listed {
			g.Warnings = append(g.Warnings, fmt.Sprintf("and %d more unused suppressions", len(unused)-i))
			break
		}
		g.Warnings = append(g.Warnings, "unused suppression: "+rule)
	}
	if g.StrictSuppressions && len(unused) > 0 {
		g.failed = true
		g.Warnings = append(g.Warnings, "--strict-suppressions allows no unused suppression: status 1")
	}
}

// refuse replaces the results, which hold only because nothing was judged, by an error.
func (g *Gate) refuse(err error) {
	g.complaints = append(g.complaints, err)
	if g.failed {
		return
	}
	for _, o := range g.Outputs {
		o.reset()
		for _, name := range g.judged {
			if err := o.add(&check.Result{File: name, Err: err}); err != nil {
				g.complaints = append(g.complaints, err)
			}
		}
	}
}

// Finish writes the outputs, to w if they name no file. It returns whether every limit holds, and the errors because of
// which that cannot be said.
func (g *Gate) Finish(ctx context.Context, w io.Writer) (ok bool, complaints []error) {
	g.judge(ctx)
	if g.Checked == 0 {
		g.complaints = append(g.complaints, fmt.Errorf("nothing was checked: %s", g.nothing()))
	}
	for _, o := range g.Outputs {
		if err := o.write(w); err != nil {
			g.complaints = append(g.complaints, fmt.Errorf("cannot write the results as %s: %w", o.format, err))
		}
	}
	said := make(map[string]bool) // several recordings may have the same complaint
	g.complaints = slices.DeleteFunc(g.complaints, func(err error) bool {
		text := err.Error()
		defer func() { said[text] = true }()
		return said[text]
	})
	return !g.failed && g.complaints == nil, g.complaints
}

// nothing returns why there are no results.
func (g *Gate) nothing() string {
	if len(g.Unseen) > 0 {
		return fmt.Sprintf("nothing was recorded in %s; --allow-empty lets it pass",
			strings.Join(g.Unseen[:min(len(g.Unseen), 5)], ", "))
	}
	if g.skipped > 0 {
		return fmt.Sprintf("no recording matches --process %s", strings.Join(g.Processes, ", "))
	}
	return "nothing was recorded"
}

// Close closes the baseline.
func (g *Gate) Close() {
	if b := g.Baseline; b != nil {
		for _, s := range b.Sources {
			s.Close()
		}
	}
}
