package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/merge"
	"github.com/heaptap/heaptap/internal/outfile"
)

func newMergeCommand() *cobra.Command {
	var output, align string
	var keepGoing, force bool
	var programs programFlags
	cmd := &cobra.Command{
		Use:   "merge [flags] -o OUT.htap FILE...",
		Short: "Merge recordings into one: ranks, processes, repeated runs",
		Long: `Merge adds recordings up: totals, call stacks, threads, and how live memory developed in all
processes together. For the whole and for each call stack it keeps which recordings have the least
and the most. The result is a recording that report, top, tree, leaks, timeline and diff open. It
has no single events; commands that need them say so. It can be merged again.

FILE may be a folder, which stands for all recordings (.htap) in it, or another tool's file
("heaptap help import"). Recordings are read one after the other, any number of them; memory grows
with the number of different call stacks.`,
		Example: `  heaptap merge -o all.htap rank-*/app.*.htap
  heaptap merge -o build.htap --align clock recordings/
  heaptap report all.htap`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("merge: no recording given; for example: heaptap merge -o all.htap rank-*.htap")
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the merged recording to `FILE`")
	cmd.Flags().StringVar(&align, "align", "start",
		"align times by `WHAT`: start, each process's start; clock, the wall clock")
	cmd.Flags().BoolVarP(&keepGoing, "keep-going", "k", false,
		"leave out recordings that are damaged or cannot be read; the exit status is then 1")
	cmd.Flags().BoolVarP(&force, "force", "f", false, "replace OUT if it exists")
	programs.add(cmd.Flags())
	_ = cmd.Flags().MarkHidden("all") // every program of a run is an input anyway
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		by, ok := map[string]merge.Align{"start": merge.ByStart, "clock": merge.ByClock}[align]
		switch {
		case output == "":
			return usagef("merge: where to? For example: heaptap merge -o all.htap %s", args[0])
		case !ok:
			return unknownWord(cmd, "align", align, []string{"start", "clock"})
		}
		files, err := input.Expand(args)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(files, func(f string) bool { return outfile.SameFile(output, f) }) {
			return usagef("merge: %s is one of the recordings to be merged", output)
		}
		if err := outfile.Free(output, force); err != nil {
			return err
		}
		finder := programs.finder(cmd)
		finder.Apart, finder.Say = true, nil
		finder.All = finder.Programs == nil
		m := merge.New(by)
		left := 0
		for _, file := range files {
			err := mergeFile(cmd.Context(), m, finder, file)
			switch {
			case err == nil:
				continue
			case errors.Is(err, context.Canceled):
				return err
			case !keepGoing:
				return fmt.Errorf("%w (--keep-going leaves it out)", err)
			}
			left++
			text := "left out: " + oneLine(err)
			fmt.Fprintf(cmd.ErrOrStderr(), "heaptap: %s\n", text)
			m.Note(text)
		}
		if left == len(files) {
			return fmt.Errorf("%s: not written: none of %d recordings could be merged", output, left)
		}
		if err := m.Write(output); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: the sums of %s recordings\n", escape.Terminal(output),
			humanize.Number(uint64(m.Inputs())))
		if left > 0 {
			return &exitError{1}
		}
		return nil
	}
	return cmd
}

func mergeFile(ctx context.Context, m *merge.Merger, finder *input.Finder, file string) error {
	found, err := finder.Find(ctx, file)
	if err != nil {
		return err
	}
	defer found.Close()
	for i := range found.Recordings {
		r, err := found.Recordings[i].Open()
		if err != nil {
			return err
		}
		if err := errors.Join(m.Add(ctx, found.Recordings[i].Title, r), r.Close()); err != nil {
			return err
		}
	}
	return nil
}
