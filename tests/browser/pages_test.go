package browser

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
)

var pageNames = []string{
	"overview", "flame", "table", "tree", "leaks", "source", "generations", "timeline", "sizes", "threads", "blocks",
	"events", "more", "sql", "heap",
}

// sighting is what pages.mjs prints.
type sighting struct {
	List   string
	Views  map[string]map[string]view // by recording and page
	Axe    map[string][]string        // what is serious, by recording, page and theme
	Keys   map[string]int             // how many were pressed, by page
	Links  map[string]string          // what differs between two servers, by page
	Late   map[string]string          // what differs where it is known late what can be answered, by page
	Wander struct {
		Moves int
		Wrong []any
	}
	Compare comparison
	Hide    struct {
		Hidden []string
		Shown  int
	}
	AfterFlame map[string]string // the command of each page, when the flame graph was shown before
	Replayed   struct {
		view
		Drawn []int // how long the descriptions of the curves are
	}
	Folded   map[string][]string // what is said of events that were folded, by page
	Waits    waits
	Problems []string
}

// comparison is what the page shows of two ranges, and then of a filter that is wrong.
type comparison struct {
	One, Two, After               []string // words at the left
	From, To, From2, To2          float64
	Shape, Command, Refused, Kept string
	Filters                       []string
	Copied                        bool
}

// waits is what a page shows of an answer that takes long.
type waits struct {
	Skeleton, Early, Aborted, Dropped bool
	Progress, Cancelled               string
	Asked                             int // so many requests were held
	Rows, Late                        []string
}

// view is what a page says.
type view struct {
	Text, Command, How, Count string
	Faults, Empty, Warnings   []string
	Figures                   map[string]string
	Most                      []struct {
		Name    string
		Numbers []string
	}
	Rows []struct {
		Level      int
		Name, Hint string
		Numbers    map[string]string // by column
	}
	Lines []struct {
		Line    int
		Numbers []string
	}
	Bars []struct {
		Of, Name string
		Numbers  []string
	}
	Cells  []struct{ Of, Cell string } // the current cell of each heat map
	Stack  []string                    // what the frames of the deepest stack take, and what they leave
	Rest   string
	Result []string // the cells of a result of SQL
	Wide   int
	Spoken []spoken
	Walk   []string
	Opened opened
}

// opened is what the page Heap says of a cell: its addresses, the blocks beside the picture, those that its bars name
// one after the other, and those that have the first one's call stack.
type opened struct {
	Address                    string
	Blocks, Scale, Only, Focus []string
}

// spoken is a node of the accessibility tree.
type spoken struct {
	Role, Name, Value, Words string
	Focusable, Selected      bool
}

