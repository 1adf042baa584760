package main

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/control"
	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/view"
)

// dumpOrders are what heaptap_dump sorts by.
var dumpOrders = map[string]query.Metric{"live": query.Live, "total": query.Bytes, "peak": query.Peak, "calls": query.Allocations}

// dumpOf prints what a program asks for by heaptap_dump, whose text heaptap.h specifies.
func dumpOf(recording string, r control.Request) ([]byte, error) {
	s, err := query.Open(recording)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	s.Profile.Damage = nil // that it has no end yet goes without saying
	q := &query.Query{Metrics: []query.Metric{query.Live, query.Bytes, query.Peak, query.Allocations}}
	o := view.QueryOptions{Limit: 20, Options: view.Options{Width: 100}}
	form := "text"
	for _, word := range strings.Fields(r.Text) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "text", "folded", "stacks", "summary", "histogram":
			form = key
		case "sort":
			m, ok := dumpOrders[value]
			if !ok {
				return nil, fmt.Errorf("sort=%s: known are live, total, peak, calls", value)
			}
			q.Metrics = append([]query.Metric{m}, slices.DeleteFunc(q.Metrics, func(x query.Metric) bool { return x == m })...)
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
		case "limit":
			n, err := parseCount(value)
			if err != nil {
				return nil, err
			}
			o.Limit = int(n)
		default:
			return nil, fmt.Errorf("%q: known are text, folded, stacks, summary, histogram, sort=, thread=self, function=, limit=", word)
		}
	}
	var out bytes.Buffer
	switch form {
	case "folded":
		q.Metrics = q.Metrics[:1]
		err = dumpStacks(&out, s, q, func(names string, n []uint64) string { return fmt.Sprintf("%s %d", names, n[0]) })
		return out.Bytes(), err
	case "stacks":
		calls, bytes, live, peak := slices.Index(q.Metrics, query.Allocations), slices.Index(q.Metrics, query.Bytes), slices.Index(q.Metrics, query.Live), slices.Index(q.Metrics, query.Peak)
		err = dumpStacks(&out, s, q, func(names string, n []uint64) string {
			return fmt.Sprintf("%d %d %d %d %s", n[calls], n[bytes], n[live], n[peak], names)
		})
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

// dumpStacks prints a line for each call stack, made of its functions from the root on, and of the metrics.
func dumpStacks(out *bytes.Buffer, s *query.Source, q *query.Query, line func(names string, n []uint64) string) error {
	q.By = query.ByStack
	t, err := query.Stacks(context.Background(), s, q)
	if err != nil {
		return err
	}
	n := make([]uint64, len(q.Metrics))
	for i := range t.Rows {
		frames := s.Frames(t.Rows[i].Stack)
		names := []string{export.Unknown}[:max(0, 1-len(frames))]
		for _, f := range slices.Backward(frames) {
			names = append(names, strings.ReplaceAll(export.FrameName(&f), ";", ":"))
		}
		for k, m := range q.Metrics {
			n[k], _ = m.Integer(&t.Rows[i].Values)
		}
		fmt.Fprintln(out, line(strings.Join(names, ";"), n))
	}
	return nil
}
