package stories

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
)

// TestRelease asks which line of a new release keeps more: two builds, in the newer of which code has moved.
func TestRelease(t *testing.T) {
	need.File(t, "../../ui/node_modules/playwright-core/package.json")
	need.Tool(t, "node")
	need.Tool(t, "chromium")
	r, newer := recordReleases(t)
	for _, by := range []string{"mouse", "keyboard"} {
		t.Run(by, func(t *testing.T) {
			all := tell(t, by, play{Story: "release", File: r.path, More: []string{newer}})
			if !t.Failed() {
				judgeRelease(t, r, newer, all[0])
			}
		})
	}
}

// recordReleases records two builds of a program, in the second of which code has moved. That one has what is right.
func recordReleases(t *testing.T) (r recorded, newer string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("src", "release.cc"))
	if err != nil {
		t.Fatal(err)
	}
	include, err := filepath.Abs("src")
	if err != nil {
		t.Fatal(err)
	}
	seed := fmt.Sprint(rand.IntN(12))
	r = recorded{right: make(map[string][]string)}
	for i, name := range []string{"old", "new"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		// Each part moves by another number of lines.
		code, parts := "", strings.Split(string(text), "// MOVED\n")
		for k, part := range parts {
			if k > 0 {
				code += strings.Repeat("// more\n", i*(3*k%7))
			}
			code += part
		}
		r.file = filepath.Join(dir, "release.cc")
		if err := os.WriteFile(r.file, []byte(code), 0o666); err != nil {
			t.Fatal(err)
		}
		program := kit.Compile(t, "g++", "-std=c++17", "-O1", "-I../../include", "-I"+include, r.file)
		path := filepath.Join(t.TempDir(), "release.htap")
		call := []string{"run", "-q", "-o", path, "--", program, seed}
		if i == 0 {
			r.path = path
			kit.Heaptap(t, call...)
			continue
		}
		newer = path
		for line := range strings.Lines(kit.Heaptap(t, append(call, "2")...)) {
			if words := strings.Fields(line); len(words) > 1 {
				r.right[words[0]] = words[1:]
			}
		}
	}
	return r, newer
}

func judgeRelease(t *testing.T, r recorded, newer string, f found) {
	want := r.right["bloat"]
	if !isFunction(f.Function, want[0]) || f.Place != want[1] {
		t.Errorf("%s at %s has grown, want %v", f.Function, f.Place, want)
	}
	_, number, _ := strings.Cut(want[1], ":")
	if !strings.HasPrefix(f.Line, number) || !strings.Contains(f.Line, "keep(Block(new char[") {
		t.Errorf("the source page shows %q, want line %s", f.Line, number)
	}
	// What the page says is the command line's.
	d := kit.JSON[struct {
		Total map[string]struct {
			Before, After, Change int64
			Percent               float64
		}
	}](t, "diff", "--json", "--metric", "peak", r.path, newer)[0].Total["peak"]
	said := fmt.Sprintf("%s %s +%s +%.1f %%", mib(d.Before), mib(d.After), mib(d.Change), d.Percent)
	if !strings.Contains(f.Sentence, said) {
		t.Errorf("%q does not say %q", f.Sentence, said)
	}
	few(t, f, three)
}