// record makes recordings of all kinds in a folder: NAME.htap each.
func record(t *testing.T) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name+".htap") }
	inside := kit.Command{Dir: dir}
	run := func(name string, flags []string, args ...string) {
		t.Helper()
		flags = append([]string{kit.Binary(t), "run", "-q", "-o", name + ".htap"}, flags...)
		inside.Run(t, append(append(flags, "--"), args...)...)
	}
	server := kit.Compile(t, need.Tool(t, "g++"), "-O1", "src/server.cc")
	folded := kit.Compile(t, need.Tool(t, "gcc"), "-O1", "src/folded.c")
	none := kit.Compile(t, need.Tool(t, "gcc"), "src/none.c")
	run("server", []string{"--addresses"}, server)
	run("sqlite", nil, need.Tool(t, "sqlite3"), ":memory:", "create table t(a, b);"+
		"with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)"+
		"insert into t select x, x || 'text' from c; create index i on t(b); select sum(a) from t;")
	run("python", nil, "/usr/bin/python3", "-c",
		"import json; print(len([json.loads(json.dumps({'a': [i] * 20, 'b': str(i)})) for i in range(3000)]))")
	source := filepath.Join(dir, "a.cc")
	if err := os.WriteFile(source, []byte("#include <vector>\nint main() { return std::vector<int>(3).size(); }\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	run("compiler", nil, need.Tool(t, "g++"), "-c", source, "-o", "a.o")
	run("sampled", []string{"--mode", "sampled", "--sample", "4KiB"}, server)
	run("folded", []string{"--keep", "50ms", "--mark-every", "50ms"}, folded)
	run("empty", nil, none)
	inside.Run(t, kit.Binary(t), "replay", "--save", "--runs", "2", "--allocators", "glibc,jemalloc", path("sqlite"))
	inside.Run(t, kit.Binary(t), "merge", "-o", path("merged"), path("server"), path("sqlite"))
	// Of the one, the end is missing, of the other, all events.
	for name, kept := range map[string]float64{"damaged": 0.8, "cut": 0.1} {
		whole, err := os.ReadFile(path("python"))
		if err == nil {
			err = os.WriteFile(path(name), whole[:int(kept*float64(len(whole)))], 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir, []string{"server", "sqlite", "python", "compiler", "sampled", "folded", "damaged", "cut", "merged",
		"empty"}
}

// TestPages: every page about every kind of recording says the same as the commands, breaks nothing, and is read out.
func TestPages(t *testing.T) {
	t.Parallel()
	need.File(t, "../../ui/node_modules/playwright-core/package.json")
	need.File(t, "../../ui/node_modules/axe-core/package.json")
	node, chromium := need.Tool(t, "node"), need.Tool(t, "chromium")
	dir, names := record(t)
	var files []string
	for _, name := range names {
		files = append(files, name+".htap")
	}
	app, other := startServer(t, dir, files...), startServer(t, dir, "server.htap")
	recordings := map[string]string{}
	for file, id := range app.recordings(t) {
		recordings[strings.TrimSuffix(file, ".htap")] = id
	}
	options := map[string]any{"chromium": chromium, "app": app.invitation(t),
		"other": other.invitation(t), "recordings": recordings, "looked": []string{"server", "damaged", "empty"}}
	text, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "pages.mjs", string(text))
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	var s sighting
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, problems.String())
	}
	if keep := os.Getenv("PAGES_KEEP"); keep != "" {
		os.WriteFile(keep, out, 0o644)
	}
	kit.Same(t, "recordings", len(s.Views), len(names))
	for _, problem := range s.Problems {
		t.Error(problem)
	}
	for what, found := range s.Axe {
		for _, one := range found {
			t.Errorf("axe-core, %s: %s", what, one)
		}
	}
	kit.Same(t, "looks of axe-core", len(s.Axe), 6*len(pageNames))
	for _, page := range pageNames {
		if s.Keys[page] < 10 {
			t.Errorf("%s has %d keys", page, s.Keys[page])
		}
		if s.Links[page] != "" {
			t.Errorf("%s looks different on another server: %s", page, s.Links[page])
		}
		if late, ok := s.Late[page]; !ok || late != "" {
			t.Errorf("%s is another one if it is known late what can be answered: %s", page, late)
		}
	}
	if s.Wander.Moves < 4 || len(s.Wander.Wrong) > 0 {
		t.Errorf("back and forward: %d places, wrong: %v", s.Wander.Moves, s.Wander.Wrong)
	}
	if len(s.Hide.Hidden) > 0 || s.Hide.Shown == 0 {
		t.Errorf("a hidden tab asked for %q, once seen %d times", s.Hide.Hidden, s.Hide.Shown)
	}
	checkCompare(t, s.Compare)
	checkFolded(t, filepath.Join(dir, "folded.htap"), s.Folded)
	kit.Same(t, "pages after the flame graph", len(s.AfterFlame), len(pageNames)-2)
	for page, command := range s.AfterFlame {
		kit.Same(t, "after the flame graph, the command of "+page, command, s.Views["server"][page].Command)
	}
	checkReplay(t, filepath.Join(dir, "sqlite.htap.replay"), s.Replayed.view, s.Replayed.Drawn)
	checkWaits(t, s.Waits)
	for _, name := range names {
		for _, page := range pageNames {
			t.Run(name+"/"+page, func(t *testing.T) {
				v := s.Views[name][page]
				// What is merged has no time: it cannot say why memory rose.
				if len(v.Faults) > 0 && (name != "merged" || page != "overview") {
					t.Errorf("faults: %q", v.Faults)
				}
				if v.Wide > 0 {
					t.Errorf("it is %d pixels wider than the window", v.Wide)
				}
				checks[page](t, commands{dir, name}, v)
			})
		}
	}
}

// checkCompare checks that the earlier of two ranges is A, and that what is wrong stays where it was written.
func checkCompare(t *testing.T, c comparison) {
	t.Helper()
	first := func(words []string) (kinds []string) {
		for _, word := range words {
			kinds = append(kinds, strings.Join(strings.Fields(word)[:2], " "))
		}
		return kinds
	}
	if len(c.One) != 1 || !slices.Equal(first(c.Two), []string{"time B", "time A"}) || !slices.Equal(c.After, c.One) {
		t.Errorf("with one range %q, with two %q, with one again %q", c.One, c.Two, c.After)
	}
	// Both are as long as each other, and the later one begins where the earlier one ends.
	if c.From >= c.To || c.To2 != c.From || c.From2 >= c.To2 || c.Shape != "compare" ||
		!strings.HasPrefix(c.Command, "heaptap diff --by stack") {
		t.Errorf("%v to %v, less %v to %v, as %s: %s", c.From, c.To, c.From2, c.To2, c.Shape, c.Command)
	}
	if !strings.HasSuffix(c.Refused, "character 4") || c.Kept != "one(two" || len(c.Filters) > 0 || !c.Copied {
		t.Errorf("a wrong filter: %q, kept %q, in force %q; the link was copied: %t", c.Refused, c.Kept, c.Filters,
			c.Copied)
	}
}

// checkFolded: pages that need events which were folded say so, and from when on there are some.
func checkFolded(t *testing.T, path string, pages map[string][]string) {
	t.Helper()
	program := kit.JSON[struct {
		Recording struct {
			Folded int64 `json:"folded_ns"`
		}
	}](t, "report", "--json", "--top", "0", path)[0].Recording
	if program.Folded == 0 {
		t.Fatal("nothing was folded")
	}
	for _, page := range pageNames {
		if len(pages[page]) == 0 && page != "heap" { // which says that there are no addresses
			t.Errorf("%s does not say that events were folded", page)
		}
		for _, text := range pages[page] {
			if !strings.Contains(text, "which were folded to save disk") ||
				!strings.Contains(text, fmt.Sprintf("ask from %dns on, or at ", program.Folded)) ||
				!strings.Contains(text, "Try again") {
				t.Errorf("%s says %q, which is not that events before %d ns were folded", page, text, program.Folded)
			}
		}
	}
}

// checkWaits: a page says that it waits, then how far the answer is; it can be cancelled and asked again; an answer for
// another selection is dropped.
func checkWaits(t *testing.T, w waits) {
	t.Helper()
	if !w.Skeleton || w.Early {
		t.Errorf("before the server says anything: skeleton %t, progress %t", w.Skeleton, w.Early)
	}
	if w.Progress != "reading events · 25.0 %" || w.Cancelled != "Cancelled." || !w.Aborted || w.Asked < 2 {
		t.Errorf("progress %q, after Cancel %q, the request was aborted: %t, asked %d times", w.Progress, w.Cancelled,
			w.Aborted, w.Asked)
	}
	if len(w.Rows) == 0 || !w.Dropped || !slices.Equal(w.Rows, w.Late) {
		t.Errorf("a late answer was dropped: %t; rows %q, then %q", w.Dropped, w.Rows, w.Late)
	}
}

// commands runs commands about a recording, in the folder where it lies.
type commands struct{ dir, name string }

// answer is what commands print with --json, as far as pages show it.
type answer struct {
	Total  map[string]float64
	Rows   []row
	Frames []frame
	Nodes  []struct {
		Parent int
		Group  struct{ Kind, Function string }
		Total  map[string]float64
	}
	Pages []struct {
		Lines []struct {
			Line  int
			Total map[string]float64
		}
	}
	Totals      struct{ Bytes, Allocations float64 }
	Allocations float64
	Sizes       []bucket
	Lifetimes   []bucket `json:"lifetimes_ns"`
	Live        []bucket
	Slack       []bucket
	Exact       []bucket
	Never       bucket `json:"never_freed"`
	Heat        map[string]struct {
		Down []struct{ Counts []float64 }
	}
	Events       []float64 // before each moment of generations
	Peak, Leaked struct{ Bytes, Blocks float64 }

	StackMemory []stackMemory `json:"stack_memory"`

	// Of blocks and threads.
	AtNS   float64 `json:"at_ns"`
	Blocks []struct {
		Number, Size float64
		BornNS       float64 `json:"born_ns"`
		Thread       thread
		Call         string
	}
	Freed []struct{ Bytes float64 }
	Ended []*float64 `json:"ended_ns"`
}

// bucket is a class of sizes or lifetimes, or a size.
type bucket struct{ Min, Count, Bytes, Slack float64 }

// thread is a thread of an answer.
type thread struct {
	TID  int
	Name string
}

func (t thread) String() string { return fmt.Sprintf("%s %d", t.Name, t.TID) }

type frame struct{ Kind, Function, Module, Offset string }

type row struct {
	Group struct {
		Kind, Function, Offset string
		Stack                  []int
		Thread                 *thread
	}
	Self, Total map[string]float64
	// Of generations.
	Allocated float64   `json:"allocated_bytes"`
	Kept      []float64 `json:"kept_bytes"`
	From      float64   `json:"from_events"`
}

// run runs a command as the page says it, in a shell, as somebody does who copies it.
func (c commands) run(t *testing.T, line string) (a answer) {
	t.Helper()
	cmd := exec.Command("bash", "-c", line+" --json")
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(kit.Binary(t))+":"+os.Getenv("PATH"))
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &a)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s%.2000s", line, err, problems.String(), out)
	}
	return a
}

