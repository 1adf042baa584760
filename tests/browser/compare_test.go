package browser

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
)

// compared is what a page says of two sides.
type compared struct {
	Bar, Main, Command string
	Faults             []string
	Totals             [][]string
	Rows               []struct {
		Name    string
		Numbers map[string]string // by column
	}
}

// amounts are the values of a metric before and after.
type amounts struct{ Before, After int64 }

// TestCompare: every page that compares two recordings has the numbers that the command it shows prints, and the others
// say that they do not compare.
func TestCompare(t *testing.T) {
	t.Parallel()
	need.File(t, "../../ui/node_modules/playwright-core/package.json")
	node, chromium := need.Tool(t, "node"), need.Tool(t, "chromium")
	dir := t.TempDir()
	build := func(table string) string {
		return kit.Compile(t, need.Tool(t, "g++"), "-O1", "-std=c++17", "-I../../include", "-DTABLE="+table,
			"../stories/src/release.cc")
	}
	programs := map[bool]string{false: build("5000"), true: build("70000")}
	inside := kit.Command{Dir: dir}
	var files []string
	for _, run := range [][]string{{"old", "1"}, {"new", "1", "2"}, {"old2", "1"}, {"new2", "1"}} {
		files = append(files, run[0]+".htap")
		command := []string{kit.Binary(t), "run", "-q", "-o", run[0] + ".htap", "--",
			programs[strings.HasPrefix(run[0], "new")]}
		inside.Run(t, append(command, run[1:]...)...)
	}
	app, other := startServer(t, dir, files...), startServer(t, dir, files...)
	ids := app.recordings(t)
	text, err := json.Marshal(map[string]any{"chromium": chromium, "app": app.invitation(t),
		"other": other.invitation(t), "recording": ids["new.htap"], "with": []string{ids["old.htap"]},
		"more": ids["old2.htap"], "also": []string{ids["new2.htap"]}, "name": "old.htap"})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "compare.mjs", string(text))
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	var s struct {
		Problems []string
		Views    map[string]compared
		Flame    struct{ Root, Command string }
		Range    []string // of A: by share from and to, by time from
		Chosen   struct {
			URL  string
			View compared
		}
		Stopped        int
		Back           struct{ URL, Bar string }
		Swapped, Other compared
	}
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, problems.String())
	}
	for _, p := range s.Problems {
		t.Error(p)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Views)) {
		t.Run(name, func(t *testing.T) {
			v := s.Views[name]
			if len(v.Faults) > 0 {
				t.Errorf("faults: %q", v.Faults)
			}
			switch name {
			case "static":
				checkStatic(t, dir, v)
			case "mappings", "regions":
				if !strings.Contains(v.Main, "Nothing has changed.") && len(v.Rows) == 0 {
					t.Errorf("%q", v.Main)
				}
				checkChanges(t, dir, v)
			case "blocks", "events", "pools", "sql", "heap":
				if !strings.Contains(v.Main, "cannot compare") {
					t.Errorf("it does not say that it cannot compare: %q", v.Main)
				}
			case "overview":
				checkTotals(t, dir, v)
			default:
				checkChanges(t, dir, v)
			}
		})
	}
	// By share, 20 % to 60 % of A; by time, 20 % of what B took.
	ended := func(file string) int64 {
		r := kit.JSON[struct {
			Duration int64 `json:"duration_ns"`
		}](t, "report", "--json", filepath.Join(dir, file))
		return r[0].Duration
	}
	for i, want := range []float64{.2 * float64(ended("old.htap")), .6 * float64(ended("old.htap")),
		.2 * float64(ended("new.htap"))} {
		got, err := time.ParseDuration(s.Range[i])
		if err != nil || math.Abs(float64(got)-want) > 1e5 {
			t.Errorf("end %d of A's range is %s, want %v", i, s.Range[i], time.Duration(want))
		}
	}
	total := asked(t, dir, s.Flame.Command).Total["peak"]
	want := fmt.Sprintf("+%.2f MiB", float64(total.After-total.Before)/(1<<20))
	if !strings.Contains(s.Flame.Root, want) {
		t.Errorf("the flame graph's root is %q, want %s", s.Flame.Root, want)
	}
	checkChanges(t, dir, s.Chosen.View)
	checkChanges(t, dir, s.Swapped)
	if s.Stopped != 0 || s.Back.URL != s.Chosen.URL || s.Back.Bar != s.Chosen.View.Bar {
		t.Errorf("after c, %d bars; then back to %s: %q; it was %s: %q", s.Stopped, s.Back.URL, s.Back.Bar,
			s.Chosen.URL, s.Chosen.View.Bar)
	}
	if a, b := fmt.Sprint(s.Other.Rows, s.Other.Bar), fmt.Sprint(s.Chosen.View.Rows, s.Chosen.View.Bar); a != b {
		t.Errorf("on another server, the link shows %s, and here %s", a, b)
	}
	runs := s.Views["runs"].Main
	if !strings.Contains(runs, "medians of 2 and 2 runs") || !strings.Contains(runs, "varying") {
		t.Errorf("it does not say that runs vary: %s", runs)
	}
}

