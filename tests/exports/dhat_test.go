package exports

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/tests/need"
)

const viewer = "/usr/libexec/valgrind/dh_view.js" // Debian's

// TestDHAT has DHAT's viewer build its tree, in node: the root's sums are the report's.
func TestDHAT(t *testing.T) {
	script, err := os.ReadFile(viewer)
	if err != nil {
		t.Fatalf("%v; `make test` installs it", err)
	}
	t.Logf("node %s", tool(t, "node", "--version"))
	each(t, func(t *testing.T, name, path string) {
		file := exported(t, "dhat", path)
		// The viewer's own code, without a page: the menu is all that it needs to build the tree.
		run := filepath.Join(t.TempDir(), "run.js")
		prelude, ask := "var document = {};\n", fmt.Sprintf(`
gSelect = {childNodes: gSelectData.map(() => ({})), selectedIndex: 0};
gData = JSON.parse(require("fs").readFileSync(%q, "utf8"));
buildTree();
let most = 0, mostBlocks = 0;
for (const pp of gData.pps) {
  if (pp.mb < pp.gb || pp.mb < pp.eb || pp.mb > pp.tb || pp.tbk < pp.mbk)
    throw new Error("maxima: " + JSON.stringify(pp).slice(0, 300));
  if (pp.fs.some((f) => !(f > 0 && f < gData.ftbl.length))) throw new Error("frames");
  most += pp.mb;
  mostBlocks += pp.mbk;
}
console.log(JSON.stringify({bytes: gRoot._totalBytes, allocations: gRoot._totalBlocks, peak: gRoot._atTGmaxBytes,
  "peak-blocks": gRoot._atTGmaxBlocks, live: gRoot._atTEndBytes, "live-blocks": gRoot._atTEndBlocks,
  own: most, ownBlocks: mostBlocks, lifetime: gRoot._totalLifetimes, peakTime: gData.tg, end: gData.te}));
`, file)
		if err := os.WriteFile(run, append(append([]byte(prelude), script...), ask...), 0o600); err != nil {
			t.Fatal(err)
		}
		var got map[string]uint64
		decode(t, tool(t, "node", run), &got)
		want := totals(t, path)
		for _, m := range []string{"bytes", "allocations", "peak", "peak-blocks", "live", "live-blocks"} {
			if got[m] != want[m] {
				t.Errorf("%s %d, report %d", m, got[m], want[m])
			}
		}
		var report struct {
			Duration uint64 `json:"duration_ns"`
		}
		decode(t, command(t, "report", "--json", path), &report)
		if peak := peakTime(t, path); got["peakTime"] != peak || got["end"] != report.Duration {
			t.Errorf("peak at %d of %d, report %d of %d", got["peakTime"], got["end"], peak, report.Duration)
		}
		for m, n := range countedByEvents(t, path) {
			if got[m] != n {
				t.Errorf("%s %d, of the events %d", m, got[m], n)
			}
		}
	})
}

// TestDHATPage has a browser show the viewer's page, and reads what stands on it.
func TestDHATPage(t *testing.T) {
	browser := need.Tool(t, "chromium")
	t.Logf("%s", tool(t, browser, "--version"))
	each(t, func(t *testing.T, name, path string) {
		if name != "four" && name != "torture" && name != "empty" {
			return // a browser takes its time: TestDHAT has all of them
		}
		file := exported(t, "dhat", path)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		// The page as it is, but that the data is not chosen by a click.
		page := fmt.Sprintf(`<!DOCTYPE html><html><head><meta charset="UTF-8"><script src="file://%s"></script></head>
<body><script>
onLoad(); tryFunc(() => { gFilename = "x"; gData = %s; buildTree(); displayTree(); });
</script></body></html>`, viewer, data)
		if err := os.WriteFile(filepath.Join(dir, "page.html"), []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		out := tool(t, browser, "--headless", "--no-sandbox", "--disable-gpu",
			"--user-data-dir="+filepath.Join(dir, "home"), "--dump-dom",
			"file://"+filepath.Join(dir, "page.html"))
		text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(out), "")
		want := totals(t, path)
		for title, m := range map[string][2]string{"Total:": {"bytes", "allocations"},
			"At t-gmax:": {"peak", "peak-blocks"}, "At t-end:": {"live", "live-blocks"}} {
			re := regexp.MustCompile(title + ` +([\d,]+) bytes \([^)]*\) in ([\d,]+) blocks`)
			found := re.FindStringSubmatch(text) // the first is the root
			if found == nil || plainNumber(found[1]) != want[m[0]] || plainNumber(found[2]) != want[m[1]] {
				t.Errorf("%s %q, report %d, %d\n%.1500s", title, found, want[m[0]], want[m[1]], text)
			}
		}
	})
}

func plainNumber(text string) uint64 {
	n, _ := strconv.ParseUint(strings.ReplaceAll(text, ",", ""), 10, 64)
	return n
}

// countedByEvents goes through the events for the sum of all call stacks' own peaks, of the blocks that they had then,
// and of all blocks' lifetimes, up to the end for those that were not freed.
func countedByEvents(t *testing.T, path string) map[string]uint64 {
	t.Helper()
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	type stack struct{ live, blocks, most, mostBlocks uint64 }
	stacks, born := map[uint32]*stack{}, map[uint64]int64{}
	count, lifetime := uint64(0), int64(0)
	err = r.Events(func(e *event.Event) bool {
		s := stacks[e.Stack]
		if s == nil {
			s = &stack{}
			stacks[e.Stack] = s
		}
		switch e.Kind {
		case event.Alloc:
			s.live += e.Size
			s.blocks++
			if s.live > s.most {
				s.most, s.mostBlocks = s.live, s.blocks
			}
			born[count] = e.Time
			count++
		case event.Free:
			s.live -= e.Size
			s.blocks--
			lifetime += e.Time - born[e.Ref]
			delete(born, e.Ref)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	end, _ := r.Ending()
	for _, b := range born {
		lifetime += end.End - b
	}
	sums := map[string]uint64{"own": 0, "ownBlocks": 0, "lifetime": uint64(lifetime)}
	for _, s := range stacks {
		sums["own"] += s.most
		sums["ownBlocks"] += s.mostBlocks
	}
	return sums
}
