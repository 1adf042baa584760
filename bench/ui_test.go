package main

import (
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

// TestUISection: what is worse than its goal is bold, at the quantile and for the recording for which the goal holds.
func TestUISection(t *testing.T) {
	t.Parallel()
	// 1 to 100 of its unit: median 50.5, 95th percentile 95.05
	hundred := func(unit float64) (v []float64) {
		for i := range 100 {
			v = append(v, float64(i+1)*unit)
		}
		return v
	}
	measured := func(name string) *uiMeasured {
		m := &uiMeasured{name: name, what: "what " + name + " is", values: map[string][]float64{}}
		for _, r := range recordingRows() {
			m.values[r.name] = hundred(1)
		}
		m.values[cancelRow.name] = nil
		m.values[memoryRow.name] = []float64{301}
		m.values[treeMemory.name] = []float64{149}
		return m
	}
	big, p := measured("1e9"), measured("P")
	p.values["leaked of a range"] = hundred(.04)
	run := &uiMeasured{name: "many", values: map[string][]float64{processesRow.name: {101}}}
	section := uiSection([]*uiMeasured{big, p}, []*uiMeasured{run})
	for _, want := range []string{
		"\n| question | goal | 1e9 | P |\n|---|--:|--:|--:|\n",
		"\n| timeline, 400 steps, of a range, exact | p95 60 | 50.5 / **95.0** | 50.5 / **95.0** |\n",
		"\n| table of a range, rough, 200 rows | 8 | **50.5** / 95.0 | **50.5** / 95.0 |\n",
		"\n| call tree of a range, exact, six metrics | P: 12; 1e9: p95 30 | 50.5 / **95.0** | **50.5** / 95.0 |\n",
		"\n| leaked of a range, s per 10^8 events | 4 | **50.5** / 95.0 | 2.0 / 3.8 |\n",
		"\n| " + cancelRow.name + " | p95 50 | - | - |\n",
		"\n| the server's largest resident set, MB | 300 | **301** | **301** |\n",
		"\n| question | goal | many |\n|---|--:|--:|\n| " + processesRow.name + " | 100 | **101** |\n",
		"\n- **P**: what P is\n",
		"- / -",
	} {
		if found := strings.Contains(section, want); found == (want == "- / -") {
			t.Errorf("%q in the section: %v\n%s", want, found, section)
		}
	}
}

// TestUIUnits: seconds become ms unless the row has a unit of its own.
func TestUIUnits(t *testing.T) {
	t.Parallel()
	m := &uiMeasured{values: map[string][]float64{}}
	m.add(listensRow, .25)
	m.add(memoryRow, 250)
	if m.values[listensRow.name][0] != 250 || m.values[memoryRow.name][0] != 250 {
		t.Errorf("values are %v, not 250 ms and 250 MB", m.values)
	}
}

// TestUICells: questions are different each time, names of rows too, and no range ends before it begins.
func TestUICells(t *testing.T) {
	t.Parallel()
	a := &asker{rng: rand.New(rand.NewPCG(1, 2))}
	for i := range 1000 {
		a.functions = append(a.functions, strings.Repeat("f", i+1))
	}
	names := map[string]bool{}
	for _, c := range append(cells[:len(cells):len(cells)], eventCells...) {
		if names[c.name] {
			t.Errorf("two rows are %q", c.name)
		}
		names[c.name] = true
		seen := map[string]bool{}
		for range uiRounds {
			q := c.query(a)
			seen[q] = true
			_, parameters, _ := strings.Cut(q, "?")
			values, err := url.ParseQuery(parameters)
			if from, to := values.Get("from"), values.Get("to"); err != nil || !before(from, to) {
				t.Errorf("%s: the range is %q to %q (%v)", c.name, from, to, err)
			}
		}
		if len(seen) < uiRounds*3/4 {
			t.Errorf("%s: only %d of %d questions are different", c.name, len(seen), uiRounds)
		}
	}
}

// before reports whether one share of the run is not after another.
func before(from, to string) bool {
	pad := func(s string) string { return strings.Repeat("0", max(0, 9-len(s))) + s }
	return from == "" && to == "" || strings.HasSuffix(from, "%") && strings.HasSuffix(to, "%") && pad(from) <= pad(to)
}

// TestEventsOf: an answer says how many events its range has.
func TestEventsOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		events float64
	}{
		{`{"answer":{"range":{"from_event":10,"to_event":40}},"texts":[]}`, 30},
		{`{"answer":{"range":{"from_event":40,"to_event":40}},"texts":[]}`, 0},
		{`{"answer":{}}`, 0},
		{`nothing`, 0},
	} {
		if n, err := eventsOf([]byte(c.text)); n != c.events || (err != nil) != (c.events == 0) {
			t.Errorf("%s has %g events (%v), not %g", c.text, n, err, c.events)
		}
	}
}
