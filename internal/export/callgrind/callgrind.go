// Package callgrind writes profile data in Callgrind's format, which callgrind_annotate and KCachegrind read: for each
// line of each function, the costs of the line itself and those of the calls that it makes.
//
// The format has functions and calls, not call stacks. If a recursive function is on a call stack several times, the
// costs go to its outermost call; the inner calls are written with no cost. So the costs of all calls of a function add
// up to its total, which is what callgrind_annotate --inclusive=yes shows. For that, every function needs a caller:
// those at the roots of call stacks are called by one named [root], which has no costs of its own.
//
// How often a function was called is not recorded. The number of allocations made through the calls is written instead.
package callgrind

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/intern"
	"github.com/heaptap/heaptap/internal/export/valgrind"
	"github.com/heaptap/heaptap/internal/query"
)

// Format is Callgrind's profile data.
var Format = export.Format{
	Name:      "callgrind",
	Tool:      "KCachegrind, QCachegrind and callgrind_annotate",
	Extension: ".callgrind",
	Keeps: "by function and line, self and inclusive: allocations, bytes, deallocations, live, peak, leaked, " +
		"temporary; who calls whom; inlined functions as functions; modules",
	Loses: "whole call stacks, threads, time, and how often functions were called: allocations made through a " +
		"call replace it",
	Write: write,
}

// costs are the columns: their names in the file, and in words.
var costs = []struct {
	name, text string
	metric     query.Metric
}{
	{"AllocCnt", "Allocations", query.Allocations},
	{"AllocBytes", "Bytes allocated", query.Bytes},
	{"FreeCnt", "Deallocations", query.Deallocations},
	{"Live", "Live bytes", query.Live},
	{"Peak", "Bytes live at the peak", query.Peak},
	{"Leaked", "Leaked bytes", query.Leaked},
	{"Temporary", "Temporary allocations", query.Temporary},
}

func write(ctx context.Context, out io.Writer, in *export.Input) error {
	var metrics []query.Metric
	for _, c := range costs {
		metrics = append(metrics, c.metric)
	}
	t, err := in.Stacks(ctx, metrics...)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(out)
	w := writer{Writer: b}
	w.head(in)
	for _, f := range gather(in, t.Rows) {
		w.function(f)
	}
	w.line("\ntotals:", t.Total)
	return b.Flush()
}

// writer writes the lines of a file.
type writer struct {
	*bufio.Writer
	objects, files intern.Table[string]
	functions      intern.Table[key] // by the whole key: KCachegrind knows a number as the function that it first named
	text           []byte
}

func (w *writer) head(in *export.Input) {
	p := in.Reader.Process()
	fmt.Fprintf(w, "# callgrind format\nversion: 1\ncreator: heaptap\npid: %d\ncmd: %s\npart: 1\n", p.PID,
		clean(strings.Join(p.Args, " ")))
	for _, fact := range in.Facts() {
		fmt.Fprintf(w, "desc: %s\n", clean(fact))
	}
	w.WriteString("positions: line\n")
	names := ""
	for _, c := range costs {
		fmt.Fprintf(w, "event: %s : %s\n", c.name, c.text)
		names += " " + c.name
	}
	fmt.Fprintf(w, "events:%s\n", names)
}

func (w *writer) function(f *function) {
	w.WriteByte('\n')
	name(w, "ob=", &w.objects, f.object, f.object)
	name(w, "fl=", &w.files, f.file, f.file)
	name(w, "fn=", &w.functions, f.key, f.name)
	for _, l := range f.lines {
		w.line(strconv.FormatUint(uint64(l.number), 10), l.self)
	}
	for _, c := range f.calls {
		name(w, "cob=", &w.objects, c.callee.object, c.callee.object)
		name(w, "cfi=", &w.files, c.callee.file, c.callee.file)
		name(w, "cfn=", &w.functions, c.callee.key, c.callee.name)
		fmt.Fprintf(w, "calls=%d %d\n", max(c.count, 1), c.callee.first) // readers drop a call that was made 0 times
		w.line(strconv.FormatUint(uint64(c.line), 10), c.cost)
	}
}

// name writes the number of a named thing, and at its first use also the name.
func name[K comparable](w io.Writer, field string, known *intern.Table[K], of K, name string) {
	if id, added := known.Add(of); added {
		fmt.Fprintf(w, "%s(%d) %s\n", field, id+1, name)
	} else {
		fmt.Fprintf(w, "%s(%d)\n", field, id+1)
	}
}

// line writes all costs behind a prefix. The format allows leaving out zeros at the end, but Speedscope reads those as
// NaN.
func (w *writer) line(of string, v query.Values) {
	w.text = append(w.text[:0], of...)
	for _, c := range costs {
		n, _ := c.metric.Integer(&v)
		w.text = strconv.AppendUint(append(w.text, ' '), n, 10)
	}
	w.Write(append(w.text, '\n'))
}

// clean makes a name safe for a line of its own.
func clean(name string) string {
	if name = valgrind.Line(name); name == "" {
		return export.Unknown
	}
	return name
}
