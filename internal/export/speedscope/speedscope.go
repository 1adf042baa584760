// Package speedscope writes the JSON that www.speedscope.app reads.
//
// Each metric is a profile of its own. Frames open and close at running sums of the metric, so that frames shared by
// many call stacks are written once.
package speedscope

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/query"
)

// Format is speedscope's JSON.
var Format = export.Format{
	Name:      "speedscope",
	Tool:      "www.speedscope.app",
	Extension: ".speedscope.json",
	Keeps: "any metrics that sum up, exact up to 2^53, by call stack, each as a profile; each thread's apart with " +
		"--by thread",
	Loses:   "time, addresses, files and lines (except with --by line)",
	In:      "profiles that are named after a metric; else the first in bytes, taken for live bytes",
	Metrics: []query.Metric{query.Bytes, query.Allocations, query.Peak, query.Leaked, query.Temporary},
	By:      export.GroupingsOfTrees,
	Write:   write,
}

// frame identifies a frame, as speedscope does.
type frame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line uint32 `json:"line,omitempty"`
}

// file is a file that is being written.
type file struct {
	w      io.Writer
	in     *export.Input
	frames map[query.Group]int
	err    error
}

func write(ctx context.Context, w io.Writer, in *export.Input) error {
	t, err := in.TopDown(ctx)
	if err != nil {
		return err
	}
	f := &file{w: w, in: in, frames: make(map[query.Group]int)}
	f.printf("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"+
		"\"name\":%s,\n\"exporter\":\"heaptap\",\n",
		quote(in.Title()))
	parts := []*query.Node{t.Root}
	if in.Query.By.OfBlocks() {
		parts = t.Root.Children
	}
	f.shared(parts)
	f.printf("\"profiles\":[")
	first := true
	for _, part := range parts {
		for _, m := range t.Metrics {
			if !first {
				f.printf(",")
			}
			first = false
			name := m.String()
			if part != t.Root {
				name += ", " + in.GroupName(&part.Group)
			}
			f.profile(name, m, part)
		}
	}
	f.printf("\n]}\n")
	return f.err
}

func (f *file) printf(format string, args ...any) {
	if f.err == nil {
		_, f.err = fmt.Fprintf(f.w, format, args...)
	}
}

// shared writes the table of frames, which all profiles share.
func (f *file) shared(parts []*query.Node) {
	f.printf("\"shared\":{\"frames\":[")
	for _, part := range parts {
		export.Walk(part, func(n *query.Node, _ int) bool {
			if _, known := f.frames[n.Group]; !known {
				if len(f.frames) > 0 {
					f.printf(",")
				}
				f.printf("\n%s", quote(f.frame(&n.Group)))
				f.frames[n.Group] = len(f.frames)
			}
			return true
		}, nil)
	}
	f.printf("]},\n")
}

// frame returns the frame of a group. Speedscope colours by file, so a group without a source file has its module
// instead.
func (f *file) frame(g *query.Group) frame {
	name := *g
	name.Line = 0
	out := frame{Name: f.in.GroupName(&name), File: g.File, Line: g.Line}
	if g.File == "" {
		out.File = g.Module
	}
	return out
}

// profile writes a profile of one metric for the tree below a node.
func (f *file) profile(name string, m query.Metric, root *query.Node) {
	of := func(v *query.Values) uint64 {
		n, _ := m.Integer(v)
		return n
	}
	f.printf("\n{\"type\":\"evented\",\"name\":%s,\"unit\":%s,\"startValue\":0,\"endValue\":%d,\"events\":[",
		quote(name), quote(unit(m)), of(&root.Total))
	at, sep := uint64(0), ""
	event := func(typ string, n *query.Node) {
		f.printf("%s\n{\"type\":\"%s\",\"frame\":%d,\"at\":%d}", sep, typ, f.frames[n.Group], at)
		sep = ","
	}
	export.Walk(root, func(n *query.Node, _ int) bool {
		if of(&n.Total) == 0 {
			return false
		}
		event("O", n)
		at += of(&n.Self)
		return true
	}, func(n *query.Node) { event("C", n) })
	f.printf("]}")
}

// unit returns speedscope's name of a metric's unit.
func unit(m query.Metric) string {
	switch m.Unit() {
	case query.ByteCount:
		return "bytes"
	case query.Nanoseconds:
		return "nanoseconds"
	}
	return "none"
}

func quote(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // strings and numbers can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}
