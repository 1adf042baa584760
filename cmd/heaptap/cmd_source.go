package main

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/annotate"
	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/source"
	"github.com/heaptap/heaptap/internal/view"
)

func newSourceCommand() *cobra.Command {
	var sources sourceFlags
	around := 2
	cmd := &cobra.Command{
		Use:   "source [flags] [RUN] [SOURCE[:LINE]|FUNCTION]",
		Short: "Show the lines of a source file or a function with what they allocate",
		Long: `Source prints the lines of a source file, or of a function, with what is allocated there: for each
metric the total of all call stacks that contain the line, and self, of those in which it calls the
allocator. A line that was inlined into several functions, or a template with many instances, counts
as one. Lines without numbers are folded, except a few around lines that have some.

SOURCE is the end of a path: parser.c, src/parser.c, or all of it. FUNCTION is a name as in the
output of top, or without return type, parameters, template arguments and enclosing scopes: parse
stands for every a::B<int>::parse(char const*). Without either, the source files of the recording
are listed.

The text is read from the recorded path if it exists, or else from where --source-path and
--source-map say. If the text is missing, or has changed since the program was recorded, the numbers
are shown all the same, and a line says so.

` + wrapHelp("A recording may name any file, so not every file is read: only files below the folders of "+
			"--source-path and --source-map, files below "+strings.Join(source.SystemDirs, ", ")+
			", and files that a program or library on this machine, with the build id in the recording, names as "+
			"its source. Links that lead out of these folders are not followed.") + "\n\n" + metricHelp(),
		Example: `  heaptap source server.4711.htap parser.c
  heaptap source server.4711.htap parser.c:120 --context 10
  heaptap source --metric leaked,leaked-blocks server.4711.htap Parser::parse
  heaptap source --source-map /build/src=$HOME/src server.4711.htap main.cc`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 2 {
				return usagef("source: takes a run, and a source file or a function; for example: heaptap source " +
					"server.4711.htap parser.c")
			}
			return nil
		},
	}
	q := newQuestion(cmd, 20)
	for _, m := range []query.Metric{query.Peak, query.Allocations, query.Bytes, query.Leaked} {
		q.Metrics = append(q.Metrics, m.String())
	}
	cmd.Flags().StringSliceVar(&q.Metrics, "metric", q.Metrics,
		"show these `METRICS`; \"heaptap help source\" lists them")
	cmd.Flags().StringVar(&q.At, "at", "", "the `TIME` for the metrics live and live-blocks; default: that of --to")
	sources.add(cmd.Flags())
	cmd.Flags().IntVar(&around, "context", around, "show `N` lines around those with numbers, or around LINE")
	cmd.Flags().Lookup("limit").Usage = "show `N` functions of that name, or files, at most; 0: all"
	cmd.Flags().Lookup("skip").Usage = "leave out the first `N` of them"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if around < 0 {
			return usagef("source: --context must not be negative")
		}
		finder, err := sources.finder(cmd)
		if err != nil {
			return err
		}
		arg, place := sourceArguments(args)
		return q.ask(cmd, []string{arg}, func(w io.Writer, s *query.Source, about *query.Query,
			o view.QueryOptions) error {
			if place == "" {
				return q.listFiles(cmd.Context(), w, s, about, o)
			}
			l, err := annotate.Ask(cmd.Context(), s, about, place, finder, false)
			if err != nil {
				return err
			}
			l.Context = around
			if q.json {
				return answer.Write(w, answer.NewSource(s, l, o.Page))
			}
			return view.Source(w, s, l, o)
		})
	}
	return cmd
}

// sourceFlags say where source files are looked for.
type sourceFlags struct{ paths, maps []string }

func (x *sourceFlags) add(f *pflag.FlagSet) {
	f.StringArrayVar(&x.paths, "source-path", nil, "look for source files below `DIR`, too; may be repeated")
	f.StringArrayVar(&x.maps, "source-map", nil, "`FROM=TO`: replace the beginning of recorded paths; may be repeated")
	_ = cobra.MarkFlagDirname(f, "source-path") // which was just declared
}

func (x *sourceFlags) finder(cmd *cobra.Command) (*source.Finder, error) {
	finder := &source.Finder{Paths: x.paths}
	for _, text := range x.maps {
		m, err := source.ParseMap(text)
		if err != nil {
			return nil, usagef("%s: --source-map: %w", cmd.Name(), err)
		}
		finder.Maps = append(finder.Maps, m)
	}
	return finder, nil
}

// sourceArguments divides the arguments into a run and a place in the source. One argument alone is a place of the last
// run made here, unless it is a process id or names something that was recorded.
func sourceArguments(args []string) (arg, place string) {
	if len(args) == 2 {
		return args[0], args[1]
	}
	if len(args) == 0 {
		return "", ""
	}
	if _, err := strconv.Atoi(args[0]); err == nil || input.Is(args[0]) {
		return args[0], ""
	}
	return "", args[0]
}

// listFiles writes a table of the source files of a recording.
func (q *queryFlags) listFiles(ctx context.Context, w io.Writer, s *query.Source, about *query.Query,
	o view.QueryOptions) error {
	about.By = query.ByFile
	t, err := query.Flat(ctx, s, about)
	if err != nil {
		return err
	}
	if q.json {
		return answer.Write(w, answer.NewTop(s, t, about.By, o.Page))
	}
	return view.Top(w, s, t, o)
}
