package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/check"
	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/gate"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/outfile"
)

// runsFlags are the flags of heaptap check for repeated runs.
type runsFlags struct {
	n      int
	output string
}

func (r *runsFlags) add(f *pflag.FlagSet) {
	f.IntVar(&r.n, "runs", 0, "run COMMAND `N` times and check the runs together; or take N recordings of repeated "+
		"runs")
	f.StringVarP(&r.output, "output", "o", "", "with --runs: keep the recordings in this `FOLDER`")
}

// args checks the arguments, and how many runs there are.
func (r *runsFlags) args(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	switch {
	case r.n < 1 || r.n > check.MaxRuns:
		return usagef("check: --runs %d: from 1 to %d", r.n, check.MaxRuns)
	case dash > 0:
		return usagef("check: %q stands before --; write either recordings, or -- COMMAND", args[0])
	case dash < 0 && r.output != "":
		return usagef("check: --output has no effect without -- COMMAND")
	case len(args) == 0:
		return usagef("check: no command given; for example: heaptap check --runs 5 --baseline main -- ./tests")
	case dash < 0 && len(args) != r.n:
		return usagef("check: --runs %d, but the number of recordings is %d; to run a command: heaptap check --runs "+
			"%d ... -- %s", r.n, len(args), r.n, args[0])
	}
	return nil
}

// check records the runs, unless there are recordings, and checks them.
func (r *runsFlags) check(cmd *cobra.Command, g *gateFlags, args []string) error {
	if cmd.ArgsLenAtDash() < 0 {
		g.CheckRuns(cmd.Context(), r.name(strings.Join(args, ", ")), args)
		return nil
	}
	failed := func(err error) error { return &launch.StatusError{Status: launch.StatusFailed, Err: err} }
	folder := r.output
	if folder == "" {
		dir, remove, err := outfile.TemporaryDir("heaptap-runs-")
		if err != nil {
			return failed(err)
		}
		defer remove()
		folder = dir
	} else if err := r.newFolder(); err != nil {
		return failed(err)
	}
	files, err := g.Record(cmd.Context(), args, r.n, folder)
	var ended *gate.Failed
	switch {
	case errors.As(err, &ended):
		return &launch.StatusError{Status: ended.Status, Err: fmt.Errorf("check: %w", err)}
	case err != nil:
		return failed(fmt.Errorf("check: %w", err))
	}
	if r.output != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "heaptap: %s: recordings of %s; --baseline %[1]s compares with them\n",
			escape.Terminal(r.output), humanize.Plural(uint64(r.n), "run"))
	}
	g.CheckRuns(cmd.Context(), r.name(strings.Join(args, " ")), files)
	return nil
}

// name stands for all runs in the results.
func (r *runsFlags) name(of string) string { return humanize.Plural(uint64(r.n), "run") + " of " + of }

// newFolder makes the folder for recordings. It must not have any: they would be mistaken for runs of today.
func (r *runsFlags) newFolder() error {
	if err := os.Mkdir(r.output, 0o700); err == nil || !errors.Is(err, os.ErrExist) {
		return err
	}
	list, err := os.ReadDir(r.output)
	if slices.ContainsFunc(list, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".htap") }) {
		return fmt.Errorf("check: --output %s: the folder has recordings already; give another one", r.output)
	}
	return err
}
