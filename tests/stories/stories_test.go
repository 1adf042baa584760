// Package stories plays what people open a recording for, in a browser: to find a leak, what a rise or a peak was, why
// the resident set is so large, or what each click leaves behind, and to send somebody what they see. A script acts by
// what the screen says, once with a mouse and once with a keyboard alone. What is right the programs themselves say,
// and the command line.
package stories

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
)

func TestMain(m *testing.M) { kit.Main(m) }

// found is what a story ends with.
type found struct {
	Function, Place, Thread, Sentence, Line, Share, Text, Mapper, Link string
	Freer                                                              string
	Bytes                                                              int64
	Parts                                                              map[string]string
	Views                                                              []string
	Clicks                                                             int
	Ms                                                                 float64
	Problems                                                           []string
}

// recorded is a recording, and what its program says is right, by question.
type recorded struct {
	path  string
	right map[string][]string
	file  string // the source
}

// record has a program do what a number decides, and records it under a name that tells nothing.
func record(t *testing.T, source string, args ...string) recorded {
	t.Helper()
	return recordWith(t, nil, source, args...)
}

// recordWith is record with flags of heaptap run.
func recordWith(t *testing.T, flags []string, source string, args ...string) recorded {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("src", source+".cc"))
	if err != nil {
		t.Fatal(err)
	}
	program := kit.Compile(t, "g++", "-std=c++17", "-O1", "-I../../include", file)
	r := recorded{path: filepath.Join(t.TempDir(), "run.htap"), right: make(map[string][]string), file: file}
	seed := fmt.Sprint(rand.IntN(12))
	t.Logf("%s %s %v", source, seed, args)
	call := append([]string{"run", "-q", "-o", r.path}, flags...)
	out := kit.Heaptap(t, append(append(call, "--", program, seed), args...)...)
	for line := range strings.Lines(out) {
		if words := strings.Fields(line); len(words) > 1 {
			r.right[words[0]] = words[1:]
		}
	}
	return r
}

type play struct {
	Story string   `json:"story"`
	File  string   `json:"file"`
	More  []string `json:"more,omitempty"`
}

// tell plays stories one after the other, each with servers of its own.
func tell(t *testing.T, by string, plays ...play) []found {
	t.Helper()
	options, err := json.Marshal(map[string]any{"chromium": need.Tool(t, "chromium"), "heaptap": kit.Binary(t),
		"by": by, "plays": plays})
	if err != nil {
		t.Fatal(err)
	}
	var list []found
	out := kit.Run(t, need.Tool(t, "node"), "story.mjs", string(options))
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	for i, f := range list {
		t.Logf("%s by %s: %d clicks, %.1f s", plays[i].Story, by, f.Clicks, f.Ms/1e3)
		for _, p := range f.Problems {
			t.Errorf("%s by %s: %s", plays[i].Story, by, p)
		}
	}
	return list
}

// three are the most clicks that a question may take, with those that open the source.
const three = 3

// TestStories plays each story by mouse and by keyboard, and the first three again on a recording of ten million
// events. It logs how long they take, which has no bound here: other tests use the machine, too.
func TestStories(t *testing.T) {
	need.File(t, "../../ui/node_modules/playwright-core/package.json")
	need.Tool(t, "node")
	need.Tool(t, "chromium")
	leak, shop, report, store, clicks, pieces, big := recordAll(t)
	events := kit.JSON[struct{ Totals struct{ Events int64 } }](t, "report", "--json", big.path)
	if n := events[0].Totals.Events; n < 9e6 {
		t.Errorf("the large recording has %d events", n)
	}
	type told struct {
		story string
		on    recorded
		judge func(*testing.T, recorded, found)
	}
	list := []told{
		{"leak", leak, judgeLeak},
		{"rise", shop, judgeRise},
		{"peak", report, judgePeak},
		{"leak", big, judgeLeak},
		{"rise", big, judgeRise},
		{"peak", big, judgePeak},
		{"resident", store, judgeResident},
		{"small", pieces, judgeSmall},
		{"repeat", clicks, judgeRepeat},
		{"send", shop, judgeSend},
	}
	for _, by := range []string{"mouse", "keyboard"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			plays := make([]play, len(list))
			for i, s := range list {
				plays[i] = play{Story: s.story, File: s.on.path}
			}
			all := tell(t, by, plays...)
			if t.Failed() {
				return
			}
			for i, s := range list {
				s.judge(t, s.on, all[i])
			}
		})
	}
}

