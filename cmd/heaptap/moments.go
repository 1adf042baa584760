package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/moment"
	"github.com/heaptap/heaptap/internal/recording"
)

// cutOf finds the cut at a moment of a recording.
func cutOf(r *recording.Reader, text string) (uint64, error) {
	m, err := moment.Parse(text)
	if err != nil {
		return 0, &usageError{err}
	}
	return m.Cut(r)
}

// wrongMoment is the error of cutOf: a wrong command line where the flag's value is no moment.
func wrongMoment(cmd *cobra.Command, flag string, err error) error {
	var usage *usageError
	var unknown *moment.UnknownMark
	if errors.As(err, &usage) || errors.As(err, &unknown) {
		return usagef("%s: --%s: %w", cmd.Name(), flag, err)
	}
	return err
}
