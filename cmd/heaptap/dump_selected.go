package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/dump"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
)

// dumpFlags are the flags of the commands that print events.
type dumpFlags struct {
	question.Question
	programs programFlags
	kinds    []string
	event    string
	before   bool
	limit    int
}

// selectionFlags are the flags that select events of a range.
var selectionFlags = []string{"thread", "freed-by", "region", "module", "size", "old-size", "lifetime", "focus",
	"ignore", "kind", "event", "at", "before", "limit"}

// selection declares them.
func (d *dumpFlags) selection(f *pflag.FlagSet) {
	f.StringSliceVar(&d.Threads, "thread", nil, "print events of blocks that this `THREAD` allocated: its id, or its "+
		"name with * and ?; may be repeated")
	f.StringSliceVar(&d.FreedBy, "freed-by", nil, "print events of blocks that this `THREAD` freed, or gave to "+
		"realloc: its id, or its name with * and ?; may be repeated")
	f.StringSliceVar(&d.Regions, "region", nil, "print events of blocks allocated in regions of this `NAME`: load, "+
		"load/7, load/*; may be repeated")
	f.StringSliceVar(&d.Modules, "module", nil, "print events with a frame in this `FILE`: libc, libc.so.6 or a path, "+
		"with * and ?; may be repeated")
	f.StringVar(&d.Sizes, "size", "", "print events of blocks whose requested bytes are in this `RANGE`: 64, 100..4k, "+
		"..16, 1M..")
	f.StringVar(&d.OldSizes, "old-size", "", "print events of blocks that realloc made of blocks whose requested "+
		"bytes are in this `RANGE`: 64, 100..4k, ..16, 1M..")
	f.StringVar(&d.Lifetimes, "lifetime", "", "print events of blocks whose lifetime is in this `RANGE`: ..1ms, "+
		"10us..2s, 5s.., never (was not freed)")
	f.StringArrayVar(&d.Focus, "focus", nil, "print events with a frame whose function, file or module matches this "+
		"`REGEXP`; repeated: with one for each")
	f.StringArrayVar(&d.Ignore, "ignore", nil, "print no events with a frame that matches `REGEXP`; may be repeated")
	f.StringSliceVar(&d.kinds, "kind", nil, "print only events of this `KIND`: alloc, free, realloc (its halves), "+
		"map, fail, unmatched, inherited, unrecorded, mark; may be repeated")
	f.StringVar(&d.event, "event", "", "print events from the one of this `NUMBER` on; the first one is 0")
	f.StringVar(&d.At, "at", "", "print events later than `TIME`, within --from and --to")
	f.BoolVar(&d.before, "before", false,
		"print the events before --event or --at, or the last ones: as many as --limit says")
	f.IntVar(&d.limit, "limit", 0, "print at most `N` events; 0: all")
}

// selects reports whether some events of a range are selected.
func (d *dumpFlags) selects(cmd *cobra.Command) bool {
	for _, name := range selectionFlags {
		if cmd.Flags().Changed(name) {
			return true
		}
	}
	return false
}

// dumpSelected prints some events of a range.
func dumpSelected(cmd *cobra.Command, f *dumpFlags, args []string, asJSON bool) error {
	if f.limit < 0 {
		return usagef("%s: --limit %d: from 0 on", cmd.Name(), f.limit)
	}
	s, err := f.programs.open(cmd, args...)
	if err != nil {
		return err
	}
	d := dump.New(cmd.OutOrStdout(), s.Reader, asJSON)
	err = printSelected(cmd, f, s, d)
	return errors.Join(outfile.QuietPipe(errors.Join(d.Flush(), err)), s.Close())
}

// printSelected prints the events that are wanted, and the marks among them.
func printSelected(cmd *cobra.Command, f *dumpFlags, s *query.Source, d *dump.Dumper) error {
	asked := f.Question
	asked.At = "" // it says where to begin
	q, err := asked.Query(s)
	if err != nil {
		return usage(cmd, err)
	}
	choice, err := question.Log(s, f.event, f.At, f.before, f.kinds)
	if err != nil {
		return usage(cmd, err)
	}
	w, err := query.WalkLog(cmd.Context(), s, q, choice, f.limit)
	if err != nil {
		return err
	}
	err = d.Selected(w.From, choice.Kinds.Marks(), w.Each)
	if err == nil && w.Missing != "" {
		err = errors.New(w.Missing)
	}
	return err
}