// recordAll records all programs, which mostly wait, at the same time; the large one alone.
func recordAll(t *testing.T) (leak, shop, report, store, clicks, pieces, big recorded) {
	t.Helper()
	kit.Binary(t)
	var all sync.WaitGroup
	all.Go(func() { leak = record(t, "server", "2") })
	all.Go(func() { shop = record(t, "shop", "2.5") })
	all.Go(func() { report = record(t, "report") })
	all.Go(func() { store = record(t, "store") })
	all.Go(func() { pieces = record(t, "pieces") })
	all.Go(func() { clicks = record(t, "clicks") })
	all.Wait()
	return leak, shop, report, store, clicks, pieces, record(t, "server", "5", "84000")
}

// isFunction: names on the screen have parameters.
func isFunction(shown, name string) bool {
	return strings.HasPrefix(shown, name+"(") || strings.HasPrefix(shown, name+"[")
}

func few(t *testing.T, f found, most int) {
	t.Helper()
	if f.Clicks > most {
		t.Errorf("it took %d clicks", f.Clicks)
	}
}

func judgeLeak(t *testing.T, r recorded, f found) {
	want := r.right["leak"]
	if !isFunction(f.Function, want[0]) || f.Place != want[1] {
		t.Errorf("%s at %s leaks, want %v", f.Function, f.Place, want)
	}
	// The line that is shown is the one in the file, with its number.
	text, err := os.ReadFile(r.file)
	if err != nil {
		t.Fatal(err)
	}
	var number int
	if _, err := fmt.Sscanf(want[1], "server.cc:%d", &number); err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSpace(strings.Split(string(text), "\n")[number-1])
	if !strings.HasPrefix(f.Line, fmt.Sprint(number)) || !strings.Contains(f.Line, line) {
		t.Errorf("the source page shows %q, want line %d, %q", f.Line, number, line)
	}
	// What the page says is the command line's.
	leaks := kit.JSON[struct{ Leaked struct{ Bytes, Blocks int64 } }](t, "report", "--json", r.path)[0].Leaked
	said := fmt.Sprintf("%s in %s blocks", mib(leaks.Bytes), thousands(leaks.Blocks))
	if !strings.Contains(f.Sentence, said) {
		t.Errorf("%q does not say %q", f.Sentence, said)
	}
	few(t, f, three)
}

func judgeRise(t *testing.T, r recorded, f found) {
	want := r.right["rise"]
	if !isFunction(f.Function, want[0]) || f.Thread != want[1] {
		t.Errorf("%s in thread %s, want %v", f.Function, f.Thread, want)
	}
	few(t, f, three)
}

func judgePeak(t *testing.T, r recorded, f found) {
	want := r.right["peak"]
	if !isFunction(f.Function, want[0]) {
		t.Errorf("%s held the peak, want %s", f.Function, want[0])
	}
	a := kit.JSON[struct {
		Peak struct {
			Bytes int64
			Ns    int64 `json:"time_ns"`
		}
	}](t, "report", "--json", r.path)[0].Peak
	if !strings.Contains(f.Text, mib(a.Bytes)) {
		t.Errorf("%q does not say %s", f.Text, mib(a.Bytes))
	}
	few(t, f, three)
}