// stackMemory is the deepest stack of a thread.
type stackMemory struct {
	Deepest float64 `json:"deepest_bytes"`
	Unknown float64 `json:"unknown_bytes"` // what the known frames leave of it
}

// exact reads a number as hints have it: 9,980,024 bytes.
func exact(t *testing.T, text string) float64 {
	t.Helper()
	digits := strings.ReplaceAll(strings.Fields(text + " ?")[0], ",", "")
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		t.Errorf("%q is not a number", text)
	}
	return n
}

// checkReplay compares the page with the file that heaptap replay --save wrote.
func checkReplay(t *testing.T, path string, v view, drawn []int) {
	t.Helper()
	var saved struct {
		Verdict    string
		Allocators []struct {
			Name string
			Peak float64 `json:"peak_rss_bytes"`
			Call float64 `json:"call_ns"`
		}
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &saved)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Faults) > 0 || !strings.Contains(v.Text, saved.Verdict) || saved.Verdict == "" {
		t.Errorf("replay: faults %q; no %q in %q", v.Faults, saved.Verdict, v.Text)
	}
	kit.Same(t, "replayed allocators", len(v.Rows), len(saved.Allocators))
	for i, row := range v.Rows {
		a := saved.Allocators[i]
		kit.Same(t, "replay: name", row.Name, a.Name)
		for column, want := range map[string]float64{"peak RSS": a.Peak, "per call": a.Call} {
			matching := 0
			for label, text := range row.Numbers { // a unit follows the column's name
				if !strings.HasPrefix(label, column+" ") {
					continue
				}
				matching++
				if got := exact(t, text); math.Abs(got-want) > 1 {
					t.Errorf("replay: %s of %s: %v, expected %v", column, a.Name, got, want)
				}
			}
			kit.Same(t, "replay: columns "+column, matching, 1)
		}
		kit.Same(t, "replay: numbers of "+a.Name, len(row.Numbers), 10)
	}
	if len(drawn) != 2 || min(drawn[0], drawn[1]) < 50 {
		t.Errorf("replay: curves of %d characters", drawn)
	}
}

