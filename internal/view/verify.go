package view

import (
	"fmt"
	"io"

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
