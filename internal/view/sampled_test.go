package view

import (
	"bytes"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/goldentest"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/profile/profiletest"
	"github.com/heaptap/heaptap/internal/query"
)

// TestSampledPages compares what is shown of a sampled recording, and of one with nothing but counts, with golden
// files.
func TestSampledPages(t *testing.T) {
	t.Parallel()
	pages := map[string]func(b *bytes.Buffer, s *query.Source) error{
		"report":  func(b *bytes.Buffer, s *query.Source) error { return Report(b, s.Profile, Options{}) },
		"summary": func(b *bytes.Buffer, s *query.Source) error { return Summary(b, s.Profile, Options{Top: 3}) },
		"top": func(b *bytes.Buffer, s *query.Source) error {
			q := &query.Query{By: query.ByFunction,
				Metrics: []query.Metric{query.Bytes, query.Live, query.Temporary, query.Churn}}
			a, err := query.Flat(t.Context(), s, q)
			if err != nil {
				return err
			}
			return Top(b, s, a, QueryOptions{})
		},
		"tree": func(b *bytes.Buffer, s *query.Source) error {
			a, err := query.TopDown(t.Context(), s,
				&query.Query{Metrics: []query.Metric{query.Peak, query.Allocations}}, query.Trim{})
			if err != nil {
				return err
			}
			return Tree(b, s, a, false, query.Trim{}, QueryOptions{})
		},
		"leaks": func(b *bytes.Buffer, s *query.Source) error {
			l, err := query.FindLeaks(t.Context(), s, &query.Query{}, query.LeakFilter{})
			if err != nil {
				return err
			}
			return Leaks(b, s, &query.LeakTables{Table: l}, QueryOptions{})
		},
		"threads": func(b *bytes.Buffer, s *query.Source) error {
			a, err := query.Threads(t.Context(), s,
				&query.Query{Metrics: []query.Metric{query.Allocations, query.Bytes}})
			if err != nil {
				return err
			}
			return Threads(b, s, a, nil, ThreadParts, QueryOptions{})
		},
	}
	for name, page := range pages {
		s, err := query.Open(profiletest.Sampled(t, event.Sampling{Bytes: 4096}, 200))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var b bytes.Buffer
		if err := page(&b, s); err != nil {
			t.Fatal(name, err)
		}
		goldentest.Check(t, "sampled."+name, b.Bytes())
	}
	p, err := profile.Open(profiletest.Sampled(t, event.Sampling{}, 0))
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
	goldentest.Check(t, "counted", b.Bytes())
}