// checks hold pages to what the command says that they show.
var checks = map[string]func(*testing.T, commands, view){
	"overview": checkOverview, "flame": checkFlame, "table": checkTable, "tree": checkTree, "leaks": checkLeaks,
	"source": checkSource, "generations": checkGenerations, "timeline": checkTimeline, "sizes": checkSizes,
	"threads": checkThreads, "blocks": checkBlocks, "events": checkEvents, "more": checkMore, "sql": checkSQL,
	"heap": checkHeap,
}

// checkHeap compares the first cell, and what is live at the peak, with what the command on the page prints.
func checkHeap(t *testing.T, c commands, v view) {
	if c.name != "server" {
		if len(v.Empty) != 1 || v.Command != "" {
			t.Errorf("without addresses it says %q, and asks %q", v.Empty, v.Command)
		}
		return
	}
	cmd := exec.Command("bash", "-c", v.Command+" --json")
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(kit.Binary(t))+":"+os.Getenv("PATH"))
	out, err := cmd.Output()
	var film struct {
		Bands []struct {
			Kind string
			Runs []struct{ Address string }
		}
		Moments []struct {
			AtPeak bool `json:"at_peak"`
			Live   struct{ Count int }
			Fill   []byte
		}
	}
	if err == nil {
		err = json.Unmarshal(out, &film)
	}
	if err != nil {
		t.Fatalf("%s: %v", v.Command, err)
	}
	cell := slices.IndexFunc(v.Cells, func(x struct{ Of, Cell string }) bool { return strings.Contains(x.Of, "heap") })
	if cell < 0 {
		t.Fatalf("there is no picture: %+v", v.Cells)
	}
	seen := false
	for _, m := range film.Moments {
		if !m.AtPeak {
			continue
		}
		seen = true
		full := "full"
		if m.Fill[0] < 255 {
			full = fmt.Sprintf("%.1f %% full", float64(m.Fill[0])/2.55)
		}
		want := fmt.Sprintf("of %s at %s: %s", film.Bands[0].Kind, film.Bands[0].Runs[0].Address, full)
		if !strings.Contains(v.Cells[cell].Cell, want) {
			t.Errorf("the first cell is read out as %q, want %q", v.Cells[cell].Cell, want)
		}
		blocks := regexp.MustCompile(`at the peak, .* live in ([0-9,]+) blocks`).FindStringSubmatch(v.Text)
		if blocks == nil || exact(t, blocks[1]) != float64(m.Live.Count) {
			t.Errorf("it says %q, want %d blocks", blocks, m.Live.Count)
		}
	}
	if !seen {
		t.Error("no moment is at the peak")
	}
	checkOpened(t, c, v)
}

