package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/recording/repair"
	"github.com/heaptap/heaptap/internal/verify"
)

// Verified writes whether a recording is consistent in one line, and below it what is missing, the checks and their
// problems.
func Verified(w io.Writer, path string, r *verify.Result, verbose bool) error {
	outcome := "ok"
	if n := r.Problems(); n > 0 {
		outcome = fmt.Sprintf("%d problems", n)
	}
	if n := r.Problems(); n == 1 {
		outcome = "1 problem"
	}
	if len(r.Missing) > 0 {
		outcome += ", incomplete"
	}
	text := fmt.Sprintf("%s: %s\n", clean(path), outcome)
	for _, m := range r.Missing {
		text += fmt.Sprintf("  missing: %s\n", clean(m))
	}
	for _, c := range r.Checks {
		if verbose {
			state := "ok"
			if c.Count > 0 {
				state = fmt.Sprintf("%d PROBLEMS", c.Count)
			}
			text += fmt.Sprintf("  %-9s %-11s %s\n", c.Name, state, c.What)
		}
		for _, p := range c.Problems {
			text += fmt.Sprintf("  %s: %s\n", c.Name, clean(p))
		}
		if more := c.Count - uint64(len(c.Problems)); more > 0 {
			text += fmt.Sprintf("  %s: and %d more\n", c.Name, more)
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// Repaired writes what was damaged of a recording, and how much of it was kept.
func Repaired(w io.Writer, from, to string, found *repair.Result) error {
	var b strings.Builder
	for _, s := range found.Damage {
		fmt.Fprintf(&b, "%s: %s\n", clean(from), clean(s))
	}
	fmt.Fprintf(&b, "%s: %s events kept", clean(to), humanize.Number(found.Events))
	switch {
	case found.Lost > 0 && found.Ended:
		fmt.Fprintf(&b, ", %s lost", humanize.Number(found.Lost))
	case found.Lost > 0:
		fmt.Fprintf(&b, ", %s lost and all that came later", humanize.Number(found.Lost))
	case !found.Ended:
		fmt.Fprint(&b, "; what came later is lost")
	case found.Incomplete:
		fmt.Fprint(&b, ", none lost")
	default:
		fmt.Fprint(&b, "; nothing is lost")
	}
	if found.Unmatched > 0 {
		fmt.Fprintf(&b, "; %s deallocations of lost blocks count as unmatched", humanize.Number(found.Unmatched))
	}
	if found.Unseen > 0 {
		fmt.Fprintf(&b, "; %s blocks count as unseen", humanize.Number(found.Unseen))
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}
