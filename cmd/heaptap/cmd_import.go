package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/escape"
	imports "github.com/heaptap/heaptap/internal/import"
	"github.com/heaptap/heaptap/internal/outfile"
)

func newImportCommand() *cobra.Command {
	var output, metric string
	var force bool
	cmd := &cobra.Command{
		Use:   "import [flags] FILE",
		Short: "Convert another tool's file to a recording",
		Long: `Import reads another tool's file and writes a recording, which all commands open. The format is
detected from the content of the file, which may be compressed with gzip or zstd:

` + importHelp() + `
A file of heaptrack becomes a recording with all events. The others become recordings of sums, like
those of "heaptap merge": questions that need events say so. What such a file does not contain, its
recording does not have either; the recording's notes and docs/formats.md say what that is. Commands
that ask a recording (report, top, tree, diff, leaks, export, check and others) also take such files
directly.`,
		Example: `  heaptap import heaptrack.server.4711.zst              # writes heaptrack.server.4711.htap
  heaptap import -o server.htap massif.out.4711
  heaptap report heap.pb.gz                             # without a recording`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("import: one file is needed; for example: heaptap import heaptrack.server.4711.zst")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			to := output
			if to == "" {
				to = imports.OutputName(args[0])
			}
			if outfile.SameFile(args[0], to) {
				return usagef("import: -o %s is the input file; give another name", to)
			}
			if err := outfile.Free(to, force); err != nil {
				return err
			}
			if err := imports.File(cmd.Context(), args[0], to, version(), metric); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), escape.Terminal(to))
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "",
		"write the recording to `OUT`; default: the file's name with .htap, in the working directory")
	cmd.Flags().StringVar(&metric, "metric", "", "the `METRIC` that the numbers of folded stacks are: allocations, "+
		"bytes, live, leaked, peak or temporary; default: live")
	cmd.Flags().BoolVarP(&force, "force", "f", false, "replace OUT if it exists")
	return cmd
}

// importHelp lists the formats.
func importHelp() string {
	var b strings.Builder
	for _, f := range imports.All {
		fmt.Fprintf(&b, "  %-12s %s\n", f.Name, f.Tool)
	}
	return b.String()
}
