package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/goldentest"
	"github.com/heaptap/heaptap/internal/insight"
	"github.com/heaptap/heaptap/internal/owncode"
	"github.com/heaptap/heaptap/internal/profile"
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
		"rise.json":      NewRise(s, a.Rise),
		"insights.json":  NewInsights(s, []insight.Finding{standsOut(s.Profile)}),
		"hist.json":      NewHist(s, a.Hist, query.HeatKinds, Page{}),
		"threads.json":   NewThreads(s, a.Threads, nil, Page{}),
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

// TestMemoryAddsUp: at any moment, the parts of a resident set add up to it, and the mappings and the files to their
// parts.
func TestMemoryAddsUp(t *testing.T) {
	t.Parallel()
	p := profiletest.ServerProfile(t)
	profiletest.AddResident(p)
	rng := rand.New(rand.NewPCG(5, 6))
	for at := range int64(20) {
		var parts []event.ResidentPart
		sum := uint64(0)
		for range 1 + rng.IntN(40) {
			kind := event.ResidentKind(rng.IntN(int(event.ResidentKinds)))
			x := event.ResidentPart{Time: at, Kind: kind, Bytes: rng.Uint64N(1 << 30), Size: 1 << 30}
			if kind == event.ResidentMapping && rng.IntN(4) > 0 {
				x.Stack = p.Stacks[rng.IntN(len(p.Stacks))].ID
			}
			parts, sum = append(parts, x), sum+x.Bytes
		}
		p.ResidentSets = append(p.ResidentSets, profile.ResidentSet{Time: 100 + at, Bytes: sum, Parts: parts})
	}
	for i := range p.ResidentSets {
		m := NewMemory(p, p.ResidentAt(p.ResidentSets[i].Time))
		byKind := make(map[string]uint64)
		sum := uint64(0)
		for _, part := range m.Parts {
			byKind[part.Kind] += part.Bytes
			sum += part.Bytes
		}
		var mapped, files uint64
		for _, x := range m.Mappings {
			mapped += x.Bytes
		}
		for _, x := range m.Files {
			files += x.Bytes
		}
		if *m.TimeNS != p.ResidentSets[i].Time || sum != m.Bytes || len(byKind) != len(m.Parts) {
			t.Errorf("%d resident, the parts are %d: %v", m.Bytes, sum, m.Parts)
		}
		if mapped != byKind[event.ResidentMapping.String()] || files != byKind[event.ResidentFile.String()] {
			t.Errorf("mappings %d, files %d of %v", mapped, files, byKind)
		}
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

// TestKindOfFiles: a file is the user's if a function in it is.
func TestKindOfFiles(t *testing.T) {
	t.Parallel()
	s := querytest.Server(t)
	s.Profile.SetCode(owncode.Rules{})
	own := make(map[string]bool)
	for i := range s.Profile.Stacks {
		s.Profile.PCs(s.Profile.Stacks[i].ID, func(pc uint32) bool {
			for _, f := range s.Profile.PCFrames(pc) {
				kind, _ := s.Profile.Kind(f.Function, f.Module)
				own[f.File] = own[f.File] || kind == owncode.Own
			}
			return true
		})
	}
	kinds := make(map[bool]int)
	for file, is := range own {
		if got := newGroup(s, &query.Group{By: query.ByFile, File: file}, nil).Kind; (got == "own") != is {
			t.Errorf("%q is %q, the user's: %t", file, got, is)
		}
		kinds[is]++
	}
	if kinds[true] == 0 || kinds[false] == 0 {
		t.Errorf("files: %v", kinds)
	}
}
