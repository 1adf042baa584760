package main

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/verify"
	"github.com/heaptap/heaptap/internal/view"
)

func newVerifyCommand() *cobra.Command {
	var verbose, asJSON bool
	var programs programFlags
	cmd := &cobra.Command{
		Use:   "verify [flags] [RUN...]",
		Short: "Check that recordings are complete and consistent",
		Long: `Verify checks that a recording is consistent: checksums and index are right, every number refers to
something that exists, times never go back, every deallocation ends a live block, call stacks exist
before they are used, and all sums agree: allocated minus freed is live, live at the peak sums to
the peak, the stored statistics are those of the events.

With --json it prints an object for each FILE: "file", "ok", "missing" (sentences) and "checks",
each with "name", "what" was checked, the "count" of problems and the first "problems" (sentences).

A recording that was cut short is checked as far as it goes. What is missing is reported, but is not
a problem in itself.

Exit status: 0 if there is no problem, 1 if there is one or a RUN cannot be read.`,
		Example: `  heaptap verify server.4711.htap
  heaptap verify -v *.htap`,
		RunE: func(cmd *cobra.Command, args []string) error {
			good := true
			finder := programs.finder(cmd)
			finder.Apart = true
			finder.All = finder.Programs == nil
			found, err := findAll(cmd.Context(), finder, args)
			if err != nil {
				return err
			}
			defer found.Close()
			for i := range found.Recordings {
				r, err := verifyOne(&found.Recordings[i])
				if err != nil {
					return err
				}
				r.File = found.Recordings[i].Title
				good = good && r.OK
				if asJSON {
					err = json.NewEncoder(cmd.OutOrStdout()).Encode(r)
				} else {
					err = view.Verified(cmd.OutOrStdout(), r.File, r, verbose)
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
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object for each recording")
	programs.add(cmd.Flags())
	_ = cmd.Flags().MarkHidden("all") // every program of a run is verified anyway
	return cmd
}

func verifyOne(from *input.Recording) (*verify.Result, error) {
	if from.Path != "" {
		live := from.Live()
		r, err := verify.File(from.Path)
		if err == nil && live {
			r.Missing = []string{"what is yet to come: the process is still running"}
		}
		return r, err
	}
	rec, err := from.Open()
	if err != nil {
		return nil, err
	}
	r, err := verify.Recording(rec.Content(), rec.Size(), rec.Name())
	return r, errors.Join(err, rec.Close())
}