// checkOpened compares the blocks of the cell that was opened with what heaptap blocks lists.
func checkOpened(t *testing.T, c commands, v view) {
	list := func(more string) (addresses []string) {
		var a struct{ Blocks []struct{ Address string } }
		line := "heaptap blocks --at peak --sort address --limit 0 --address " + v.Opened.Address + more + v.process() +
			" " + c.name + ".htap"
		if err := json.Unmarshal(c.print(t, line), &a); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, b := range a.Blocks {
			addresses = append(addresses, b.Address)
		}
		return addresses
	}
	want := list("")
	if len(want) < 2 || !slices.Equal(v.Opened.Blocks, want[:min(len(want), 100)]) {
		t.Errorf("in %s it lists %v, want %v", v.Opened.Address, v.Opened.Blocks, want)
	}
	scale := want[:min(len(want), 21)]
	if len(want) <= 20 {
		scale = append(scale[:len(scale):len(scale)], want[len(want)-1]) // the last key leads nowhere
	}
	if !slices.Equal(v.Opened.Scale, scale) {
		t.Errorf("bars are %v, want %v", v.Opened.Scale, scale)
	}
	focus := ""
	for _, f := range v.Opened.Focus {
		focus += " --focus '" + f + "'"
	}
	if only := list(focus); focus == "" || len(only) == 0 || !slices.Equal(v.Opened.Only, only[:min(len(only), 100)]) {
		t.Errorf("of one call stack, it lists %v, want %v (%s)", v.Opened.Only, only, focus)
	}
}

// checkSQL compares the cells of a result with what the command on the page prints.
func checkSQL(t *testing.T, c commands, v view) {
	if v.Command == "" {
		t.Fatal("there is no command")
	}
	cmd := exec.Command("bash", "-c", v.Command+" --csv")
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(kit.Binary(t))+":"+os.Getenv("PATH"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", v.Command, err)
	}
	_, row, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	kit.Same(t, v.Command, strings.Join(v.Result, ","), row)
}

func checkOverview(t *testing.T, c commands, v view) {
	a := c.run(t, "heaptap report "+c.name+".htap"+v.process())
	kit.Same(t, "peak", exact(t, v.Figures["peak live"]), a.Peak.Bytes)
	kit.Same(t, "leaked", exact(t, v.Figures["never freed"]), a.Leaked.Bytes)
	kit.Same(t, "allocated", exact(t, v.Figures["allocated in all"]), a.Totals.Bytes)
	kit.Same(t, "has warnings", len(v.Warnings) > 0, slices.Contains([]string{"damaged", "cut", "sampled", "folded"},
		c.name))
	if top := c.run(t, v.Command); (len(v.Most) == 0) != (len(top.Rows) == 0) {
		t.Errorf("%d functions, and %d of the command", len(v.Most), len(top.Rows))
	}
	sums := c.charged(t, v.process())
	for _, row := range v.Most {
		got := charge{exact(t, row.Numbers[0]), exact(t, row.Numbers[2])}
		if row.Name != "" && !slices.Contains(sums, got) {
			t.Errorf("%s: %v is no function's: %v", row.Name, got, sums)
		}
	}
	v.reads(t, "slider", `^timeline$`)
}

// charge is what a function allocates, with what libraries allocate for it.
type charge struct{ peak, bytes float64 }

// charged sums call stacks by their innermost function of the program itself.
func (c commands) charged(t *testing.T, process string) []charge {
	t.Helper()
	a := c.run(t, "heaptap top --by stack --metric peak,bytes --limit 0"+process+" "+c.name+".htap")
	// Where nothing is the program's own, libraries are what there is.
	own := func(f frame) bool { return f.Kind == "own" }
	kinds := []string{"own", "other"}
	if !slices.ContainsFunc(a.Frames, own) {
		kinds = append(kinds, "library")
	}
	sums := map[string]charge{}
	for _, r := range a.Rows {
		for _, i := range r.Group.Stack {
			if f := a.Frames[i]; slices.Contains(kinds, f.Kind) {
				name := f.Function
				if name == "" {
					name = f.Module + f.Offset
				}
				sum := sums[name]
				sums[name] = charge{sum.peak + r.Total["peak"], sum.bytes + r.Total["bytes"]}
				break
			}
		}
	}
	return slices.Collect(maps.Values(sums))
}

// process is the option that the page's command has to name a program of a run.
func (v view) process() string { return regexp.MustCompile(` --process \d+|$`).FindString(v.Command) }

// reads looks for a node of the accessibility tree.
func (v view) reads(t *testing.T, role, name string) {
	t.Helper()
	for _, s := range v.Spoken {
		if s.Role == role && regexp.MustCompile(name).MatchString(s.Name) {
			if role == "slider" && (!s.Focusable || s.Value == "") {
				t.Errorf("%+v", s)
			}
			return
		}
	}
	t.Errorf("no %s is called %q: %+v", role, name, v.Spoken)
}

