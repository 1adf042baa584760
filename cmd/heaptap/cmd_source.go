package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/source"
	"github.com/heaptap/heaptap/internal/symbolize"
	"github.com/heaptap/heaptap/internal/view"
)

func newSourceCommand() *cobra.Command {
	var paths, maps []string
	context := 2
	cmd := &cobra.Command{
		Use:   "source [flags] FILE [SOURCE[:LINE]|FUNCTION]",
		Short: "Show the lines of a source file or a function with what they allocate",
		Long: `Source prints the lines of a source file, or of a function, with what is allocated there: for each metric the total of all call
stacks on which the line is, and self, of those on which it calls the allocator. A line that was inlined into several functions, or
of which a template has many instances, is one. Lines without numbers are folded, but for a few around those that have some.

SOURCE is the end of a path: parser.c, src/parser.c, or all of it. FUNCTION is a name as in the output of top, or without return
type, parameters, template arguments and what encloses it: parse stands for every a::B<int>::parse(char const*). Without either, the source
files of the recording are listed.

The text is read from the recorded path if it is there, else as --source-path and --source-map tell. Without it, and if it has changed
since the program was recorded, the numbers are shown all the same, and a line says so.

Since a recording may name any file, not every one is read: only what is below folders that --source-path and --source-map name, below
` + strings.Join(source.SystemDirs, ", ") + `, and files of which a
program or library on this machine, with the build id that is in the recording, says that it was made of them. Links do not lead out of
these folders.

` + metricHelp(),
		Example: `  heaptap source server.4711.htap parser.c
  heaptap source server.4711.htap parser.c:120 --context 10
  heaptap source --metric leaked,leaked-blocks server.4711.htap Parser::parse
  heaptap source --source-map /build/src=$HOME/src server.4711.htap main.cc`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return usagef("source: a recording is needed, and a source file or a function; for example: heaptap source server.4711.htap parser.c")
			}
			return nil
		},
	}
	q := newQuestion(cmd, 20)
	for _, m := range []query.Metric{query.Peak, query.Allocations, query.Bytes, query.Leaked} {
		q.metrics = append(q.metrics, m.String())
	}
	cmd.Flags().StringSliceVar(&q.metrics, "metric", q.metrics, "show these `METRICS`. \"heaptap help source\" lists them")
	cmd.Flags().StringVar(&q.at, "at", "", "the `TIME` for the metrics live and live-blocks; default: that of --to")
	cmd.Flags().StringArrayVar(&paths, "source-path", nil, "look for source files below `DIR`, too; may be repeated")
	cmd.Flags().StringArrayVar(&maps, "source-map", nil, "`FROM=TO`: replace the beginning of recorded paths; may be repeated")
	cmd.Flags().IntVar(&context, "context", context, "show `N` lines around those with numbers, or around LINE")
	cmd.Flags().Lookup("limit").Usage = "show `N` functions of that name, or files, at most; 0: all"
	cmd.Flags().Lookup("skip").Usage = "leave out the first `N` of them"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if context < 0 {
			return usagef("source: --context must not be negative")
		}
		finder := &source.Finder{Paths: paths}
		for _, text := range maps {
			m, err := source.ParseMap(text)
			if err != nil {
				return usagef("source: --source-map: %w", err)
			}
			finder.Maps = append(finder.Maps, m)
		}
		return q.ask(cmd, args[0], func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
			if len(args) == 1 {
				about.By = query.ByFile
				t, err := query.Flat(cmd.Context(), s, about)
				if err == nil && q.json {
					return view.TopJSON(w, s, t, about.By, o)
				} else if err == nil {
					err = view.Top(w, s, t, o)
				}
				return err
			}
			wanted, err := findSource(s, args[1])
			if err != nil {
				return err
			}
			p := s.Reader.Process()
			finder.Named = func(file string) bool { return madeOf(cmd.Context(), s, file) }
			if finder.Dir = p.Dir; p.Started > 0 {
				finder.Recorded = time.Unix(0, p.Started)
			}
			about.By = query.ByLine
			tables, err := query.Joined(cmd.Context(), s, about, wanted.lines, wanted.whole)
			if err != nil {
				return err
			}
			l := &view.SourceAnswers{Lines: tables[0], Wholes: tables[1], Finder: finder, Line: wanted.line, Context: context}
			if q.json {
				return view.SourceJSON(w, s, l, o)
			}
			return view.Source(w, s, l, o)
		})
	}
	return cmd
}

