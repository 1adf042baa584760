package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	imports "github.com/heaptap/heaptap/internal/import"
)

func newImportCommand() *cobra.Command {
	var output string
	var force bool
	cmd := &cobra.Command{
		Use:   "import [flags] FILE",
		Short: "Make a recording of what another tool recorded",
		Long: `Import reads another tool's file and writes a recording, which all commands open. It reads heaptrack's data files, interpreted, of versions 1
to 3, also compressed (.gz, .zst). What such files do not tell, recordings made of them do not have: docs/formats.md says what that is.`,
		Example: `  heaptap import heaptrack.server.4711.zst              writes heaptrack.server.4711.htap
  heaptap import -o server.htap heaptrack.server.4711.zst`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("import: one file is needed; for example: heaptap import heaptrack.server.4711.zst")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			to := output
			if to == "" {
				to = importedName(args[0])
			}
			if same(args[0], to) {
				return usagef("import: -o %s is the file itself; give another name", to)
			}
			if err := outputFree(to, args, force); err != nil {
				return err
			}
			if err := imports.File(args[0], to, version()); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), to)
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the recording to `OUT`; default: the file's name with .htap, in the working directory")
	cmd.Flags().BoolVarP(&force, "force", "f", false, "replace OUT if it exists")
	return cmd
}

// importedName is what a recording made of a file is called: without the endings that say how the file is compressed.
func importedName(file string) string {
	name := filepath.Base(file)
	for _, ending := range []string{".zst", ".gz", ".heaptrack"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name + ".htap"
}
