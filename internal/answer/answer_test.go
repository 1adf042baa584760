package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/goldentest"
	"github.com/heaptap/heaptap/internal/owncode"
	"github.com/heaptap/heaptap/internal/profile/profiletest"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/query/querytest"
)

// answers are the answers to questions, by the name of their golden file.
func answers(t *testing.T, s *query.Source) map[string]any {
	t.Helper()
	a := querytest.Ask(t, s, 88)
	memory := *s.Profile
	profiletest.AddResident(&memory)
	return map[string]any{
		"top.json":       NewTop(s, a.Top, query.ByFunction, Page{}),
		"top-stack.json": NewTop(s, a.Stacks, query.ByStack, Page{}),
		"tree.json":      NewTree(s, a.Outline, query.ByFunction, "top-down"),
		"sandwich.json":  NewSandwich(s, a.Sides, query.ByLine),
		"timeline.json":  NewTimeline(s, a.Series),
		"hist.json":      NewHist(s, a.Hist, Page{}),
		"threads.json":   NewThreads(s, a.Threads, Page{}),
		"leaks.json":     NewLeaks(s, a.Leaks, Page{}),
		"memory.json":    NewMemory(&memory, memory.LargestResident()),
	}
}

// TestAnswers compares answers with their golden files. What is the same in all of them, and the many steps
// of the timeline, are left out.
func TestAnswers(t *testing.T) {
	t.Parallel()
	s := querytest.Server(t)
	s.Profile.SetCode(owncode.Rules{})
	for name, a := range answers(t, s) {
		var b bytes.Buffer
		if err := Write(&b, a); err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := json.Unmarshal(b.Bytes(), &v); err != nil || v["plan"] == "" ||
			bytes.Count(b.Bytes(), []byte("\n")) != 1 {
			t.Errorf("%s: %v", name, err)
		}
		if name == "timeline.json" {
			continue
		}
		delete(v, "recording")
		pretty, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			t.Error(err)
		}
		goldentest.Check(t, "query."+name, pretty)
	}
}

// TestMarshal: an answer is the same, written by Write, which makes rows one at a time, and by package json.
func TestMarshal(t *testing.T) {
	t.Parallel()
	s := querytest.Server(t)
	list := answers(t, s)
	list["report"] = NewReport(s.Profile, nil, 0)
	for name, a := range list {
		var written bytes.Buffer
		if err := Write(&written, a); err != nil {
			t.Fatal(err)
		}
		marshalled, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var one, other any
		if err := errors.Join(json.Unmarshal(written.Bytes(), &one), json.Unmarshal(marshalled, &other)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(one, other); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
