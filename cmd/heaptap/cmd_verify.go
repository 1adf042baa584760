package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/verify"
)

func newVerifyCommand() *cobra.Command {
	var verbose, asJSON bool
	cmd := &cobra.Command{
		Use:   "verify [flags] FILE...",
		Short: "Check that recordings are whole and consistent",
		Long: `Verify checks a recording against itself: checksums and index, that every number refers to something that exists, that
times never go back, that every deallocation ends a block that is live, that call stacks were there when they were seen, and that all
sums add up: allocated minus freed is live, live at the peak sums to the peak, the stored statistics are those of the events.

With --json there is an object for each FILE: "file", "ok", "missing" (sentences) and "checks", each with "name", "what" was looked at,
the "count" of problems and the first "problems" (sentences).

A recording that was cut short is checked as far as it goes; what is missing is said, and is no problem in itself.

Exit status: 0 if there is no problem, 1 if there is one or a FILE cannot be read.`,
		Example: `  heaptap verify server.4711.htap
  heaptap verify -v *.htap`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("verify: no recording given; for example: heaptap verify server.4711.htap")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			good := true
			for _, path := range args {
				r, err := verify.File(path)
				if err != nil {
					return err
				}
				good = good && r.OK
				if asJSON {
					err = json.NewEncoder(cmd.OutOrStdout()).Encode(r)
				} else {
					err = printVerified(cmd.OutOrStdout(), path, r, verbose)
				}
				if err != nil {
					return err
				}
			}
			if !good {
				return &exitError{status: 1}
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "print a line for each check, with counts")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object for each FILE")
	return cmd
}

// printVerified prints the outcome in one line, and below it what is missing, the checks and their problems.
func printVerified(w io.Writer, path string, r *verify.Result, verbose bool) error {
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
	text := fmt.Sprintf("%s: %s\n", escape.Terminal(path), outcome)
	for _, m := range r.Missing {
		text += fmt.Sprintf("  missing: %s\n", escape.Terminal(m))
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
			text += fmt.Sprintf("  %s: %s\n", c.Name, escape.Terminal(p))
		}
		if more := c.Count - uint64(len(c.Problems)); more > 0 {
			text += fmt.Sprintf("  %s: and %d more\n", c.Name, more)
		}
	}
	_, err := io.WriteString(w, text)
	return err
}
