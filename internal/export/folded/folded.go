// Package folded writes folded stacks, which flamegraph.pl and most viewers of flame graphs read: a line for each call
// stack, with its frames from main on and a number.
//
// The format cannot express a semicolon or a line break within a name; see clean. Where a name ends in a number,
// flamegraph.pl takes the line for one of two profiles; see safeEnd.
package folded

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/query"
)

// Format is the folded stacks of one metric.
var Format = export.Format{
	Name:      "folded",
	Tool:      "flamegraph.pl, speedscope and most viewers of flame graphs",
	Extension: ".folded",
	Keeps:     "one metric, exact, by call stack; as MallocProfiler's: allocations, bytes, leaked bytes, own peak",
	Loses: "all other metrics, time, files and lines (except with --by line); a semicolon in a name " +
		"becomes a colon",
	In: "one number, taken for live bytes, or for what import --metric says; MallocProfiler's four: " +
		"allocations, bytes, live bytes, own peak",
	Variants: []export.Variant{
		{Name: "one", Text: "one metric"},
		{Name: "mallocprofiler",
			Text:      "as MallocProfiler writes them: _mpTrace_;main;...;leaf $allocations$bytes$live$own-peak",
			Extension: ".mallocprofiler.folded", Fixed: true},
	},
	Metrics: []query.Metric{query.Peak},
	One:     true,
	By:      export.GroupingsOfTrees,
	Write:   write,
}

func write(ctx context.Context, w io.Writer, in *export.Input) error {
	if in.Variant == "mallocprofiler" {
		return writeColumns(ctx, w, in)
	}
	t, err := in.TopDown(ctx)
	if err != nil {
		return err
	}
	m := t.Metrics[0]
	return walk(in, t.Root, nil, clean, func(path []byte, v *query.Values) error {
		n, _ := m.Integer(v)
		if n == 0 {
			return nil
		}
		_, err := w.Write(strconv.AppendUint(append(safeEnd(path), ' '), n, 10))
		if err == nil {
			_, err = w.Write([]byte{'\n'})
		}
		return err
	})
}

// columns are MallocProfiler's numbers of a call stack.
var columns = []query.Metric{query.Allocations, query.Bytes, query.Live, query.OwnPeak}

// writeColumns writes all columns joined by $. A $ in a name becomes _, so that readers do not take it for a separator.
func writeColumns(ctx context.Context, w io.Writer, in *export.Input) error {
	t, err := in.Trimmed(ctx, query.Trim{Selves: true}, columns...)
	if err != nil {
		return err
	}
	name := func(s string) string { return strings.ReplaceAll(clean(s), "$", "_") }
	var line []byte
	return walk(in, t.Root, []byte("_mpTrace_"), name, func(path []byte, v *query.Values) error {
		if v.Allocations == 0 && v.LiveBytes == 0 {
			return nil
		}
		line = append(append(line[:0], safeEnd(path)...), ' ')
		for _, m := range columns {
			n, _ := m.Integer(v)
			line = strconv.AppendUint(append(line, '$'), n, 10)
		}
		_, err := w.Write(append(line, '\n'))
		return err
	})
}

// walk yields the path and the values of each node, children sorted by name. Of call stacks that are too deep to be
// written whole, the path has the frames nearest to the leaf.
func walk(in *export.Input, n *query.Node, path []byte, name func(string) string,
	yield func(path []byte, v *query.Values) error) error {
	type named struct {
		name string
		node *query.Node
	}
	limit, _ := in.Profile.Cut()
	begin, cut := len(path), append(slices.Clone(path), name(export.CutName)...)
	type level struct {
		length   int // of the parent's path
		children []named
	}
	open := func(n *query.Node, length int) level {
		l := level{length: length}
		for _, c := range n.Children {
			l.children = append(l.children, named{name(in.GroupName(&c.Group)), c})
		}
		slices.SortStableFunc(l.children, func(a, b named) int { return strings.Compare(a.name, b.name) })
		return l
	}
	for levels := []level{open(n, len(path))}; len(levels) > 0; {
		depth := len(levels)
		l := &levels[depth-1]
		if len(l.children) == 0 {
			levels = levels[:len(levels)-1]
			continue
		}
		c := l.children[0]
		l.children = l.children[1:]
		if path = path[:l.length]; l.length > 0 {
			path = append(path, ';')
		}
		path = append(path, c.name...)
		shown := path
		if limit > 0 && depth > limit {
			cut = append(cut[:begin+len(export.CutName)], path[levels[depth-limit].length:]...)
			shown = cut
			in.ReportCut()
		}
		if err := yield(shown, &c.node.Self); err != nil {
			return err
		}
		levels = append(levels, open(c.node, len(path)))
	}
	return nil
}

// clean makes a name that the format can express.
func clean(name string) string {
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ':'
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD")))
	if name == "" {
		return export.Unknown
	}
	return name
}

// safeEnd prevents the end of a path from reading as a second number: the blank before a number at its end becomes _.
func safeEnd(path []byte) []byte {
	end := strings.TrimRight(string(path), "0123456789.")
	if len(end) < len(path) && strings.HasSuffix(end, " ") {
		path = slices.Clone(path)
		path[len(end)-1] = '_'
	}
	return path
}
