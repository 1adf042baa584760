package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/view"
)

func newReportCommand() *cobra.Command {
	q := &queryFlags{}
	top, frames := 5, 8
	cmd := &cobra.Command{
		Use:   "report [flags] FILE...",
		Short: "Show where a recording's memory went",
		Long: `Report shows the peak, what was leaked, how much was allocated and how much of it was temporary, and
for each of these the call stacks that stand out. Stacks begin with the function that called the
allocator.

FILE is a recording (.htap). It may be damaged or cut short: the report then shows what is intact
and says what is missing. It may also be the .spool file of a process that ran with the agent
preloaded and without a recorder. --json prints everything, with every call stack and all of its
frames; docs/report-json.md describes the fields.

With --from, --to or a filter, every number is about what these select ("heaptap help filters"): the
peak is the process's within the range, with what was then live of the selection; leaked is what was
allocated in the range and never freed.`,
		Example: `  heaptap report server.4711.htap
  heaptap report --top 20 --frames 30 server.4711.htap
  heaptap report --from 50% --thread worker server.4711.htap
  heaptap report --json server.4711.htap | jq '.peak.bytes'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("report: no recording given; for example: heaptap report server.4711.htap")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if top < 0 || frames < 0 {
				return usagef("report: --top and --frames must not be negative")
			}
			color, err := q.colors(cmd)
			if err != nil {
				return err
			}
			o := view.Options{Top: top, Frames: frames, Width: 100, Color: color, Exact: q.exact}
			if top == 0 {
				o.Top = -1
			}
			if frames == 0 {
				o.Frames = -1
			}
			if q.json && !cmd.Flags().Changed("top") {
				o.Top = 0 // every stack
			}
			for i, file := range args {
				if i > 0 && !q.json {
					fmt.Fprintln(cmd.OutOrStdout())
				}
				if err := q.report(cmd, file, o); err != nil {
					return err
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	q.filters(f)
	q.looks(f)
	f.BoolVar(&q.json, "json", false, "print everything as JSON, one object for each FILE")
	f.IntVar(&top, "top", top, "show `N` call stacks for each question; 0: none; with --json the default is all")
	f.IntVar(&frames, "frames", frames, "show at most `N` lines of each call stack; 0: all")
	return cmd
}

// report writes the report of a recording, or one for each process of a spool.
func (q *queryFlags) report(cmd *cobra.Command, file string, o view.Options) error {
	paths, remove, err := input.Recordings(cmd.Context(), file, version())
	if err != nil {
		return err
	}
	defer remove()
	for i, path := range paths {
		if i > 0 && !q.json {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		if err := q.reportOne(cmd, path, o); err != nil {
			return err
		}
	}
	return nil
}

func (q *queryFlags) reportOne(cmd *cobra.Command, path string, o view.Options) error {
	s, err := query.Open(path)
	if err != nil {
		return err
	}
	defer s.Close()
	p := s.Profile
	if flags := q.asked(cmd.Flags()); flags != nil {
		about, err := q.query(cmd, s)
		if err != nil {
			return err
		}
		n, err := query.Narrow(cmd.Context(), s, about)
		if err != nil {
			return err
		}
		p, o.Selection = n.Profile, &query.Selection{Asked: flags, Answer: &n.Answer}
	}
	if q.json {
		return answer.Write(cmd.OutOrStdout(), answer.NewReport(p, o.Selection, o.Top))
	}
	return view.Report(cmd.OutOrStdout(), p, o)
}
