// Package gate checks recordings one after the other, and writes the results in all requested formats: text, JSON,
// JUnit XML and annotations for GitHub. Package check decides whether one recording keeps to its limits.
package gate

import (
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/check"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/query"
)

// Gate checks recordings.
type Gate struct {
	check.Gate
	Programs   []string // patterns: only recordings of these programs are checked; nil: all
	AllowEmpty bool     // recordings in which nothing was recorded may pass
	OfRun      bool     // the recordings are those of one run: empty ones are left out
	Outputs    []*Output
	Version    string // of heaptap, for recordings made from other files

	Unseen  []string // recordings of a run in which nothing was recorded, and why
	Checked int      // recordings
	skipped int      // recordings of other programs

	failed     bool    // a limit does not hold
	complaints []error // why it cannot be said whether all limits hold
}

// Check checks the recordings that a file stands for.
func (g *Gate) Check(ctx context.Context, file string) {
	paths, remove, err := input.Recordings(ctx, file, g.Version)
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
		g.checkOne(ctx, p, name)
	}
}

// checkOne checks one recording. It closes it again: there may be thousands.
func (g *Gate) checkOne(ctx context.Context, path, name string) {
	r := &check.Result{File: name}
	if r.Source, r.Err = query.Open(path); r.Err == nil {
		defer r.Source.Close()
		if !g.wanted(r.Source) {
			g.skipped++
			return
		}
		if why := r.Source.Profile.Unseen(); why == "" || g.AllowEmpty {
			r.Checks, r.Suppressed, r.Err = g.Ask(ctx, r.Source)
		} else if g.OfRun {
			g.Unseen = append(g.Unseen, fmt.Sprintf("%s: %s", name, why))
			return
		} else {
			r.Err = fmt.Errorf("%s: nothing was recorded: %s; --allow-empty lets it pass", name, why)
		}
	}
	g.add(r)
}

// wanted reports whether a recording is one of the selected programs.
func (g *Gate) wanted(s *query.Source) bool {
	name := filepath.Base(s.Profile.Process.Exe)
	return len(g.Programs) == 0 || slices.ContainsFunc(g.Programs, func(p string) bool {
		match, _ := path.Match(p, name)
		return match || p == s.Profile.Process.Exe
	})
}

// add adds a result to all outputs.
func (g *Gate) add(r *check.Result) {
	g.Checked++
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

// Finish writes the outputs, to w if they name no file. It returns whether every limit holds, and the errors because of
// which that cannot be said.
func (g *Gate) Finish(w io.Writer) (ok bool, complaints []error) {
	if g.Checked == 0 {
		g.complaints = append(g.complaints, fmt.Errorf("nothing was checked: %s", g.nothing()))
	}
	for _, o := range g.Outputs {
		if err := o.write(w); err != nil {
			g.complaints = append(g.complaints, fmt.Errorf("cannot write the results as %s: %w", o.format, err))
		}
	}
	return !g.failed && g.complaints == nil, g.complaints
}

// nothing returns why there are no results.
func (g *Gate) nothing() string {
	if len(g.Unseen) > 0 {
		return fmt.Sprintf("nothing was recorded in %s; --allow-empty lets it pass",
			strings.Join(g.Unseen[:min(len(g.Unseen), 5)], ", "))
	}
	if g.skipped > 0 {
		return fmt.Sprintf("no recording matches --program %s", strings.Join(g.Programs, ", "))
	}
	return "nothing was recorded"
}

// Close closes the baseline.
func (g *Gate) Close() {
	if b := g.Baseline; b != nil && b.Source != nil {
		b.Source.Close()
	}
}
