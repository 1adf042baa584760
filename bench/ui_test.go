package main

import (
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

// TestUISection: what is worse than its goal is bold, at the quantile for which the goal holds.
func TestUISection(t *testing.T) {
	t.Parallel()
	m := &uiMeasured{name: "x.htap", listens: .2, memory: 3e8}
	for range cells {
		walls := make([]float64, 100)
		for i := range walls {
			walls[i] = .001
			if i >= 90 {
				walls[i] = .5
			}
		}
		m.walls, m.sizes = append(m.walls, walls), append(m.sizes, 12e3)
	}
	section := uiSection([]*uiMeasured{m})
	for _, want := range []string{
		"| call tree of a range, rough, 2,000 nodes | 8 (median) | 1.0 | 500.0 | 12 |",
		"| call tree of a range, exact | 30 (95 %) | 1.0 | **500.0** | 12 |",
		"| from the start to an open socket | 150 | **200.0** | | |",
		"x.htap 300 MB.",
	} {
		if !strings.Contains(section, want) {
			t.Errorf("there is no %q in\n%s", want, section)
		}
	}
}

// TestUICells: questions are different each time, and no range ends before it begins.
func TestUICells(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range cells {
		seen := map[string]bool{}
		for range uiRounds {
			seen[c.query(rng)] = true
		}
		if len(seen) < uiRounds*3/4 {
			t.Errorf("%s: only %d of %d questions are different", c.name, len(seen), uiRounds)
		}
	}
	values, err := url.ParseQuery(strings.TrimPrefix(between(rng), "&"))
	if err != nil || !strings.HasSuffix(values.Get("from"), "%") || !strings.HasSuffix(values.Get("to"), "%") {
		t.Errorf("a range is %v (%v)", values, err)
	}
}