func judgeResident(t *testing.T, r recorded, f found) {
	want := r.right["resident"]
	memory := kit.JSON[struct {
		Bytes int64 `json:"resident_bytes"`
		Parts []struct {
			Kind  string
			Bytes int64 `json:"resident_bytes"`
		}
	}](t, "memory", "--json", r.path)[0]
	labels := map[string]string{"live": "live blocks", "slack": "free in the allocator, and slack",
		"mapped": "mapped by the program", "stacks": "stacks of the threads", "static": "static data"}
	var live int64
	for _, p := range memory.Parts {
		if p.Kind == "live" {
			live = p.Bytes
		}
		if label, ok := labels[p.Kind]; ok && p.Bytes > 0 && f.Parts[label] != mib(p.Bytes) {
			t.Errorf("%s: %q, want %s", label, f.Parts[label], mib(p.Bytes))
		}
	}
	if f.Parts["resident"] != mib(memory.Bytes) {
		t.Errorf("resident: %q, want %s", f.Parts["resident"], mib(memory.Bytes))
	}
	if ratio := float64(memory.Bytes) / float64(live); ratio < 2.2 {
		t.Errorf("the resident set is %.2f times the live blocks", ratio)
	}
	if !strings.Contains(f.Sentence, "Most of the rest is "+labels[want[0]]) {
		t.Errorf("%q, want %s", f.Sentence, labels[want[0]])
	}
	if !isFunction(f.Mapper, want[1]) || !strings.Contains(f.Line, "mmap(") {
		t.Errorf("%s has mapped memory, in %q, want %s", f.Mapper, f.Line, want[1])
	}
	few(t, f, three)
}

func judgeSmall(t *testing.T, r recorded, f found) {
	want := r.right["small"]
	if !isFunction(f.Function, want[0]) || f.Place != want[1] {
		t.Errorf("%s at %s makes the small blocks, want %v", f.Function, f.Place, want)
	}
	if !strings.Contains(f.Line, "Block(new char[") {
		t.Errorf("the source page shows %q", f.Line)
	}
	// What the bar says is the command line's, and it is the filter.
	sizes := kit.JSON[struct {
		Sizes []struct{ Min, Max, Count int64 }
	}](t, "hist", "--json", r.path)[0].Sizes
	most := slices.MaxFunc(sizes, func(a, b struct{ Min, Max, Count int64 }) int {
		return cmp.Compare(a.Count, b.Count)
	})
	if said := fmt.Sprintf("%d to %d B", most.Min, most.Max); !strings.Contains(f.Sentence, said) {
		t.Errorf("%q, want %s", f.Sentence, said)
	}
	if word := fmt.Sprintf("size %d..%d", most.Min, most.Max); !strings.Contains(f.Text, word) {
		t.Errorf("the filter is %q, want %s", f.Text, word)
	}
	few(t, f, 5)
}

func judgeRepeat(t *testing.T, r recorded, f found) {
	want := r.right["repeat"] // the function, blocks and bytes of each repeat
	if !isFunction(f.Function, want[0]) || !strings.Contains(f.Line, "make_unique<char[]>(parts[") {
		t.Errorf("%s leaves something behind, in %q, want %s", f.Function, f.Line, want[0])
	}
	bytes, err := strconv.ParseInt(want[2], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{"each": mib(bytes), "blocks": want[1] + " blocks", "times": "3", "rows": "1"}
	for what, text := range said {
		if f.Parts[what] != text {
			t.Errorf("%s: %q, want %q", what, f.Parts[what], text)
		}
	}
	few(t, f, three)
}

func judgeSend(t *testing.T, _ recorded, f found) {
	if f.Views[0] != f.Views[1] {
		a, b := strings.Split(f.Views[0], "\n"), strings.Split(f.Views[1], "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Errorf("the views differ: %q and %q", a[i], b[i])
			}
		}
		t.Errorf("views of %d and %d lines differ", len(a), len(b))
	}
	if len(f.Views[0]) < 1000 || strings.Contains(f.Link, "code=") {
		t.Errorf("the link %q leads to %q", f.Link, f.Views[0])
	}
	few(t, f, 7) // three of the rise, two to send it, two to see it
}

// mib spells bytes as the screen does.
func mib(n int64) string {
	value, units := float64(n), []string{"B", "KiB", "MiB", "GiB"}
	if value < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	for value >= 1024 {
		value, units = value/1024, units[1:]
	}
	switch {
	case value < 9.995:
		return fmt.Sprintf("%.2f %s", value, units[0])
	case value < 99.95:
		return fmt.Sprintf("%.1f %s", value, units[0])
	}
	return fmt.Sprintf("%.0f %s", value, units[0])
}

func thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