// answered is what the command says.
type answered struct {
	Total map[string]amounts
	Rows  []struct{ Total map[string]amounts }
	Nodes []struct {
		Group *struct{ Function string }
		Total map[string]amounts
	}
}

// asked runs the command that a page shows.
func asked(t *testing.T, dir, command string) (a answered) {
	t.Helper()
	rest, ok := strings.CutPrefix(command, "heaptap diff ")
	if !ok {
		t.Fatalf("the page shows the command %q", command)
	}
	out := kit.Command{Dir: dir}.Run(t, "sh", "-c", filepath.Clean(kit.Binary(t))+" diff --json "+rest)
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// numberOf reads the number at the beginning of a hint: 1,234 bytes, the median of ...
func numberOf(t *testing.T, text string) int64 {
	t.Helper()
	word, _, _ := strings.Cut(strings.ReplaceAll(text, ",", ""), " ")
	n, err := strconv.ParseInt(strings.Replace(word, "−", "-", 1), 10, 64)
	if err != nil {
		t.Errorf("%q is not a number", text)
	}
	return n
}

// checkChanges: the rows of a table or a tree have the values before and after that the command's have.
func checkChanges(t *testing.T, dir string, v compared) {
	t.Helper()
	a := asked(t, dir, v.Command)
	metric := strings.SplitN(strings.Fields(v.Command[strings.Index(v.Command, "--metric ")+9:])[0], ",", 2)[0]
	var want, got []amounts
	for _, r := range a.Rows {
		want = append(want, r.Total[metric])
	}
	for _, n := range a.Nodes {
		want = append(want, n.Total[metric])
	}
	for _, r := range v.Rows {
		var x amounts
		for column, hint := range r.Numbers {
			switch words := strings.Fields(column); {
			case slices.Contains(words, "A"):
				x.Before = numberOf(t, hint)
			case slices.Contains(words, "B") && !slices.Contains(words, "change"):
				x.After = numberOf(t, hint)
			}
		}
		got = append(got, x)
	}
	byValue := func(a, b amounts) int { return cmp.Or(cmp.Compare(a.Before, b.Before), cmp.Compare(a.After, b.After)) }
	if len(a.Nodes) > 0 || strings.Contains(v.Command, "--fold") { // what is folded, or closed, has no row
		for _, x := range got {
			if !slices.Contains(want, x) {
				t.Errorf("a row has %+v, which no node has, as %s prints: %+v", x, v.Command, want[:min(len(want), 9)])
			}
		}
		if len(got) < 3 {
			t.Errorf("%d rows", len(got))
		}
		return
	}
	slices.SortFunc(want, byValue)
	slices.SortFunc(got, byValue)
	if !slices.Equal(got, want) {
		t.Errorf("rows have %v, want %v, as %s prints", got, want, v.Command)
	}
}

// checkStatic: the variables of static data have the sizes that the command prints, and one has grown as it was built.
func checkStatic(t *testing.T, dir string, v compared) {
	t.Helper()
	rest, _ := strings.CutPrefix(v.Command, "heaptap diff ")
	out := kit.Command{Dir: dir}.Run(t, "sh", "-c", filepath.Clean(kit.Binary(t))+" diff --json "+rest)
	var a struct {
		Variables []struct {
			Name          string
			Before, After int64
		}
	}
	out = strings.NewReplacer("before_bytes", "before", "after_bytes", "after").Replace(out)
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		t.Fatal(err)
	}
	got := map[string][]int64{}
	for _, r := range v.Rows {
		name, _, _ := strings.Cut(r.Name, " ")
		for _, column := range []string{"A", "B", "change"} {
			for of, number := range r.Numbers {
				if slices.Contains(strings.Fields(of), column) {
					got[name] = append(got[name], numberOf(t, number))
				}
			}
		}
	}
	kit.Same(t, "table", fmt.Sprint(got["table"]), "[5000 70000 65000]")
	for _, x := range a.Variables {
		if want := []int64{x.Before, x.After, x.After - x.Before}; !slices.Equal(got[x.Name], want) {
			t.Errorf("%s has %v, want %v, as %s prints", x.Name, got[x.Name], want, v.Command)
		}
	}
	kit.Same(t, "variables", len(v.Rows), len(a.Variables))
}

// checkTotals: the overview has the command's totals.
func checkTotals(t *testing.T, dir string, v compared) {
	t.Helper()
	a := asked(t, dir, v.Command)
	metrics := map[string]string{"live at the peak": "peak", "allocated": "bytes", "allocations": "allocations",
		"never freed": "leaked", "temporary allocations": "temporary"}
	for _, row := range v.Totals {
		if got, want := (amounts{numberOf(t, row[1]), numberOf(t, row[2])}), a.Total[metrics[row[0]]]; got != want {
			t.Errorf("%s: %+v, want %+v", row[0], got, want)
		}
	}
	kit.Same(t, "totals", len(v.Totals), len(metrics))
}
