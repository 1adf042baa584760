package browser

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
)

// TestThreads: of 2,000 threads, the table has all, renders those in view, and opens the last one; in the flame graph,
// which has them side by side, a search finds one and shows it.
func TestThreads(t *testing.T) {
	t.Parallel()
	need.File(t, "../../ui/node_modules/playwright-core/package.json")
	node, chromium := need.Tool(t, "node"), need.Tool(t, "chromium")
	dir := t.TempDir()
	program := kit.Compile(t, need.Tool(t, "gcc"), "-O1", "-pthread", "src/threads.c")
	kit.Command{Dir: dir}.Run(t, kit.Binary(t), "run", "-q", "-o", "threads.htap", "--", program, "2000")
	app := startServer(t, dir, "threads.htap")
	text, err := json.Marshal(map[string]any{"chromium": chromium, "app": app.invitation(t), "search": "worker-1234",
		"recording": app.recordings(t)["threads.htap"]})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "threads.mjs", string(text))
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	var saw struct {
		Problems, Opened []string
		Table            struct {
			Rows, Rendered int
			Last           string
		}
		Said, Widest, Found string
		Drawn               float64
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
	kit.Same(t, "rows", saw.Table.Rows, 2001)
	if saw.Table.Rendered > 100 {
		t.Errorf("%d rows are rendered", saw.Table.Rendered)
	}
	// Workers have allocated more the later they came.
	if !strings.HasPrefix(saw.Table.Last, "worker-0 ") {
		t.Errorf("the last row is %q", saw.Table.Last)
	}
	if tree := strings.Join(saw.Opened, " "); !strings.Contains(tree, "work") {
		t.Errorf("it opens to %q", tree)
	}
	if !strings.HasPrefix(saw.Widest, "threads ") {
		t.Errorf("the widest thread is %q", saw.Widest)
	}
	// It is too narrow to be drawn alone, until it is looked for.
	if !strings.HasPrefix(saw.Found, "worker-1234 ") || saw.Drawn < 8 {
		t.Errorf("found %q, %v pixels wide: %s", saw.Found, saw.Drawn, saw.Said)
	}
}
