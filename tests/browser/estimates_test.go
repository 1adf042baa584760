package browser

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
	"github.com/heaptap/heaptap/tests/programs"
)

// sightings are what estimates.mjs prints of a page.
type sightings struct {
	First, Last struct {
		How  string
		Rows []struct {
			Name         string
			Cells, Hints []string
			Unsure       int
		}
	}
	Asked []string
}

// TestEstimates: what only the events of a large recording tell is shown as an estimate, with intervals, and then
// exactly. The exact answer is asked once the estimate is there.
func TestEstimates(t *testing.T) {
	t.Parallel()
	need.File(t, "../../ui/node_modules/playwright-core/package.json")
	node, chromium, python := need.Tool(t, "node"), need.Tool(t, "chromium"), need.Tool(t, "python3")
	dir := t.TempDir()
	script := filepath.Join(dir, "loop.py")
	if err := os.WriteFile(script, []byte(programs.PythonJSON(60)), 0o644); err != nil { // 20 million events
		t.Fatal(err)
	}
	kit.Command{Dir: dir, Env: []string{"PYTHONMALLOC=malloc"}}.Run(t, kit.Binary(t), "run", "-q", "-o", "loop.htap",
		"--", python, script)
	app := startServer(t, dir, "loop.htap")
	text, err := json.Marshal(map[string]any{"chromium": chromium, "app": app.invitation(t),
		"recording": app.recordings(t)["loop.htap"]})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "estimates.mjs", string(text))
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	var saw struct {
		Problems           []string
		Table, Tree, Flame sightings
	}
	if err == nil {
		err = json.Unmarshal(out, &saw)
	}
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, problems.String())
	}
	if len(saw.Problems) > 0 {
		t.Errorf("problems: %q", saw.Problems)
	}
	number := regexp.MustCompile(`^≈ [0-9.,<]+ ± [<>]?\d+ %$`)
	for name, s := range map[string]*sightings{"table": &saw.Table, "tree": &saw.Tree, "flame": &saw.Flame} {
		order := []string{"estimate asked", "estimate answered", "exact asked", "exact answered"}
		if !slices.Equal(s.Asked[:min(4, len(s.Asked))], order) {
			t.Errorf("%s: %q", name, s.Asked)
		}
		if !regexp.MustCompile(`^estimated from \d+\.\d % of the events`).MatchString(s.First.How) {
			t.Errorf("%s: first, %q is said", name, s.First.How)
		}
		if name == "flame" {
			continue
		}
		if len(s.First.Rows) < 5 || len(s.Last.Rows) < 5 {
			t.Fatalf("%s: %d rows, then %d", name, len(s.First.Rows), len(s.Last.Rows))
		}
		first, last := s.First.Rows[0], s.Last.Rows[0]
		if !number.MatchString(first.Cells[0]) || !strings.Contains(first.Hints[0], "in 95 of 100 cases") {
			t.Errorf("%s: the estimate of %s is %q, %q", name, first.Name, first.Cells[0], first.Hints[0])
		}
		if first.Name != last.Name || strings.Contains(strings.Join(last.Cells, ""), "≈") || last.Unsure > 0 {
			t.Errorf("%s: first %+v, then %+v", name, first, last)
		}
	}
}
