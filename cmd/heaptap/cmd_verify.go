package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/verify"
	"github.com/heaptap/heaptap/internal/view"
)

func newVerifyCommand() *cobra.Command {
	var verbose, asJSON bool
	cmd := &cobra.Command{
		Use:   "verify [flags] FILE...",
		Short: "Check that recordings are complete and consistent",
		Long: `Verify checks that a recording is consistent: checksums and index are right, every number refers to
something that exists, times never go back, every deallocation ends a live block, call stacks exist
before they are used, and all sums agree: allocated minus freed is live, live at the peak sums to
the peak, the stored statistics are those of the events.

With --json it prints an object for each FILE: "file", "ok", "missing" (sentences) and "checks",
each with "name", "what" was checked, the "count" of problems and the first "problems" (sentences).

A recording that was cut short is checked as far as it goes. What is missing is reported, but is not
a problem in itself.

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
					err = view.Verified(cmd.OutOrStdout(), path, r, verbose)
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
