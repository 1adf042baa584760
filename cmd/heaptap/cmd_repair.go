package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/record/symbols"
	"github.com/heaptap/heaptap/internal/recording/repair"
	"github.com/heaptap/heaptap/internal/view"
)

func newRepairCommand() *cobra.Command {
	var output string
	var programs programFlags
	cmd := &cobra.Command{
		Use:   "repair [flags] [RUN]",
		Short: "Save what is intact in a damaged recording",
		Long: `Repair reads a recording that is damaged, was cut short or was never finished, and writes a new one
with everything that is intact: events, tables, newly computed statistics, an index, and a note in
its ending that says what is missing. RUN is not changed.

The new recording is consistent: a deallocation whose allocation is missing becomes an unmatched
one; a block whose deallocation is missing stays live. Missing names of functions, which come last
in a recording, are looked up now.

Exit status: 0 if nothing was lost (at most the index or the statistics were damaged); 1 if
something was lost, RUN cannot be read, or OUT cannot be written.`,
		Example: `  heaptap repair server.4711.htap                  # writes server.4711.repaired.htap
  heaptap repair -o saved.htap server.4711.htap`,
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := programs.finder(cmd).Find(cmd.Context(), first(args))
			if err != nil {
				return err
			}
			defer found.Close()
			from := &found.Recordings[0]
			if output == "" {
				output = strings.TrimSuffix(from.Name, ".htap") + ".repaired.htap"
			}
			lost, err := runRepair(cmd.Context(), cmd.OutOrStdout(), from, output)
			if err == nil && lost {
				err = &exitError{status: 1}
			}
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to `OUT`; default: RUN with .repaired before .htap")
	programs.add(cmd.Flags())
	return cmd
}

func runRepair(ctx context.Context, w io.Writer, from *input.Recording, to string) (lost bool, err error) {
	r, err := from.Open()
	if err != nil {
		return false, err
	}
	defer r.Close()
	switch {
	case r.Live():
		return false, fmt.Errorf("%s: is still being recorded; it must end first", from.Name)
	case outfile.SameFile(from.Name, to):
		return false, usagef("repair: -o %s is the recording itself; give another name", to)
	}
	found, err := repair.Write(ctx, r, to, repair.Options{Version: version(), Symbols: symbols.OfRecording})
	if err != nil {
		return false, err
	}
	return found.Incomplete, view.Repaired(w, from.Name, to, found)
}
