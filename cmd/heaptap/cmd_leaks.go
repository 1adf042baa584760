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
	var suggest, runtime bool
	frames, status := 8, 0
	cmd := &cobra.Command{
		Use:   "leaks [flags] FILE",
		Short: "Show what was never freed, and what keeps growing",
		Long: `Leaks prints the call stacks whose blocks were allocated in the range and never freed, largest
first, and the call stacks whose live bytes rose steadily: that is how a program leaks that frees
everything when it ends.

--suppressions leaves out known leaks. The file has lines "leak:PATTERN", as for LeakSanitizer and
heaptrack: the pattern is searched for in the functions, source files and modules of a stack;
* stands for anything, ^ and $ match the beginning and the end. --suggest prints such lines for what
is leaked.

What the loader and the language's runtime keep for themselves is left out; --runtime shows it.`,
		Example: `  heaptap leaks server.4711.htap
  heaptap leaks --suggest server.4711.htap > known.supp
  heaptap leaks --suppressions known.supp --exit-status 1 server.4711.htap`,
		Args: oneRecording("leaks"),
	}
	q := newQuestion(cmd, 20)
	cmd.Flags().StringArrayVar(&files, "suppressions", nil, "leave out what the rules in `FILE` match; may be repeated")
	cmd.Flags().BoolVar(&suggest, "suggest", false, "print a suppression for each leak, and nothing else")
	cmd.Flags().BoolVar(&runtime, "runtime", false, "show what the runtime keeps for itself, too")
	cmd.Flags().IntVar(&frames, "frames", frames, "show at most `N` lines of each call stack; 0: all")
	cmd.Flags().IntVar(&status, "exit-status", status, "end with status `N` if anything is leaked")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if frames < 0 || status < 0 || status > 255 {
			return usagef("leaks: --frames must not be negative, --exit-status must be from 0 to 255")
		}
		rules, err := query.ReadSuppressions(files)
		if err != nil {
			return err
		}
		leaked := false
		err = q.ask(cmd, args[0], func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
			if o.Frames = frames; frames == 0 {
				o.Frames = -1
			}
			l, err := query.AskLeaks(cmd.Context(), s, about, query.LeakFilter{Rules: rules, Runtime: runtime},
				!suggest)
			if err != nil {
				return err
			}
			leaked = len(l.Rows) > 0
			switch {
			case suggest:
				return view.Suggestions(w, l.Suggestions(s))
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
