package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/view"
)

func newLeaksCommand() *cobra.Command {
	var files []string
	var suggest, runtime, broad bool
	status := 0
	cmd := &cobra.Command{
		Use:   "leaks [flags] [RUN...]",
		Short: "Show what was never freed, and what keeps growing",
		Long: `Leaks prints the call stacks whose blocks were allocated in the range and never freed, largest
first, and the call stacks whose live bytes rose steadily: that is how a program leaks that frees
everything when it ends.

--suppressions leaves out known leaks. The file has lines "leak:PATTERN", as for LeakSanitizer and
heaptrack: the pattern is searched for in the functions, source files and modules of a stack;
* stands for anything, ^ and $ match the beginning and the end. --suggest prints such lines for what
is leaked: the innermost functions of the program's own code. Rules that match main, or another
function with which a thread begins, hide nearly everything and are refused without --broad.

Leaked means live when the recording ends; whether anything still points to a block is not examined.
What libc, the loader and the language's runtime keep for themselves is left out; --runtime shows it.`,
		Example: `  heaptap leaks server.4711.htap
  heaptap leaks --suggest server.4711.htap > known.supp
  heaptap leaks --suppressions known.supp --exit-status 1 server.4711.htap`,
	}
	q := newQuestion(cmd, 20)
	cmd.Flags().StringArrayVar(&files, "suppressions", nil, "leave out what the rules in `FILE` match; may be repeated")
	cmd.Flags().BoolVar(&suggest, "suggest", false, "print a suppression for each leak, and nothing else")
	cmd.Flags().BoolVar(&runtime, "runtime", false, "show what the runtime keeps for itself, too")
	cmd.Flags().BoolVar(&broad, "broad", false,
		"accept, and suggest, suppressions that match main or another function on nearly every call stack")
	q.stacks(cmd.Flags(), true)
	cmd.Flags().IntVar(&status, "exit-status", status, "end with status `N` if anything is leaked")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if status < 0 || status > 255 {
			return usagef("leaks: --exit-status must be from 0 to 255")
		}
		rules, err := query.ReadSuppressions(files)
		if err != nil {
			return err
		}
		leaked := false
		err = q.ask(cmd, args, func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
			known := query.LeakFilter{Rules: rules, Runtime: runtime, Broad: broad}
			l, err := query.AskLeaks(cmd.Context(), s, about, known, !suggest)
			if err != nil {
				return err
			}
			leaked = len(l.Rows) > 0
			switch {
			case suggest:
				return view.Suggestions(w, s, l.Suggestions(s, broad))
			case q.json:
				return answer.Write(w, answer.NewLeaks(s, l, o.Page))
			}
			return view.Leaks(w, s, l, o)
		})
		if err == nil && leaked && status != 0 {
			return &exitError{status: status}
		}
		return err
	}
	return cmd
}
