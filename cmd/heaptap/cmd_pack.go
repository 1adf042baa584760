package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/outfile"
)

func newPackCommand() *cobra.Command {
	var output string
	var force bool
	cmd := &cobra.Command{
		Use:   "pack [flags] [RUN]",
		Short: "Make one file of a run, to mail it or to keep it in CI",
		Long: `Pack writes a run, which is a folder if it has several programs, as one file. Every command that takes
a run takes that file as well. RUN is not changed. Of a run that is still being recorded, the file
has what was recorded so far.

Exit status: 0; 1 if RUN cannot be read or OUT cannot be written.`,
		Example: `  heaptap pack make.4711.htap                  # writes make.4711.packed.htap
  heaptap pack -o artifact.htap make.4711.htap
  heaptap pack -o - make.4711.htap | ssh host 'cat >make.htap'`,
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return pack(cmd, first(args), output, force)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to `OUT`, - is stdout; default: RUN with .packed before "+
		".htap")
	cmd.Flags().BoolVar(&force, "force", false, "replace OUT if it exists")
	return cmd
}

func pack(cmd *cobra.Command, arg, to string, force bool) error {
	r, err := (&input.Finder{Say: sayTo(cmd)}).Run(arg)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = fmt.Errorf("%s: %w", arg, path.Err)
		}
		return err
	}
	defer r.Close()
	from := r.Path()
	if to == "" {
		to = strings.TrimSuffix(filepath.Clean(from), ".htap") + ".packed.htap"
	}
	if text := r.Damage(); text != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "heaptap: %s: only what is readable is packed: %s\n", escape.Terminal(from),
			escape.Terminal(text))
	}
	if to == "-" {
		to := &outfile.Destination{Stdout: cmd.OutOrStdout()}
		return to.Write(from, r.WritePacked)
	}
	if outfile.SameFile(from, to) {
		return usagef("pack: -o %s is the run itself; give another name", to)
	}
	if err := outfile.Free(to, force); err != nil {
		return err
	}
	unix.Umask(0o077) // it holds arguments, paths and names, as a run does
	if err := outfile.File(to, r.WritePacked); err != nil {
		return err
	}
	st, err := os.Stat(to)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, %s\n", escape.Terminal(to),
		humanize.Plural(uint64(len(r.Programs())), "program"), humanize.Size(uint64(st.Size())))
	return err
}
