// Package reply answers the requests of a running program to its recorder: heaptap_dump asks what was allocated, and a
// threshold monitor asks for the call stack at which it acts.
package reply

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/control"
	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/pprof"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/view"
)

// dumpOrders are the metrics by which heaptap_dump sorts.
var dumpOrders = map[string]query.Metric{"live": query.Live, "total": query.Bytes, "peak": query.Peak,
	"calls": query.Allocations}

// Dump answers heaptap_dump. include/heaptap.h specifies the texts of requests.
func Dump(recording string, r control.Request) ([]byte, error) {
	s, err := query.Open(recording)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	s.Profile.Damage = nil // the missing end is not worth a warning
	d := &dump{Source: s, request: r, form: "text",
		q: &query.Query{Metrics: []query.Metric{query.Live, query.Bytes, query.Peak, query.Allocations}},
		o: view.QueryOptions{Page: answer.Page{Limit: 20}}}
	for _, word := range strings.Fields(r.Text) {
		if err := d.parse(word); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	err = d.write(&out)
	return out.Bytes(), err
}

// dump is a request of heaptap_dump.
type dump struct {
	*query.Source
	request control.Request
	form    string
	q       *query.Query
	o       view.QueryOptions
}

// parse reads one word of the request.
func (d *dump) parse(word string) (err error) {
	switch key, value, _ := strings.Cut(word, "="); key {
	case "text", "folded", "stacks", "details", "frames", "pprof", "summary", "histogram":
		d.form = key
	case "sort":
		m, ok := dumpOrders[value]
		if !ok {
			return fmt.Errorf("sort=%s: known are live, total, peak, calls", value)
		}
		d.q.Metrics = append([]query.Metric{m},
			slices.DeleteFunc(d.q.Metrics, func(x query.Metric) bool { return x == m })...)
	case "thread":
		d.q.Threads = []uint32{}
		for i, t := range d.Reader.Threads() {
			if value == "self" && t.TID == uint32(d.request.TID) {
				d.q.Threads = append(d.q.Threads, uint32(i))
			}
		}
	case "function":
		focus, err := question.Pattern(value)
		if err != nil {
			return err
		}
		d.q.Focus, d.q.By = []*regexp.Regexp{focus}, query.ByLine
	case "size":
		if d.q.Sizes, err = question.ParseRange(value, question.ParseSize); err != nil {
			return fmt.Errorf("size=%s: %w", value, err)
		}
	case "limit":
		n, err := humanize.ParseCount(value)
		if err != nil {
			return err
		}
		d.o.Limit = int(n)
	default:
		return fmt.Errorf("%q: known are text, folded, stacks, details, frames, pprof, summary, histogram, "+
			"sort=, thread=self, function=, size=, limit=", word)
	}
	return nil
}

// write writes the answer in the requested form.
func (d *dump) write(out *bytes.Buffer) error {
	switch d.form {
	case "folded":
		d.q.Metrics = d.q.Metrics[:1]
		return d.stacks(func(frames []profile.Frame, n []uint64) { fmt.Fprintf(out, "%s %d\n", namesOf(frames), n[0]) })
	case "stacks", "details":
		d.q.Metrics = []query.Metric{d.q.Metrics[0], query.Allocations, query.Bytes, query.Live, query.OwnPeak}
		if d.q.Metrics[0] == query.Peak {
			d.q.Metrics[0] = query.OwnPeak
		}
		return d.stacks(func(frames []profile.Frame, n []uint64) {
			fmt.Fprintf(out, "%d %d %d %d", n[1], n[2], n[3], n[4])
			if d.form == "details" {
				writeFrames(out, frames)
			} else {
				fmt.Fprintf(out, " %s\n", namesOf(frames))
			}
		})
	case "frames":
		return d.frames(out)
	case "pprof":
		in := &export.Input{Source: d.Source, Query: *d.q, Name: outfile.Name(d.Reader.Name())}
		in.Query.Metrics, in.Query.By = pprof.Format.Metrics, pprof.Format.By[0]
		return pprof.Format.Write(context.Background(), out, in)
	case "summary":
		return view.MonitorSummary(out, d.Source)
	case "histogram":
		h, err := query.Distribute(context.Background(), d.Source, &query.Query{Threads: d.q.Threads})
		if err != nil {
			return err
		}
		return view.MonitorHistogram(out, d.Source, h)
	}
	t, err := query.Flat(context.Background(), d.Source, d.q)
	if err != nil {
		return err
	}
	if d.q.Focus != nil {
		t.Rows = slices.DeleteFunc(t.Rows, func(row query.Row) bool { return !d.q.Focus[0].MatchString(row.Function) })
	}
	return view.Top(out, d.Source, t, d.o)
}

// frames writes the call stacks of the allocations with the numbers that the agent gave them, and that of the caller
// as 0.
func (d *dump) frames(out *bytes.Buffer) error {
	d.q.By = query.ByStack
	t, err := query.Stacks(context.Background(), d.Source, d.q)
	if err != nil {
		return err
	}
	wanted := make(map[uint32]bool, len(t.Rows))
	for i := range t.Rows {
		wanted[t.Rows[i].Stack] = true
	}
	fmt.Fprint(out, "0")
	writeFrames(out, d.Frames(d.request.Stack))
	for node, stack := range d.request.Nodes {
		if wanted[stack] {
			fmt.Fprint(out, node)
			writeFrames(out, d.Frames(stack))
		}
	}
	return nil
}

// stacks calls write with each call stack, leaf to root, and its metrics, sorted by the first metric.
func (d *dump) stacks(write func(frames []profile.Frame, n []uint64)) error {
	d.q.By = query.ByStack
	t, err := query.Stacks(context.Background(), d.Source, d.q)
	if err != nil {
		return err
	}
	first := func(row *query.StackRow) uint64 {
		n, _ := d.q.Metrics[0].Integer(&row.Values)
		return n
	}
	slices.SortStableFunc(t.Rows, func(a, b query.StackRow) int { return cmp.Compare(first(&b), first(&a)) })
	n := make([]uint64, len(d.q.Metrics))
	for i := range t.Rows {
		for k, m := range d.q.Metrics {
			n[k], _ = m.Integer(&t.Rows[i].Values)
		}
		write(d.Frames(t.Rows[i].Stack), n)
	}
	return nil
}

// writeFrames ends a line and writes one for each frame: its name, and where it is.
func writeFrames(out *bytes.Buffer, frames []profile.Frame) {
	for i := range frames {
		f := &frames[i]
		fmt.Fprintf(out, "\n\t%s", export.FrameName(f))
		if f.File != "" {
			fmt.Fprintf(out, "\t%s:%d", f.File, f.Line)
		}
	}
	fmt.Fprint(out, "\n\n")
}

// namesOf returns the functions of a call stack, the root first, separated by semicolons.
func namesOf(frames []profile.Frame) string {
	names := []string{export.Unknown}[:max(0, 1-len(frames))]
	for _, f := range slices.Backward(frames) {
		names = append(names, strings.ReplaceAll(export.FrameName(&f), ";", ":"))
	}
	return strings.Join(names, ";")
}
