package stories

import (
	"os"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
)

// TestThreadStories: of a server, which thread's blocks another thread frees, and where the oldest block was freed.
func TestThreadStories(t *testing.T) {
	need.File(t, "../../ui/node_modules/playwright-core/package.json")
	need.Tool(t, "node")
	need.Tool(t, "chromium")
	relay := recordWith(t, []string{"--free-stacks"}, "relay")
	for _, by := range []string{"mouse", "keyboard"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			all := tell(t, by, play{Story: "freed", File: relay.path},
				play{Story: "oldest", File: relay.path})
			if t.Failed() {
				return
			}
			judgeFreed(t, relay, all[0])
			judgeOldest(t, relay, all[1])
		})
	}
}

func judgeFreed(t *testing.T, r recorded, f found) {
	want := r.right["freed"]
	if from, _, _ := strings.Cut(f.Thread, " "); from != want[0] {
		t.Errorf("%s allocated it, want %s", f.Thread, want[0])
	}
	if to, _, _ := strings.Cut(f.Freer, " "); to != want[1] {
		t.Errorf("%s freed it, want %s", f.Freer, want[1])
	}
	if !isFunction(f.Function, want[2]) {
		t.Errorf("%s allocated it, want %s", f.Function, want[2])
	}
	// What the cell says is the command line's, and so is what its flame graph has in all.
	a := kit.JSON[struct{ Total map[string]int64 }](t, "top", "--json", "--thread", want[0], "--freed-by", want[1],
		"--metric", "freed", r.path)[0]
	if a.Total["freed"] != f.Bytes {
		t.Errorf("the cell says %d bytes, and the command %d", f.Bytes, a.Total["freed"])
	}
	few(t, f, three)
}

func judgeOldest(t *testing.T, r recorded, f found) {
	want := r.right["oldest"]
	if !strings.Contains(f.Text, want[0]+"(") {
		t.Errorf("the oldest block is of %q, want %s", f.Text, want[0])
	}
	if !isFunction(f.Function, want[1]) {
		t.Errorf("it was freed in %s, want %s", f.Function, want[1])
	}
	text, err := os.ReadFile(r.file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(f.Line, "free(table)") || !strings.Contains(string(text), "free(table)") {
		t.Errorf("the source page shows %q", f.Line)
	}
	few(t, f, 1+three) // the page, the order, the block, and the line
}
