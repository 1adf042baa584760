package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The section on the web app in a browser. It is measured with -ui, or alone with -browser; all other runs keep it.
const browserHeading = "## The web app in a browser\n"

// The script that drives the browser, in the module, whose root is the working directory; and the browser.
const (
	browserScript = "ui/test/bench.mjs"
	chromium      = "chromium"
)

// browserRecordings are the recordings with which the browser is measured, of those that the benchmark makes.
var browserRecordings = []string{"P", "1e9"}

// browserCell is what the script measures under a name.
type browserCell struct {
	key string
	row
}

var browserCells = append([]browserCell{
	{"first text", row{"from the start of `heaptap serve` to the first text", "", middle(300)}},
	{"open overview", row{"to the overview and the timeline, with numbers", "", middle(1000)}},
	{"open flame", row{"to the flame graph and the timeline, with numbers", "", middle(1000)}},
	{"drag script", row{"dragging over the timeline: script per frame", "", late(8)}},
	{"drag dropped", row{"the same: dropped frames", "%", middle(5)}},
	{"drag pictures", row{"the same: rough flame graphs", "per s", atLeast(20)}},
	{"release flame", row{"from the release to the exact flame graph", "", late(120)}},
	{"release table", row{"from the release to the exact table", "", late(120)}},
	{"flame script", row{"panning and zooming the largest tree: script per frame", "", late(10)}},
	{"search", row{"search in it", "", middle(40)}},
	{"sort", row{"sorting the largest table", "", middle(50)}},
	{"scroll frames", row{"scrolling it: frames", "per s", atLeast(60)}},
	{"scroll script", row{"the same: script per frame", "", late(10)}},
	{"heap", row{"heaps and buffers after 200 random actions", "MB", middle(100)}},
	{"heap growth", row{"what they grew by in the second hundred", "MB", middle(5)}},
	{"hidden requests", row{"a hidden tab: requests", "a number", middle(0)}},
	{"hidden frames", row{"the same: frames", "a number", middle(0)}},
}, pageCells()...)

// pageCells are the ways to each page, which the script goes by the pages' keys.
func pageCells() (list []browserCell) {
	for _, page := range []string{"overview", "flame", "table", "tree", "leaks", "generations", "timeline", "sizes",
		"threads", "blocks", "events", "more"} {
		if page != "overview" { // it is where the app opens
			list = append(list, browserCell{"page new " + page, row{"to the page " + page + ": first numbers", "",
				middle(300)}})
		}
		list = append(list, browserCell{"page known " + page, row{"back to the page " + page, "", middle(50)}})
	}
	return list
}

// measureBrowsers measures recordings in the browser, and writes the section. Without files, it measures those of
// folder, which it makes.
func (b *bench) measureBrowsers(out, folder string, files []string) error {
	if len(files) == 0 {
		made, err := b.recordings(folder)
		if err != nil {
			return err
		}
		for _, name := range browserRecordings {
			files = append(files, made[name])
		}
	}
	var list []*uiMeasured
	for _, file := range files {
		if st, err := os.Stat(file); err != nil {
			return err
		} else if st.IsDir() {
			continue // a run of many processes
		}
		m := &uiMeasured{name: strings.TrimSuffix(filepath.Base(file), ".htap"), values: map[string][]float64{}}
		if err := b.measureBrowser(m, file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		list = append(list, m)
	}
	return writeSection(out, browserHeading, browserSection(list))
}

// measureBrowser runs the script with a recording.
func (b *bench) measureBrowser(m *uiMeasured, file string) error {
	program, err := exec.LookPath(chromium)
	if err != nil {
		return fmt.Errorf("%w; install Debian's packages nodejs, npm and chromium, and run tools/ui.sh install", err)
	}
	heaptap, err := filepath.Abs(b.heaptap)
	if err != nil {
		return err
	}
	cmd := exec.Command("node", browserScript, heaptap, program, file)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("node %s: %w", browserScript, err)
	}
	return m.readBrowser(text)
}

// readBrowser takes over what the script wrote.
func (m *uiMeasured) readBrowser(text []byte) error {
	var got struct {
		What   string
		Values map[string][]float64
	}
	if err := json.Unmarshal(text, &got); err != nil {
		return fmt.Errorf("what %s wrote: %w", browserScript, err)
	}
	m.what = got.What
	for _, c := range browserCells {
		m.values[c.name] = got.Values[c.key]
		if len(got.Values[c.key]) == 0 {
			return fmt.Errorf("%s has not measured %q", browserScript, c.key)
		}
		delete(got.Values, c.key)
		m.report(c.row)
	}
	if len(got.Values) > 0 {
		more := slices.Sorted(maps.Keys(got.Values))
		return errors.New(browserScript + " has measured what has no goal: " + strings.Join(more, ", "))
	}
	return nil
}

// browserSection returns the section that measureBrowsers writes.
func browserSection(list []*uiMeasured) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nWritten by `make bench-ui`: Chromium without a GPU, 1440x900, driven by "+
		"`%s`. Median / 95th percentile, in ms unless the row says otherwise; the goal is for the median, or for the "+
		"95th percentile where it says p95. In bold: worse than its goal. Machine: %s.\n\n", browserHeading,
		browserScript, machine())
	rows := make([]row, len(browserCells))
	for i, c := range browserCells {
		rows[i] = c.row
	}
	uiTable(&b, rows, list)
	b.WriteString("The browser runs already and has nothing of the app; the start of the server counts. Script per " +
		"frame is the processor's time of the main thread in a trace, from one frame to the next, garbage " +
		"collection within included. Drags are mouse events, 60 per second for 3 s. Frames are dropped where the " +
		"page has no turn in 1/60 s. A release counts until the frame after the exact answer has been drawn; the " +
		"table's columns are bytes and allocations. Memory is that of the page and its worker after garbage " +
		"collection, both times on the flame graph. A way to a page counts from its key to the frame after the " +
		"first number on it, or the first picture of numbers, has been drawn.\n\n")
	for _, m := range list {
		if m.what != "" {
			fmt.Fprintf(&b, "- **%s**: %s\n", m.name, m.what)
		}
	}
	return b.String() + "\n"
}