// madeOf reports whether a program or library on this machine, with the recording's build id, says that at an address on one of the
// recording's call stacks it was made of a file.
func madeOf(ctx context.Context, s *query.Source, file string) bool {
	r := s.Reader
	dir := r.Process().Dir
	is := func(name string) bool {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return filepath.Clean(name) == file
	}
	known := make(map[uint32]event.Module)
	for _, m := range r.Modules() {
		if len(m.BuildID) > 0 {
			known[m.ID] = m
		}
	}
	var pcs []event.PC
	r.PCs().All(func(id uint32, p event.PC) bool {
		if _, ok := known[p.Module]; ok && slices.ContainsFunc(r.Frames(id), func(f event.Frame) bool { return is(f.File) }) {
			pcs = append(pcs, p)
		}
		return len(pcs) < 64 // any of them will do
	})
	if len(pcs) == 0 {
		return false
	}
	found, _ := symbolize.New(symbolize.Options{}).Resolve(ctx, slices.Collect(maps.Values(known)), pcs)
	return slices.ContainsFunc(found, func(frames []event.Frame) bool {
		return slices.ContainsFunc(frames, func(f event.Frame) bool { return is(f.File) })
	})
}

// wantedSource is a file, by its clean path, or functions.
type wantedSource struct {
	file      string
	line      uint32 // 0: all
	functions map[string]bool
}

// lines joins groups by line to those of one line of the file, or of a function.
func (w *wantedSource) lines(g *query.Group) (query.Group, bool) {
	out, ok := w.whole(g)
	out.Line = g.Line
	return out, ok
}

// whole joins them to the file, or the function.
func (w *wantedSource) whole(g *query.Group) (query.Group, bool) {
	out := query.Group{By: query.ByLine, File: query.CleanFile(g.File)}
	if w.functions == nil {
		return out, out.File == w.file && out.File != ""
	}
	out.Function = g.Function
	return out, out.File != "" && w.functions[g.Function]
}

// findSource finds what the user means: a file whose path ends so, else functions of that name.
func findSource(s *query.Source, text string) (*wantedSource, error) {
	places := s.Places()
	w := &wantedSource{}
	name := text
	if i := strings.LastIndexByte(text, ':'); i > 0 {
		if n, err := strconv.ParseUint(text[i+1:], 10, 32); err == nil && n > 0 {
			name, w.line = text[:i], uint32(n)
		}
	}
	files := filesNamed(places, name)
	switch {
	case len(files) == 1:
		w.file = files[0]
		return w, nil
	case len(files) > 1:
		return nil, fmt.Errorf("%s stands for %d files: %s; write more of the path", name, len(files), some(files))
	}
	w.functions = make(map[string]bool)
	lines := false
	for _, exact := range []bool{true, false} {
		for _, p := range places {
			plain := query.PlainName(p.Function)
			if p.Function == text || !exact && (plain == text || strings.HasSuffix(plain, "::"+text)) {
				w.functions[p.Function] = true
				lines = lines || p.File != ""
			}
		}
		if w.line = 0; lines {
			return w, nil
		}
	}
	if len(w.functions) > 0 {
		return nil, fmt.Errorf("the source lines of %s are not known; was it compiled with -g?", text)
	}
	hint := ""
	if near := nearPlaces(places, name); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return nil, fmt.Errorf("no call stack goes through a source file or a function %q%s", text, hint)
}

// filesNamed are the files of which the path, or its last parts, are so; a whole path stands for itself alone.
func filesNamed(places []query.Place, name string) (list []string) {
	name = path.Clean(name)
	for _, p := range places {
		if p.File == name {
			return []string{name}
		}
		if strings.HasSuffix(p.File, "/"+strings.TrimPrefix(name, "/")) && !path.IsAbs(name) && !slices.Contains(list, p.File) {
			list = append(list, p.File)
		}
	}
	slices.Sort(list)
	return list
}

// some lists names, not too many of them.
func some(names []string) string {
	const most = 8
	if n := len(names) - most; n > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ")
}

// nearPlaces are the files and functions whose names are nearest to one that there is not.
func nearPlaces(places []query.Place, name string) []string {
	type candidate struct {
		text string
		far  int
	}
	var list []candidate
	seen := make(map[string]bool)
	word := strings.ToLower(path.Base(name))
	for _, p := range places {
		for _, full := range []string{path.Base(p.File), query.PlainName(p.Function)} {
			if full == "" || full == "." || seen[full] || len(full) > 200 {
				continue
			}
			seen[full] = true
			short := strings.ToLower(full[strings.LastIndexByte(full, ':')+1:])
			far := distance(word, short)
			if len(word) >= 3 && strings.Contains(short, word) {
				far = min(far, 1)
			}
			if far <= max(2, len(word)/3) {
				list = append(list, candidate{full, far})
			}
		}
	}
	slices.SortFunc(list, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.text, b.text)) })
	var near []string
	for _, c := range list[:min(len(list), 3)] {
		near = append(near, c.text)
	}
	return near
}
