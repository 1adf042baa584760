package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/record/symbols"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/view"
)

func newRepairCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "repair [-o OUT] FILE",
		Short: "Save what is intact in a damaged recording",
		Long: `Repair reads a recording that is damaged, was cut short or was never finished, and writes a new one
with everything that is intact: events, tables, newly computed statistics, an index, and a note in
its ending that says what is missing. FILE is not changed.

The new recording is consistent: a deallocation whose allocation is missing becomes an unmatched
one; a block whose deallocation is missing stays live. Missing names of functions, which come last
in a recording, are looked up now.

Exit status: 0 if nothing was lost (at most the index or the statistics were damaged); 1 if
something was lost, FILE cannot be read, or OUT cannot be written.`,
		Example: `  heaptap repair server.4711.htap                  writes server.4711.repaired.htap
  heaptap repair -o saved.htap server.4711.htap`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("repair: one recording is needed; for example: heaptap repair server.4711.htap")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				output = strings.TrimSuffix(args[0], ".htap") + ".repaired.htap"
			}
			lost, err := repair(cmd.Context(), cmd.OutOrStdout(), args[0], output)
			if err == nil && lost {
				err = &exitError{status: 1}
			}
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to `OUT`; default: FILE with .repaired before .htap")
	return cmd
}

func repair(ctx context.Context, w io.Writer, from, to string) (lost bool, err error) {
	r, err := recording.Open(from)
	if err != nil {
		return false, err
	}
	defer r.Close()
	if outfile.SameFile(from, to) {
		return false, usagef("repair: -o %s is the recording itself; give another name", to)
	}
	options := recording.RepairOptions{Version: version(), Symbols: symbols.OfRecording}
	found, err := recording.Repair(ctx, r, to, options)
	if err != nil {
		return false, err
	}
	return found.Incomplete, view.Repaired(w, from, to, found)
}
