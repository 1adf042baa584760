package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/insight"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/view"
)

func newReportCommand() *cobra.Command {
	q := &queryFlags{}
	var form jsonForm
	top := 5
	cmd := &cobra.Command{
		Use:   "report [flags] [RUN...]",
		Short: "Show where a recording's memory went",
		Long: `Report shows the peak, what was leaked, how much was allocated and how much of it was temporary, and
for each of these the call stacks that stand out. Stacks begin with the function that called the
allocator.

Of a run of several programs it reports the one that you named ("heaptap help recordings"). What still
runs is reported as it is now. A recording may be damaged or cut short: the report then shows what is
intact and says what is missing.

--json prints everything, with every call stack. Call stacks refer by number to a table of frames.
--json=flat prints a line for each call stack instead, with its frames. docs/report-json.md
describes the fields, and has examples for jq.

With --from, --to or a filter, every number is about what these select ("heaptap help filters"): the
peak is the process's within the range, with what was then live of the selection; leaked is what was
allocated in the range and never freed.`,
		Example: `  heaptap report server.4711.htap
  heaptap report --top 20 --frames 30 server.4711.htap
  heaptap report --from 50% --thread worker server.4711.htap
  heaptap report --json server.4711.htap | jq '.peak.bytes'
  heaptap report --json=flat server.4711.htap | jq -r '"\(.leaked_bytes) \(.frames[0].function)"'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if top < 0 {
				return usagef("report: --top must not be negative")
			}
			q.json = form != noJSON
			o, err := q.look(cmd)
			if err != nil {
				return err
			}
			o.Top, o.Exact = top, q.exact
			if err := q.apply(cmd, &o); err != nil {
				return err
			}
			if top == 0 {
				o.Top = -1
			}
			if q.json && !cmd.Flags().Changed("top") {
				o.Top = 0 // every stack
			}
			for i, file := range each(args) {
				if i > 0 && !q.json {
					fmt.Fprintln(cmd.OutOrStdout())
				}
				if err := q.report(cmd, file, form, o); err != nil {
					return err
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	q.filters(f)
	q.looks(f)
	q.programs.add(f)
	f.Var(&form, "json", "print everything as JSON, one object for each recording; --json=flat prints a line for each "+
		"call stack, with its frames")
	f.Lookup("json").NoOptDefVal = "true"
	f.IntVar(&top, "top", top, "show `N` call stacks for each question; 0: none; with --json the default is all")
	q.stacks(f, true)
	return cmd
}

// report writes the report of what an argument stands for; for a spool, one for each process.
func (q *queryFlags) report(cmd *cobra.Command, arg string, form jsonForm, o view.Options) error {
	found, err := q.programs.finder(cmd).Find(cmd.Context(), arg)
	if err != nil {
		return err
	}
	defer found.Close()
	o.Recording = q.programs.words(arg)
	for i := range found.Recordings {
		if i > 0 && !q.json {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		if err := q.reportOne(cmd, &found.Recordings[i], form, o); err != nil {
			return err
		}
	}
	return nil
}

func (q *queryFlags) reportOne(cmd *cobra.Command, r *input.Recording, form jsonForm, o view.Options) error {
	s, err := r.Source()
	if err != nil {
		return err
	}
	defer s.Close()
	p := s.Profile
	p.SetCode(o.Code)
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
	if o.Selection == nil && o.Top >= 0 && form != flat {
		if o.Found, err = insight.Find(cmd.Context(), s); err != nil {
			return err
		}
	}
	switch form {
	case oneObject:
		return answer.Write(cmd.OutOrStdout(), answer.NewReport(p, o.Selection, o.Top, o.Found...))
	case flat:
		for _, d := range p.Damage {
			fmt.Fprintf(cmd.ErrOrStderr(), "heaptap: %s: %s\n", escape.Terminal(p.Name), escape.Terminal(d))
		}
		return answer.WriteFlat(cmd.OutOrStdout(), answer.NewReport(p, o.Selection, o.Top))
	}
	return view.Report(cmd.OutOrStdout(), p, o)
}

// jsonForm is the value of --json.
type jsonForm string

const (
	noJSON    jsonForm = ""
	oneObject jsonForm = "true" // without a value
	flat      jsonForm = "flat"
)

// Set takes a value.
func (f *jsonForm) Set(text string) error {
	if text == string(flat) {
		*f = flat
		return nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return errors.New("known are --json and --json=flat")
	}
	*f = noJSON
	if on {
		*f = oneObject
	}
	return nil
}

func (f *jsonForm) String() string { return string(*f) }

// Type has the help show the flag like one without a value.
func (f *jsonForm) Type() string { return "bool" }
