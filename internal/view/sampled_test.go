package view

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording"
)

// sampledRecording is one whose allocations were sampled, and the calls counted and timed.
func sampledRecording(t *testing.T, s event.Sampling, events int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sampled.htap")
	w, err := recording.Create(path, event.Process{PID: 12, Args: []string{"prog"}, Sampling: s}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Thread(0, event.Thread{TID: 12, Name: "prog"})
	for i := range uint32(2) {
		w.PC(i+1, event.PC{Addr: uint64(0x1000 * (i + 1)), Module: 1})
		w.Node(i+1, event.Node{PC: i + 1})
	}
	w.Module(event.Module{ID: 1, Path: "/bin/prog", Start: 0x1000, End: 0x9000, Bias: 0x1000, Unload: -1})
	for i := range uint64(events) {
		at := int64(i) * 1000
		e := event.Event{Time: at, Kind: event.Alloc, Func: event.Malloc, Stack: uint32(1 + i%2), Size: 100 + 900*(i%2), Usable: 1008, Ref: event.NoRef,
			Flags: event.HasUsable | event.Sampled}
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
		if i%4 == 0 {
			e = event.Event{Time: at + 500, Kind: event.Free, Func: event.FreeFunc, Stack: e.Stack, Size: e.Size, Usable: e.Usable, Born: at, Ref: i,
				Flags: event.HasUsable | event.Sampled}
			if err := w.Event(&e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if events > 0 {
		e := event.Event{Time: 1e6, Kind: event.Unrecorded, Func: event.FreeFunc, Ref: event.NoRef}
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
	}
	counts := &event.Counts{Tick: 400_000, Rows: []event.Count{
		{TID: 12, Name: "prog", Func: event.Malloc, Calls: 1000, Failed: 1, Bytes: 55_000, Usable: 56_000, Time: 90_000, Timed: 900,
			Sizes: []event.Class{{Class: 7, Calls: 500}, {Class: 10, Calls: 500}}, Times: []event.Class{{Class: 7, Calls: 890}, {Class: 12, Calls: 10}}},
		{TID: 13, Name: "worker", Func: event.FreeFunc, Frees: true, Calls: 700, Usable: 50_000, Time: 7000, Timed: 700,
			Sizes: []event.Class{{Class: 0, Calls: 1}}, Times: []event.Class{{Class: 3, Calls: 700}}}}}
	for _, err := range []error{w.Counts(counts), w.Finish(recording.Ending{End: 2e6, Exited: true})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return path
}

var bytewise = event.Sampling{Bytes: 4096}

// TestSampledPages compares what is shown of a sampled recording, and of one with nothing but counts, with golden files.
func TestSampledPages(t *testing.T) {
	t.Parallel()
	pages := map[string]func(b *bytes.Buffer, s *query.Source) error{
		"report":  func(b *bytes.Buffer, s *query.Source) error { return Report(b, s.Profile, Options{}) },
		"summary": func(b *bytes.Buffer, s *query.Source) error { return Summary(b, s.Profile, Options{Top: 3}) },
		"top": func(b *bytes.Buffer, s *query.Source) error {
			q := &query.Query{By: query.ByFunction, Metrics: []query.Metric{query.Bytes, query.Live, query.Temporary, query.Churn}}
			a, err := query.Flat(t.Context(), s, q)
			if err != nil {
				return err
			}
			if err := Top(b, s, a, QueryOptions{}); err != nil {
				return err
			}
			return TopJSON(b, s, a, q.By, QueryOptions{})
		},
		"tree": func(b *bytes.Buffer, s *query.Source) error {
			a, err := query.TopDown(t.Context(), s, &query.Query{Metrics: []query.Metric{query.Peak, query.Allocations}}, query.Trim{})
			if err != nil {
				return err
			}
			return Tree(b, s, a, query.Trim{}, QueryOptions{})
		},
		"leaks": func(b *bytes.Buffer, s *query.Source) error {
			l, err := query.FindLeaks(t.Context(), s, &query.Query{}, query.LeakFilter{})
			if err != nil {
				return err
			}
			return Leaks(b, s, &LeakAnswers{Leaks: l.Table, Left: l.Left}, QueryOptions{})
		},
		"threads": func(b *bytes.Buffer, s *query.Source) error {
			a, err := query.Threads(t.Context(), s, &query.Query{Metrics: []query.Metric{query.Allocations, query.Bytes}})
			if err != nil {
				return err
			}
			return Threads(b, s, a, QueryOptions{})
		},
	}
	for name, page := range pages {
		s, err := query.Open(sampledRecording(t, bytewise, 200))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var b bytes.Buffer
		if err := page(&b, s); err != nil {
			t.Fatal(name, err)
		}
		golden(t, "sampled."+name, b.Bytes())
	}
	p, err := profile.Open(sampledRecording(t, event.Sampling{}, 0))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Report(&b, p, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := Summary(&b, p, Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "counted", b.Bytes())
}

// sampledReports are the reports of sampled recordings as JSON.
func sampledReports(t *testing.T) (docs []map[string]any) {
	t.Helper()
	for _, s := range []event.Sampling{bytewise, {Calls: 10}} {
		p, err := profile.Open(sampledRecording(t, s, 200))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := ReportJSON(&b, p, Options{}); err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc)
	}
	return docs
}

// TestSampledReport: the standard errors of the report and of its call stacks are those of the events, by the formula.
func TestSampledReport(t *testing.T) {
	t.Parallel()
	for _, doc := range sampledReports(t) {
		sampling := doc["sampling"].(map[string]any)
		whole := sampling["standard_errors"].(map[string]any)
		if doc["temporary"].(map[string]any)["allocations"] != nil || sampling["samples"].(float64) != 200 {
			t.Errorf("%v, %v", doc["temporary"], sampling["samples"])
		}
		for name, e := range whole {
			sum := 0.
			for _, s := range doc["stacks"].([]any) {
				part := s.(map[string]any)["standard_errors"].(map[string]any)[name].(float64)
				sum += part * part
			}
			if e := e.(float64); e*e-sum > 1e-6*sum || sum-e*e > 1e-6*sum {
				t.Errorf("%s: %v squared is not %v, the sum of its parts squared", name, e, sum)
			}
		}
	}
}