// own returns what passes through the functions that nothing of the program itself calls: the first level of a tree
// whose library frames are folded, largest first.
func (a answer) own() (list []float64) {
	sums, below := map[string]float64{}, make([]bool, len(a.Nodes))
	for i, n := range a.Nodes {
		if n.Parent < 0 {
			continue
		}
		if below[i] = below[n.Parent]; !below[i] && n.Group.Kind == "own" {
			below[i] = true
			sums[n.Group.Function] += n.Total["peak"]
		}
	}
	list = slices.Collect(maps.Values(sums))
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

// said is what is read out about a frame: its name, its value and its share.
var said = regexp.MustCompile(`^(.+), ([\d,]+) bytes, ([\d.]+) %$`)

func checkFlame(t *testing.T, c commands, v view) {
	v.reads(t, "slider", `^timeline$`)
	a := c.run(t, v.Command)
	if a.Total["peak"] == 0 {
		kit.Same(t, "nothing to draw", len(v.Empty), 1)
		return
	}
	v.reads(t, "tree", `^call tree from the root down, live at the peak$`)
	root := v.Spoken[len(v.Spoken)-1]
	m := said.FindStringSubmatch(root.Name)
	if m == nil || root.Role != "treeitem" || !root.Selected {
		t.Fatalf("the current frame is read out as %+v", root)
	}
	kit.Same(t, "root", exact(t, m[2]), a.Total["peak"])
	kit.Same(t, "its share", m[3], "100")
	if c.name != "server" {
		return
	}
	// Down to the widest function of the program itself, through what libraries run before it, and up again.
	kit.Same(t, "steps", len(v.Walk), 2)
	kit.Same(t, "up again", v.Walk[1], root.Name)
	if m = said.FindStringSubmatch(v.Walk[0]); m == nil {
		t.Fatalf("the widest function is read out as %q", v.Walk[0])
	}
	widest := a.own()[0]
	kit.Same(t, m[1], exact(t, m[2]), widest)
	kit.Same(t, "its share", m[3], fmt.Sprintf("%.1f", 100*widest/a.Total["peak"]))
}

func checkTable(t *testing.T, c commands, v view) {
	a := c.run(t, v.Command)
	if len(a.Rows) == 0 {
		kit.Same(t, "no rows", len(v.Empty), 1)
		return
	}
	for i, shown := range v.Rows[:min(len(v.Rows), 10)] {
		same := func(r row) bool {
			for column, text := range shown.Numbers {
				metric, side := metricOf(column)
				want := r.Total[metric]
				if strings.HasPrefix(side, "self") {
					want = r.Self[metric]
				}
				if exact(t, text) != want {
					return false
				}
			}
			// The page shortens names.
			return r.Group.Function == "" || strings.Contains(r.Group.Function, identifier.FindString(shown.Name))
		}
		if !slices.ContainsFunc(a.Rows, same) {
			t.Errorf("row %d: the command has no %+v", i, shown)
		}
	}
}

// headings are the names that columns have on pages of rows, by metric.
var headings = map[string]string{"at the peak": "peak", "leaked": "leaked", "allocated": "bytes"}

// metricOf is the metric of a column such as "at the peak total KiB", and its side: total or self, with the unit.
func metricOf(column string) (metric, side string) {
	for name, metric := range headings {
		if side, ok := strings.CutPrefix(column, name+" "); ok {
			return metric, side
		}
	}
	metric, side, _ = strings.Cut(column, " ")
	return metric, side
}

var identifier = regexp.MustCompile(`\w+`)

func checkTree(t *testing.T, c commands, v view) {
	a := c.run(t, v.Command)
	if a.Total["peak"] == 0 {
		kit.Same(t, "no rows", len(v.Empty), 1)
		return
	}
	for column, text := range v.Rows[0].Numbers {
		if metric, side := metricOf(column); strings.HasPrefix(side, "total") {
			kit.Same(t, column, exact(t, text), a.Total[metric])
		}
	}
	if c.name != "server" {
		return
	}
	kit.Same(t, v.Rows[1].Name, exact(t, v.Rows[1].Numbers["at the peak total KiB"]), a.own()[0])
	// Each function is at one place of this tree: there it has all that it allocates, through libraries, too.
	functions, allocate := c.charged(t, ""), 0
	for _, row := range v.Rows[1:] { // below all
		self := exact(t, row.Numbers["at the peak self KiB"])
		if self == 0 {
			continue
		}
		allocate++
		if !slices.ContainsFunc(functions, func(f charge) bool { return f.peak == self }) {
			t.Errorf("%s has %v bytes of its own, and the functions %v", row.Name, self, functions)
		}
	}
	if allocate == 0 {
		t.Errorf("no row of the tree allocates anything itself: %+v", v.Rows)
	}
}

func checkLeaks(t *testing.T, c commands, v view) {
	a := c.run(t, v.Command)
	kit.Same(t, "leaked", exact(t, v.Count), a.Total["leaked"])
	if len(a.Rows) == 0 {
		kit.Same(t, "no rows", len(v.Empty), 1)
		return
	}
	for column, text := range v.Rows[0].Numbers {
		switch strings.Fields(column)[0] {
		case "leaked":
			kit.Same(t, column, exact(t, text), a.Rows[0].Total["leaked"])
		case "blocks":
			kit.Same(t, column, exact(t, text), a.Rows[0].Total["leaked-blocks"])
		}
	}
}

func checkSource(t *testing.T, c commands, v view) {
	if v.Command == "" {
		kit.Same(t, "no lines", len(v.Empty), 1)
		return
	}
	a := c.run(t, v.Command)
	counted := 0
	for _, shown := range v.Lines {
		for _, line := range a.Pages[0].Lines {
			for i, metric := range []string{"peak", "allocations", "bytes"} {
				if line.Line == shown.Line && shown.Numbers[i] != "" {
					what := fmt.Sprintf("line %d: %s", line.Line, metric)
					kit.Same(t, what, exact(t, shown.Numbers[i]), line.Total[metric])
					counted++
				}
			}
		}
	}
	if counted == 0 {
		t.Errorf("no line has numbers: %+v", v.Lines)
	}
}

func checkSizes(t *testing.T, c commands, v view) {
	if c.name == "merged" { // it has no single blocks
		kit.Same(t, "nothing to show", len(v.Empty), 1)
		kit.Same(t, "command", v.Command, "")
		return
	}
	a := c.run(t, strings.Replace(v.Command, " --show sizes,exact,lifetimes,slack", "", 1)) // JSON has all of these
	if a.Allocations == 0 {
		kit.Same(t, "no bars", len(v.Empty), 1)
		return
	}
	kit.Same(t, "allocations", exact(t, v.Count), a.Allocations)
	at := func(list []bucket, least float64) bucket {
		for _, b := range list {
			if b.Min == least {
				return b
			}
		}
		return bucket{}
	}
	var sizes, ages, most int
	for _, row := range v.Bars {
		same := func(what string, i int, want float64) {
			t.Helper()
			kit.Same(t, row.Name+": "+what, exact(t, row.Numbers[i]), want)
		}
		switch row.Of {
		case "size-classes":
			if exact(t, row.Numbers[0]) == 0 {
				continue // between others
			}
			least := a.Sizes[sizes].Min
			same("allocations", 0, a.Sizes[sizes].Count)
			same("bytes", 2, a.Sizes[sizes].Bytes)
			same("live", 3, at(a.Live, least).Bytes)
			same("slack", 4, at(a.Slack, least).Slack)
			sizes++
		case "exact-sizes":
			same("allocations", 0, a.Exact[most].Count)
			same("slack", 2, a.Exact[most].Slack)
			most++
		case "lifetimes":
			want := a.Never
			if ages < len(a.Lifetimes) {
				want = a.Lifetimes[ages]
			}
			same("blocks", 0, want.Count)
			same("bytes", 2, want.Bytes)
			ages++
		}
	}
	kit.Same(t, "classes of sizes", sizes, len(a.Sizes))
	kit.Same(t, "sizes", most, len(a.Exact))
	if ages < len(a.Lifetimes) || ages > len(a.Lifetimes)+1 {
		t.Errorf("%d classes of lifetimes, want %d", ages, len(a.Lifetimes))
	}
	// The current cell of a heat map is the one with the most.
	shown := 0
	for _, kind := range []string{"time", "lifetime", "reallocs"} {
		largest := 0.0
		for _, row := range a.Heat[kind].Down {
			largest = max(largest, slices.Max(row.Counts))
		}
		if largest == 0 {
			continue
		}
		if shown == len(v.Cells) {
			t.Fatalf("%s has no picture: %+v", kind, v.Cells)
		}
		_, says, _ := strings.Cut(v.Cells[shown].Cell, ": ")
		kit.Same(t, v.Cells[shown].Of, exact(t, says), largest)
		shown++
	}
	kit.Same(t, "heat maps", shown, len(v.Cells))
}

// first is the first word of a heading, which names the column.
func first(column string) string { return strings.Fields(column)[0] }

func checkThreads(t *testing.T, c commands, v view) {
	if v.Command == "" {
		kit.Same(t, "there are no events", len(v.Empty), 1)
		return
	}
	a := c.run(t, v.Command)
	if len(a.Rows) == 0 {
		kit.Same(t, "no rows", len(v.Empty), 1)
		return
	}
	kit.Same(t, "all", exact(t, v.Count), a.Total["bytes"])
	metrics := map[string]string{"allocated": "bytes", "blocks": "allocations", "live": "live", "own": "own-peak",
		"temporary": "temporary", "depth": "depth"}
	kit.Same(t, "rows", len(v.Rows), len(a.Rows))
	for _, shown := range v.Rows {
		i := slices.IndexFunc(a.Rows, func(r row) bool { return r.Group.Thread.String() == shown.Name })
		if i < 0 {
			t.Errorf("the command has no thread %q", shown.Name)
			continue
		}
		for column, text := range shown.Numbers {
			switch metric, ok := metrics[first(column)]; {
			case first(column) == "ended":
				want := "not known"
				if ended := a.Ended[i]; ended != nil {
					want = strconv.FormatFloat(*ended, 'f', 0, 64) + " ns"
					if _, ns, ok := strings.Cut(text, "("); ok { // after the same in few digits
						text = strings.ReplaceAll(strings.TrimSuffix(ns, ")"), ",", "")
					}
				}
				kit.Same(t, shown.Name+": "+column, text, want)
			case text == "not known":
				if c.name != "sampled" || metric != "temporary" { // samples do not follow each other
					t.Errorf("%s: %s is not known", shown.Name, column)
				}
			case ok:
				kit.Same(t, shown.Name+": "+column, exact(t, text), a.Rows[i].Total[metric])
			case first(column) == "freed":
				kit.Same(t, shown.Name+": "+column, exact(t, text), a.Freed[i].Bytes)
			}
		}
	}
	if len(a.StackMemory) == 0 {
		return
	}
	// What the page says of the frames of the deepest stack is all of that.
	m := slices.MaxFunc(a.StackMemory, func(x, y stackMemory) int { return cmp.Compare(x.Deepest, y.Deepest) })
	known := 0.0
	for _, text := range v.Stack {
		switch {
		case strings.Contains(text, "byte"):
			known += exact(t, text)
		case !strings.Contains(text, "unknown size") && text != "part of the next one":
			t.Errorf("a frame takes %q", text)
		}
	}
	if c.name == "server" && known == 0 {
		t.Errorf("frames take %q", v.Stack)
	}
	kit.Same(t, "what frames leave", exact(t, v.Rest), m.Unknown)
	kit.Same(t, "the deepest stack", known+exact(t, v.Rest), m.Deepest)
}

func checkBlocks(t *testing.T, c commands, v view) {
	if v.Command == "" {
		kit.Same(t, "there are no events", len(v.Empty), 1)
		return
	}
	a := c.run(t, v.Command)
	if len(a.Blocks) == 0 {
		kit.Same(t, "no rows", len(v.Empty), 1)
		return
	}
	kit.Same(t, "all", exact(t, v.Count), a.Total["kept"])
	if len(v.Rows) == 0 {
		t.Error("no rows")
	}
	for i, shown := range v.Rows {
		b := a.Blocks[i]
		if number := fmt.Sprintf("#%.0f", b.Number); !strings.HasPrefix(shown.Name, number+" ") {
			t.Errorf("row %d is %q, want %s", i, shown.Name, number)
		}
		for column, text := range shown.Numbers {
			switch first(column) {
			case "size":
				kit.Same(t, shown.Name+": "+column, exact(t, text), b.Size)
			case "age":
				kit.Same(t, shown.Name+": "+column, exact(t, text), a.AtNS-b.BornNS)
			case "thread":
				kit.Same(t, shown.Name+": "+column, text, b.Thread.String())
			case "call":
				kit.Same(t, shown.Name+": "+column, text, b.Call)
			}
		}
	}
}

// kept is what is read out about a cell of generations: what is live of what its row allocated.
var kept = regexp.MustCompile(`: (?:[\d.]+ [KMG]iB \()?([\d,]+) (?:B|bytes)`)

func checkGenerations(t *testing.T, c commands, v view) {
	if c.name == "empty" || c.name == "cut" || c.name == "merged" {
		kit.Same(t, "no rows", len(v.Empty), 1)
		return
	}
	a := c.run(t, v.Command)
	if len(v.Rows) == 0 {
		t.Fatal("the table has no rows")
	}
	last := len(a.Events) - 1
	for i, shown := range v.Rows {
		row := a.Rows[i]
		var left []float64 // at the moments later than the row
		for j, bytes := range row.Kept {
			if a.Events[j] > row.From {
				left = append(left, bytes)
			}
		}
		for column, text := range shown.Numbers {
			switch {
			case strings.HasPrefix(column, "share"), text == "":
			case strings.HasPrefix(column, "allocated "):
				kit.Same(t, shown.Name+": allocated", exact(t, text), row.Allocated)
			case strings.HasPrefix(column, "end "):
				kit.Same(t, shown.Name+": at the end", exact(t, text), row.Kept[last])
			case !slices.Contains(left, exact(t, text)):
				t.Errorf("%s has %s at %s, and the command %v", shown.Name, text, column, left)
			}
		}
	}
	v.reads(t, "grid", `^how much of what each row allocated is live, by moment$`)
	// The current cell leads to a flame graph of as much.
	cell := slices.IndexFunc(v.Spoken, func(s spoken) bool { return s.Role == "gridcell" })
	if cell < 0 {
		t.Fatalf("no cell is read out: %+v", v.Spoken)
	}
	m := kept.FindStringSubmatch(v.Spoken[cell].Name)
	if m == nil {
		t.Fatalf("the current cell is read out as %q", v.Spoken[cell].Name)
	}
	bytes := exact(t, m[1])
	if !slices.ContainsFunc(a.Rows, func(r row) bool { return slices.Contains(r.Kept, bytes) }) {
		t.Errorf("%q: the command has no such cell", v.Spoken[cell].Name)
	}
	kit.Same(t, "the flame graph of "+v.Spoken[cell].Name, c.run(t, v.Walk[0]).Total["kept"], bytes)
}
