// Package reply answers a program that asks its recorder for something while it runs: heaptap_dump asks what was
// allocated, and a threshold's monitor for the call stack at which it acts.
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

// dumpOrders are what heaptap_dump sorts by.
var dumpOrders = map[string]query.Metric{"live": query.Live, "total": query.Bytes, "peak": query.Peak,
	"calls": query.Allocations}

// Dump answers heaptap_dump. include/heaptap.h specifies the texts of requests.
func Dump(recording string, r control.Request) ([]byte, error) {
	s, err := query.Open(recording)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	s.Profile.Damage = nil // that it has no end yet goes without saying
	q := &query.Query{Metrics: []query.Metric{query.Live, query.Bytes, query.Peak, query.Allocations}}
	o := view.QueryOptions{Page: answer.Page{Limit: 20}, Options: view.Options{Width: 100}}
	form := "text"
	for _, word := range strings.Fields(r.Text) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "text", "folded", "stacks", "details", "frames", "pprof", "summary", "histogram":
			form = key
		case "sort":
			m, ok := dumpOrders[value]
			if !ok {
				return nil, fmt.Errorf("sort=%s: known are live, total, peak, calls", value)
			}
			q.Metrics = append([]query.Metric{m},
				slices.DeleteFunc(q.Metrics, func(x query.Metric) bool { return x == m })...)
		case "thread":
			q.Threads = []uint32{}
			for i, t := range s.Reader.Threads() {
				if value == "self" && t.TID == uint32(r.TID) {
					q.Threads = append(q.Threads, uint32(i))
				}
			}
		case "function":
			if q.Focus, err = regexp.Compile(value); err != nil {
				return nil, err
			}
			q.By = query.ByLine
		case "size":
			if q.Sizes, err = question.ParseRange(value, question.ParseSize); err != nil {
				return nil, fmt.Errorf("size=%s: %w", value, err)
			}
		case "limit":
			n, err := humanize.ParseCount(value)
			if err != nil {
				return nil, err
			}
			o.Limit = int(n)
		default:
			return nil, fmt.Errorf("%q: known are text, folded, stacks, details, frames, pprof, summary, histogram, sort=, thread=self, function=, size=, limit=", word)
		}
	}
	var out bytes.Buffer
	switch form {
	case "folded":
		q.Metrics = q.Metrics[:1]
		err = dumpStacks(s, q, func(frames []profile.Frame,
			n []uint64) {
			fmt.Fprintf(&out, "%s %d\n", namesOf(frames), n[0])
		})
		return out.Bytes(), err
	case "stacks", "details":
		q.Metrics[slices.Index(q.Metrics, query.Peak)] = query.OwnPeak
		calls, bytes, live, peak := slices.Index(q.Metrics, query.Allocations), slices.Index(q.Metrics,
			query.Bytes), slices.Index(q.Metrics, query.Live), slices.Index(q.Metrics, query.OwnPeak)
		err = dumpStacks(s, q, func(frames []profile.Frame, n []uint64) {
			fmt.Fprintf(&out, "%d %d %d %d", n[calls], n[bytes], n[live], n[peak])
			if form == "stacks" {
				fmt.Fprintf(&out, " %s\n", namesOf(frames))
				return
			}
			writeFrames(&out, frames)
		})
		return out.Bytes(), err
	case "frames":
		err = dumpFrames(&out, s, q, r)
		return out.Bytes(), err
	case "pprof":
		in := &export.Input{Source: s, Query: *q, Name: outfile.Name(recording)}
		in.Query.Metrics, in.Query.By = pprof.Format.Metrics, pprof.Format.By[0]
		err = pprof.Format.Write(context.Background(), &out, in)
		return out.Bytes(), err
	case "summary":
		err = view.MonitorSummary(&out, s)
		return out.Bytes(), err
	case "histogram":
		h, err := query.Distribute(context.Background(), s, &query.Query{Threads: q.Threads})
		if err == nil {
			err = view.MonitorHistogram(&out, s, h)
		}
		return out.Bytes(), err
	}
	t, err := query.Flat(context.Background(), s, q)
	if err != nil {
		return nil, err
	}
	if q.Focus != nil {
		t.Rows = slices.DeleteFunc(t.Rows, func(row query.Row) bool { return !q.Focus.MatchString(row.Function) })
	}
	err = view.Top(&out, s, t, o)
	return out.Bytes(), err
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

// dumpFrames writes the call stacks of the allocations by the numbers that the agent has for them, and as 0 that of
// who asks.
func dumpFrames(out *bytes.Buffer, s *query.Source, q *query.Query, r control.Request) error {
	q.By = query.ByStack
	t, err := query.Stacks(context.Background(), s, q)
	if err != nil {
		return err
	}
	wanted := make(map[uint32]bool, len(t.Rows))
	for i := range t.Rows {
		wanted[t.Rows[i].Stack] = true
	}
	fmt.Fprint(out, "0")
	writeFrames(out, s.Frames(r.Stack))
	for node, stack := range r.Nodes {
		if wanted[stack] {
			fmt.Fprint(out, node)
			writeFrames(out, s.Frames(stack))
		}
	}
	return nil
}

// dumpStacks tells of each call stack, leaf to root, and of the query's metrics, those with most of the first one
// first.
func dumpStacks(s *query.Source, q *query.Query, tell func(frames []profile.Frame, n []uint64)) error {
	q.By = query.ByStack
	t, err := query.Stacks(context.Background(), s, q)
	if err != nil {
		return err
	}
	first := func(row *query.StackRow) uint64 {
		n, _ := q.Metrics[0].Integer(&row.Values)
		return n
	}
	slices.SortStableFunc(t.Rows, func(a, b query.StackRow) int { return cmp.Compare(first(&b), first(&a)) })
	n := make([]uint64, len(q.Metrics))
	for i := range t.Rows {
		for k, m := range q.Metrics {
			n[k], _ = m.Integer(&t.Rows[i].Values)
		}
		tell(s.Frames(t.Rows[i].Stack), n)
	}
	return nil
}

// namesOf are the functions of a call stack from the root on, with semicolons between.
func namesOf(frames []profile.Frame) string {
	names := []string{export.Unknown}[:max(0, 1-len(frames))]
	for _, f := range slices.Backward(frames) {
		names = append(names, strings.ReplaceAll(export.FrameName(&f), ";", ":"))
	}
	return strings.Join(names, ";")
}
