package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/repair"
	"github.com/heaptap/heaptap/internal/symbolize"
	"github.com/heaptap/heaptap/internal/view"
)

func newRepairCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "repair [-o OUT] FILE",
		Short: "Save what is whole of a damaged recording",
		Long: `Repair reads a recording that is damaged, was cut short or was never finished, and writes a new one with everything in it that
is whole: events, tables, statistics counted anew, an index, and a note in its ending that says what is missing. FILE is not changed.

The new recording is right in itself: a deallocation whose allocation is missing becomes an unmatched one; a block whose deallocation
is missing stays live. If the functions' names are missing, since they come last, they are looked up now.

Exit status: 0 if nothing was lost (at most the index or the statistics were damaged); 1 if something was, or if FILE cannot be
read or OUT not be written.`,
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
			lost, err := runRepair(cmd.Context(), cmd.OutOrStdout(), args[0], output)
			if err == nil && lost {
				err = &exitError{status: 1}
			}
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to `OUT`; default: FILE with .repaired before .htap")
	return cmd
}

func runRepair(ctx context.Context, w io.Writer, from, to string) (lost bool, err error) {
	r, err := recording.Open(from)
	if err != nil {
		return false, err
	}
	defer r.Close()
	if outfile.SameFile(from, to) {
		return false, usagef("repair: -o %s is the recording itself; it is not changed, give another name", to)
	}
	found, err := repair.Write(ctx, r, to, repair.Options{Version: version(), Symbols: lookUp})
	if err != nil {
		return false, err
	}
	return found.Incomplete, view.Repaired(w, from, to, found)
}

// lookUp finds the functions at a recording's addresses, as the end of a recording would have.
func lookUp(r *recording.Reader) map[uint32][]event.Frame {
	ids, pcs := make([]uint32, 0, r.PCs().Len()), make([]event.PC, 0, r.PCs().Len())
	r.PCs().All(func(id uint32, p event.PC) bool {
		ids, pcs = append(ids, id), append(pcs, p)
		return true
	})
	found, _ := symbolize.New(symbolize.Options{}).Resolve(context.Background(), r.Modules(), pcs)
	frames := make(map[uint32][]event.Frame, len(ids))
	for i, f := range found {
		if len(f) > 0 {
			frames[ids[i]] = f
		}
	}
	return frames
}
