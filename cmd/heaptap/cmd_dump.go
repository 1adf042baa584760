package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/dump"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/timeref"
)

// dumpParts are the parts of a recording that dump can print, by flag.
var dumpParts = []struct {
	flag, usage string
	write       func(d *dump.Dumper) error
}{
	{"events", "print the events, one a line", nil},
	{"blocks", "print the blocks that the file is divided into", (*dump.Dumper).Blocks},
	{"modules", "print the files that were mapped as code", (*dump.Dumper).Modules},
	{"stacks", "print the call stacks, as a tree: one node a line", (*dump.Dumper).Stacks},
	{"samples", "print the samples of the process's resident memory", (*dump.Dumper).Samples},
	{"threads", "print the threads", (*dump.Dumper).Threads},
	{"resident", "print what the resident set consisted of, each time that it was read", (*dump.Dumper).Resident},
	{"pages", "print which pages were in memory, each time that they were read (run --residency)",
		(*dump.Dumper).Pages},
	{"stack-memory", "print how the threads' stacks grew", (*dump.Dumper).StackMemory},
	{"marks", "print the marks", (*dump.Dumper).Marks},
	{"regions", "print where threads entered and left regions", (*dump.Dumper).Regions},
	{"ranges", "print the names that the program gave to its memory", (*dump.Dumper).Ranges},
}

func newDumpCommand() *cobra.Command {
	f := &dumpFlags{}
	cmd := dumpCommand(f, "dump", "Print what a recording holds, event by event")
	cmd.Long = `Dump prints the content of a recording as text. Without a flag that says what: a page on what is in
the file and what takes up its space.

An event is a line: time in seconds, thread, the call with its arguments and result, the call
stack's id, and what else is known. Blocks are named by the number of their allocation:
malloc(100) = #12 ... free(#12). --stacks prints the functions of each stack id. docs/recording.md
describes the lines, and the objects that --json prints instead.

` + wrapHelp("--from and --to select a range of time: "+timeref.Help+
		". Of a large file, only that range is read. Other flags say which of its events are printed.") + `

Exit status: 0; 1 if RUN cannot be read, or if some of the requested events are damaged (the others
are printed).`
	cmd.Example = `  heaptap dump server.4711.htap
  heaptap dump --events --from 1.5s --to 1.6s server.4711.htap
  heaptap dump --events --kind alloc,realloc --size 1M.. --focus parse server.4711.htap
  heaptap dump --events --at peak --before --limit 20 server.4711.htap
  heaptap dump --events --from 99% --json server.4711.htap | jq 'select(.size > 1000000)'
  heaptap dump --stacks server.4711.htap`
	chosen := make([]bool, len(dumpParts))
	for i, p := range dumpParts {
		cmd.Flags().BoolVar(&chosen[i], p.flag, false, p.usage)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return runDump(cmd, f, args, chosen) }
	return cmd
}

func newLogCommand() *cobra.Command {
	f := &dumpFlags{}
	cmd := dumpCommand(f, "log", "Print a recording's events: short for dump --events")
	cmd.Long = `Log prints the events of a recording, one a line. It is the same as "heaptap dump --events".`
	cmd.Example = `  heaptap log server.4711.htap | grep realloc
  heaptap log --from peak server.4711.htap`
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return runDump(cmd, f, args, []bool{true}) }
	return cmd
}

// dumpCommand makes what dump and log have in common.
func dumpCommand(f *dumpFlags, name, short string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name + " [flags] [RUN]",
		Short: short,
		Args:  oneRun,
	}
	f.programs.add(cmd.Flags())
	cmd.Flags().StringVar(&f.From, "from", "start", "print events later than `TIME`")
	cmd.Flags().StringVar(&f.To, "to", "end", "print events up to `TIME`")
	f.selection(cmd.Flags())
	cmd.Flags().Bool("json", false, "print lines of JSON")
	return cmd
}

func runDump(cmd *cobra.Command, f *dumpFlags, args []string, chosen []bool) error {
	asJSON, _ := cmd.Flags().GetBool("json")
	if f.selects(cmd) {
		return dumpSelected(cmd, f, args, asJSON)
	}
	programs := &f.programs
	found, err := programs.finder(cmd).Find(cmd.Context(), first(args))
	if err != nil {
		return err
	}
	defer found.Close()
	r, err := found.Recordings[0].Open()
	if err != nil {
		return err
	}
	defer r.Close()
	var cuts [2]uint64
	for i, flag := range []string{"from", "to"} {
		if cuts[i], err = question.Cut(r, flag, []string{f.From, f.To}[i]); err != nil {
			return usage(cmd, err)
		}
	}
	d := dump.New(cmd.OutOrStdout(), r, asJSON)
	return outfile.QuietPipe(dumpAll(cmd.Context(), d, cuts, chosen))
}

func dumpAll(ctx context.Context, d *dump.Dumper, cuts [2]uint64, chosen []bool) error {
	any := false
	var failed error
	for i, yes := range chosen {
		if !yes {
			continue
		}
		any = true
		var err error
		if dumpParts[i].write != nil {
			err = dumpParts[i].write(d)
		} else {
			err = d.Events(ctx, cuts[0], cuts[1])
		}
		failed = errors.Join(failed, err)
	}
	if !any {
		failed = d.Page()
	}
	return errors.Join(d.Flush(), failed)
}
