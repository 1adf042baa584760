package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/dump"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/recording"
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
var selectionFlags = []string{"thread", "region", "module", "size", "focus", "ignore", "kind", "event", "at", "before",
	"limit"}

// selection declares them.
func (d *dumpFlags) selection(f *pflag.FlagSet) {
	f.StringSliceVar(&d.Threads, "thread", nil, "print events of blocks that this `THREAD` allocated: its id, or its "+
		"name with * and ?; may be repeated")
	f.StringSliceVar(&d.Regions, "region", nil, "print events of blocks allocated in regions of this `NAME`: load, "+
		"load/7, load/*; may be repeated")
	f.StringSliceVar(&d.Modules, "module", nil, "print events with a frame in this `FILE`: libc, libc.so.6 or a path, "+
		"with * and ?; may be repeated")
	f.StringVar(&d.Sizes, "size", "", "print events of blocks whose requested bytes are in this `RANGE`: 64, 100..4k, "+
		"..16, 1M..")
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

// printSelected asks for one part of the log after the other, until there are as many events as are wanted.
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
	p := &logParts{limit: f.limit, ask: func(at uint64, most int) (*query.Log, error) {
		choice.At, choice.Most = at, most
		return query.ReadLog(cmd.Context(), s, q, choice)
	}}
	var from uint64
	var walk dump.Walk
	if f.before {
		from, walk, err = p.backwards(choice.At)
	} else {
		from, walk, err = p.forwards(choice.At)
	}
	if err != nil {
		return err
	}
	err = d.Selected(from, choice.Kinds.Marks(), walk)
	if err == nil && p.missing != "" {
		err = errors.New(p.missing)
	}
	return err
}

// logParts are parts of the log that follow each other.
type logParts struct {
	ask     func(at uint64, most int) (*query.Log, error)
	limit   int    // 0: all events
	missing string // what is damaged, and left out; "": nothing so far
}

// next asks for a part when there are already some events.
func (p *logParts) next(at uint64, found int) (*query.Log, error) {
	most := recording.BlockEvents
	if p.limit > 0 {
		most = min(most, p.limit-found)
	}
	l, err := p.ask(at, most)
	if err == nil && p.missing == "" {
		p.missing = l.Missing
	}
	return l, err
}

// forwards returns the walk from an event on, and the cut where it begins.
func (p *logParts) forwards(at uint64) (from uint64, walk dump.Walk, err error) {
	part, err := p.next(at, 0)
	if err != nil {
		return 0, nil, err
	}
	return part.First, func(yield func(n, ref uint64, e *event.Event) bool) (uint64, error) {
		for found := 0; ; {
			for i := range part.Events {
				if e := &part.Events[i]; !yield(e.Number, e.Ref, &e.Event) {
					return e.Number, nil
				}
			}
			found += len(part.Events)
			end := part.Next
			if end >= part.End || p.limit > 0 && found >= p.limit {
				return end, nil
			}
			if part, err = p.next(end, found); err != nil {
				return end, err
			}
		}
	}, nil
}

// backwards returns the walk of the last events before one, and the cut where it begins.
func (p *logParts) backwards(at uint64) (from uint64, walk dump.Walk, err error) {
	var parts []*query.Log
	found := 0
	for {
		part, err := p.next(at, found)
		if err != nil {
			return 0, nil, err
		}
		parts = append(parts, part)
		found += len(part.Events)
		if at = part.First; at <= part.Begin || found >= p.limit {
			break
		}
	}
	return at, func(yield func(n, ref uint64, e *event.Event) bool) (uint64, error) {
		for _, part := range slices.Backward(parts) {
			for i := range part.Events {
				if e := &part.Events[i]; !yield(e.Number, e.Ref, &e.Event) {
					return e.Number, nil
				}
			}
		}
		return parts[0].Next, nil
	}, nil
}
