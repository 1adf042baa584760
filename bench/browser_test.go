package main

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// written is what the script writes, with three values of everything.
func written(t *testing.T, change func(values map[string][]float64)) []byte {
	t.Helper()
	values := map[string][]float64{}
	for _, c := range browserCells {
		values[c.key] = []float64{1, 2, 3}
	}
	change(values)
	text, err := json.Marshal(map[string]any{"what": "a tree", "values": values})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestBrowserSection: what the script wrote stands beside its goal, in bold where it is worse, from either side.
func TestBrowserSection(t *testing.T) {
	t.Parallel()
	m := &uiMeasured{name: "P", values: map[string][]float64{}}
	err := m.readBrowser(written(t, func(values map[string][]float64) {
		values["drag script"] = slices.Repeat([]float64{1, 9}, 50)
		values["drag pictures"] = []float64{19}
		values["scroll frames"] = []float64{60}
		values["hidden frames"] = []float64{1}
	}))
	if err != nil {
		t.Fatal(err)
	}
	section := browserSection([]*uiMeasured{m})
	for _, want := range []string{
		browserHeading,
		"\n| question | goal | P |\n|---|--:|--:|\n",
		"script per frame | p95 8 | 5.0 / **9.0** |\n",
		"\n| the same: rough flame graphs, per s | ≥ 20 | **19.0** |\n",
		"frames, per s | ≥ 60 | 60.0 |\n",
		"\n| the same: frames, a number | 0 | **1.0** |\n",
		"\n- **P**: a tree\n",
	} {
		if !strings.Contains(section, want) {
			t.Errorf("%q is not in the section:\n%s", want, section)
		}
	}
}

// TestReadBrowser: what is missing, and what has no goal, is an error, so that script and table stay alike.
func TestReadBrowser(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(map[string][]float64){
		"search":  func(values map[string][]float64) { delete(values, "search") },
		"another": func(values map[string][]float64) { values["another"] = []float64{1} },
	} {
		m := &uiMeasured{values: map[string][]float64{}}
		if err := m.readBrowser(written(t, change)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (&uiMeasured{}).readBrowser([]byte("nothing")); err == nil {
		t.Error("what is no JSON was read")
	}
}

// TestBrowserCells: the rows have different names, and the script measures each.
func TestBrowserCells(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../" + browserScript)
	if err != nil {
		t.Fatal(err)
	}
	keys, names := map[string]bool{}, map[string]bool{}
	for _, c := range browserCells {
		keys[c.key], names[c.name] = true, true
		space := max(0, strings.LastIndexByte(c.key, ' '))
		each := "`" + c.key[:space] + " ${name}`" // of several
		if !strings.Contains(string(script), `"`+c.key+`"`) && !strings.Contains(string(script), each) {
			t.Errorf("%s does not measure %q", browserScript, c.key)
		}
	}
	if len(keys) < len(browserCells) || len(names) < len(browserCells) {
		t.Errorf("%d keys and %d names of %d rows: %v", len(keys), len(names), len(browserCells),
			slices.Sorted(maps.Keys(names)))
	}
}
