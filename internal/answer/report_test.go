package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/goldentest"
	"github.com/heaptap/heaptap/internal/insight"
	"github.com/heaptap/heaptap/internal/merge"
	"github.com/heaptap/heaptap/internal/owncode"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/profile/profiletest"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording"
)

// TestReport compares reports with golden files: with all call stacks, one, or none.
func TestReport(t *testing.T) {
	t.Parallel()
	for name, top := range map[string]int{"report.json": 0, "report.top1.json": 1, "report.top0.json": -1} {
		p := profiletest.ServerProfile(t)
		p.SetCode(owncode.Rules{})
		var b bytes.Buffer
		var found []insight.Finding
		if top == 1 {
			found = append(found, standsOut(p))
		}
		if err := Write(&b, NewReport(p, nil, top, found...)); err != nil {
			t.Fatal(err)
		}
		goldentest.Check(t, name, b.Bytes())
	}
}

// TestDocumented: docs/report-json.md names every field, and no field that does not exist.
func TestDocumented(t *testing.T) {
	t.Parallel()
	p := profiletest.ServerProfile(t)
	p.SetCode(owncode.Rules{})
	profiletest.AddUnmatched(p)
	profiletest.AddMismatches(p)
	profiletest.AddResident(p)
	p.Pools = profiletest.SomePools
	p.Stacks[0].Truncated = true
	have := make(map[string]bool)
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if path == ".functions" {
				have[path] = true
				return
			}
			for k, x := range v {
				if strings.HasSuffix(path, ".spread") {
					k = "METRIC"
				}
				walk(path+"."+k, x)
			}
		case []any:
			if len(v) == 0 {
				have[path+"[]"] = true
			}
			for _, x := range v {
				walk(path+"[]", x)
			}
		default:
			have[path] = true
		}
	}
	selected := &query.Selection{Asked: []string{"--to end"}, Answer: &query.Answer{}}
	for _, of := range []*query.Selection{nil, selected} {
		var b bytes.Buffer
		var found []insight.Finding
		if of == nil {
			found = []insight.Finding{standsOut(p)}
		}
		if err := Write(&b, NewReport(p, of, 0, found...)); err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		if (doc["selection"] != nil) != (of != nil) || (doc["maps"] == nil) != (of != nil) {
			t.Errorf("selection %v: %v, maps %v", of, doc["selection"], doc["maps"])
		}
		walk("", doc)
	}
	walk("", mergedSample(t))
	for _, doc := range sampledReports(t) {
		walk(".sampling", doc["sampling"])
		walk(".counts", doc["counts"])
		for _, s := range doc["stacks"].([]any) {
			walk(".stacks[].standard_errors", s.(map[string]any)["standard_errors"])
		}
	}
	text, err := os.ReadFile("../../docs/report-json.md")
	if err != nil {
		t.Fatal(err)
	}
	told := make(map[string]bool)
	for _, l := range strings.Split(string(text), "\n") {
		if f, ok := strings.CutPrefix(l, "| `"); ok {
			f, _, _ = strings.Cut(f, "`")
			told[f] = true
		}
	}
	for f := range have {
		if !told[f] {
			t.Errorf("docs/report-json.md does not describe %s", f)
		}
	}
	for f := range told {
		if !have[f] {
			t.Errorf("docs/report-json.md describes %s, which the report does not have", f)
		}
	}
	schema := schemaFields(t)
	for f := range schema {
		if !told[f] {
			t.Errorf("the schema has %s, which docs/report-json.md does not describe", f)
		}
	}
	for f := range told {
		within := func(s string) bool { return s == f || strings.HasPrefix(s, f+".") || strings.HasPrefix(s, f+"[]") }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(schema)), within) {
			t.Errorf("docs/report.schema.json does not have %s", f)
		}
	}
}

// standsOut is a finding about one of a profile's call stacks.
func standsOut(p *profile.Profile) insight.Finding {
	return insight.Finding{Rule: insight.Growth, Place: insight.Place{Function: "grow", File: "/src/a.c",
		Module: "/bin/a", Line: 7, Name: "grow"}, Stack: p.Stacks[0].ID, Stacks: 2, Saves: 5000, Share: .25,
		Unit: query.ByteCount, Measured: true, Confidence: .9,
		Says:  []insight.Part{{Text: " keeps growing: "}, {Value: 5000, Unit: insight.Bytes}, {Text: "."}},
		Basis: []insight.Part{{Text: "measured after "}, {Value: 1.5e9, Unit: insight.Moment}},
		Show:  insight.Question{Page: "flame", Metric: "live", From: 1e9, To: 2500000000, Focus: "^grow$"}}
}

// schemaFields are the fields that docs/report.schema.json has, as docs/report-json.md writes them.
func schemaFields(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../docs/report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type node struct {
		Ref                  string           `json:"$ref"`
		AllOf                []*node          `json:"allOf"`
		Properties           map[string]*node `json:"properties"`
		AdditionalProperties *node            `json:"additionalProperties"`
		Items                *node            `json:"items"`
		Defs                 map[string]*node `json:"$defs"`
	}
	var root node
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	have := make(map[string]bool)
	var walk func(path string, n *node)
	walk = func(path string, n *node) {
		if n.Ref != "" {
			walk(path, root.Defs[strings.TrimPrefix(n.Ref, "#/$defs/")])
			return
		}
		for _, of := range n.AllOf {
			walk(path, of)
		}
		for name, of := range n.Properties {
			walk(path+"."+name, of)
		}
		switch {
		case n.Items != nil:
			walk(path+"[]", n.Items)
		case n.AdditionalProperties != nil && path != ".functions":
			walk(path+".METRIC", n.AdditionalProperties)
		case len(n.Properties) == 0:
			have[path] = true
		}
	}
	walk("", &root)
	return have
}

// mergedSample is the report of two recordings that were merged.
func mergedSample(t *testing.T) (doc map[string]any) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sample.htap")
	profiletest.Server(t, path)
	m := merge.New(merge.ByStart)
	for range 2 {
		r, err := recording.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(m.Add(t.Context(), "sample.htap", r), r.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Write(path + ".out"); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Open(path + ".out")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, NewReport(p, nil, 0)); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	delete(doc, "unmatched") // which is empty, as the next one
	delete(doc, "mismatches")
	return doc
}

// TestWarnings: what is wrong comes first, and only if something is.

// sampledReports are the reports of sampled recordings as JSON.
func sampledReports(t *testing.T) (docs []map[string]any) {
	t.Helper()
	for _, s := range []event.Sampling{{Bytes: 4096}, {Calls: 10}} {
		p, err := profile.Open(profiletest.Sampled(t, s, 200))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := Write(&b, NewReport(p, nil, 0)); err != nil {
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

// TestSampledTop compares a table of a sampled recording with its golden file.
func TestSampledTop(t *testing.T) {
	t.Parallel()
	s, err := query.Open(profiletest.Sampled(t, event.Sampling{Bytes: 4096}, 200))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	q := &query.Query{By: query.ByFunction, Metrics: []query.Metric{query.Bytes, query.Live, query.Temporary,
		query.Churn}}
	a, err := query.Flat(t.Context(), s, q)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, NewTop(s, a, q.By, Page{})); err != nil {
		t.Fatal(err)
	}
	goldentest.Check(t, "sampled.top.json", b.Bytes())
}
