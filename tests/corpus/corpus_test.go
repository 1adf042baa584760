package corpus

import (
	"embed"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/programs"
)

//go:embed src
var sources embed.FS

var optimisations = []string{"-O0", "-O2"}

// program is a compiled source.
type program struct {
	path  string
	facts facts
}

// run is a recorded run of a program, with what was asked of it already.
type run struct {
	t *testing.T
	*program
	recording string
	reported  *report
	dumped    []dumpEvent
	stacks    map[uint32][]frame
}

func TestMain(m *testing.M) { kit.Main(m) }

func TestCorpus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, sources); err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(sources, "src/*.c*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(sources, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, level := range optimisations {
			base := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)) + level
			t.Run(base, func(t *testing.T) {
				t.Parallel()
				p := &program{path: filepath.Join(dir, base), facts: facts{}}
				if err := p.facts.read(string(text)); err != nil {
					t.Fatal(err)
				}
				if err := programs.Compile(filepath.Join(dir, name), p.path, level); err != nil {
					t.Fatal(err)
				}
				record(t, p).check()
			})
		}
	}
}

// record runs a program under heaptap run, and takes over the facts that it prints.
func record(t *testing.T, p *program) *run {
	r := &run{t: t, program: p, recording: p.path + ".htap"}
	if err := p.facts.read(kit.Heaptap(t, "run", "-q", "-o", r.recording, p.path)); err != nil {
		t.Fatal(err)
	}
	return r
}

// json asks a question and reads the answer.
func (r *run) json(answer any, args ...string) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(kit.Heaptap(r.t, append(args, "--json", r.recording)...)), answer); err != nil {
		r.t.Fatalf("heaptap %s: %v", strings.Join(args, " "), err)
	}
}

// check puts every fact to every command.
func (r *run) check() {
	for subject, want := range r.facts {
		switch subject {
		case "all":
			r.compare("report", "the process", r.whole(), want)
		case "maps":
			r.compare("report", "mappings", r.maps(), want)
		case "resident":
			r.resident(want["bytes"])
		default:
			r.function(subject, want)
		}
	}
	r.runtime()
}

// function puts the facts of a function to every command. At least one of them must report each fact.
func (r *run) function(name string, want map[string]uint64) {
	reported := map[string]bool{}
	for _, q := range questions {
		got := q.ask(r, name)
		for metric := range got {
			reported[metric] = true
		}
		r.compare(q.command, name, got, want)
	}
	for metric := range want {
		if !reported[metric] {
			r.t.Errorf("no command reports %s of %s", metric, name)
		}
	}
}

func (r *run) compare(command, subject string, got values, want map[string]uint64) {
	for metric, n := range want {
		if v, ok := got[metric]; ok && v != n {
			r.t.Errorf("heaptap %s: %s: %s is %d, the source says %d", command, subject, metric, v, n)
		}
	}
}

// runtime checks that the buffers of files, what the loader allocates, and what the initialiser of the C++ library
// allocates is called the runtime's, and nothing else: of it, leaks shows nothing.
func (r *run) runtime() {
	own := func(stack []frame) bool {
		if len(stack) == 0 {
			return true
		}
		file := filepath.Base(stack[0].Module)
		return !strings.Contains(stack[0].Function, "_IO_file_doallocate") && !strings.HasPrefix(file, "ld-linux") &&
			(!strings.HasPrefix(file, "libstdc++") || slices.ContainsFunc(stack, func(f frame) bool {
				return f.Module == r.path && f.Function != "_start"
			}))
	}
	for _, s := range r.report().Stacks {
		if class := map[bool]string{true: "program", false: "runtime"}[own(s.Frames)]; s.Class != class {
			r.t.Errorf("the stack %v is called the %s's", s.Frames, s.Class)
		}
	}
	var t struct {
		Rows   []row
		Frames frameTable
	}
	r.json(&t, "leaks", "--limit", "0")
	for _, row := range t.Rows {
		if stack := t.Frames.of(row.Group.Stack); !own(stack) {
			r.t.Errorf("heaptap leaks: %v", stack)
		}
	}
}

// resident compares the largest resident set with what the program read of itself. What it takes to be recorded is in
// both.
func (r *run) resident(want uint64) {
	var t struct {
		Resident []uint64 `json:"resident_bytes"`
	}
	r.json(&t, "timeline", "--steps", "50")
	got := map[string]uint64{"report": r.report().Samples.Peak}
	if len(t.Resident) > 0 {
		got["timeline"] = slices.Max(t.Resident)
	}
	const slop = 2 << 20 // reading it takes memory, too
	for _, command := range []string{"report", "timeline"} {
		if n := got[command]; n+slop < want || n > want+slop {
			r.t.Errorf("heaptap %s: resident set %d, the program says %d", command, n, want)
		}
	}
}
