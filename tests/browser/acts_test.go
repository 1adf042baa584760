package browser

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
)

// TestActs: what is clicked becomes the filter, the right side begins at its top, hints cover nothing that they
// describe, pictures can be saved, and no page is wider than a narrow window.
func TestActs(t *testing.T) {
	t.Parallel()
	need.File(t, "../../ui/node_modules/playwright-core/package.json")
	node, chromium := need.Tool(t, "node"), need.Tool(t, "chromium")
	dir := t.TempDir()
	program := kit.Compile(t, need.Tool(t, "gcc"), "-O1", "-g", "-fno-optimize-sibling-calls", "-I../../include",
		"src/acts.c", "-ldl")
	kit.Command{Dir: dir}.Run(t, kit.Binary(t), "run", "-q", "-o", "acts.htap", "--", program)
	app := startServer(t, dir, "acts.htap")
	text, err := json.Marshal(map[string]any{"chromium": chromium, "app": app.invitation(t),
		"recording": app.recordings(t)["acts.htap"]})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "acts.mjs", string(text))
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	type layer struct {
		Name, Focus string
		Filters     []string
	}
	var saw struct {
		ByName, ByPicture layer
		Region            struct {
			Name, Region string
			Filters      []string
		}
		Scrolled struct{ Before, After float64 }
		Hints    []struct {
			Query      string
			Row, Apart float64
			Aside      bool
		}
		Pictures map[string]int
		Wide     []string
		Problems []string
	}
	if err == nil {
		err = json.Unmarshal(out, &saw)
	}
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, problems.String())
	}
	for _, problem := range append(saw.Problems, saw.Wide...) {
		t.Error(problem)
	}
	for _, l := range []layer{saw.ByName, saw.ByPicture} {
		if !strings.Contains(l.Focus, "keep_large") || len(l.Filters) != 1 ||
			!strings.Contains(l.Filters[0], "keep_large") {
			t.Errorf("a layer: %+v, want keep_large, which has most", l)
		}
	}
	if !strings.HasPrefix(saw.ByName.Name, "keep_large") {
		t.Errorf("the largest layer is %q", saw.ByName.Name)
	}
	if r := saw.Region; !strings.HasPrefix(r.Name, "round") || r.Region != r.Name || len(r.Filters) == 0 ||
		!slices.ContainsFunc(r.Filters, func(f string) bool { return strings.Contains(f, r.Name) }) {
		t.Errorf("a region: %+v", r)
	}
	if s := saw.Scrolled; s.Before == 0 || s.After != 0 {
		t.Errorf("the right side was scrolled by %v pixels, and by %v for another function", s.Before, s.After)
	}
	if len(saw.Hints) < 6 {
		t.Errorf("hints: %+v", saw.Hints)
	}
	for _, h := range saw.Hints {
		if h.Apart <= 0 || !h.Aside {
			t.Errorf("a hint covers what it describes: %+v", h)
		}
	}
	names := []string{"heat-map-time.png", "heat-map-lifetime.png", "heat-map-reallocs.png", "generations.png"}
	for _, name := range names {
		if saw.Pictures[name] < 1000 {
			t.Errorf("pictures: %v, want %v", saw.Pictures, names)
		}
	}
}
