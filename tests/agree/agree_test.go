package agree

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
	"github.com/heaptap/heaptap/tests/programs"
)

// threadsProgram allocates in four threads, frees in others, reallocates, and keeps some.
const threadsProgram = `
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::mutex lock;
static std::vector<std::string *> shared;
static std::vector<void *> kept;

static void work(int id) {
  std::vector<std::string> own;
  for (int i = 0; i < 3000; i++) {
    own.push_back(std::string(20 + (i * 7 + id) % 400, 'x'));
    auto s = new std::string(100 + i % 50, 'y');
    std::lock_guard<std::mutex> guard(lock);
    shared.push_back(s);
    if (shared.size() > 40) {
      delete shared.front();
      shared.erase(shared.begin());
    }
    if (i % 500 == 0)
      kept.push_back(malloc(i));
  }
}

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back(work, i);
  for (auto &t : threads)
    t.join();
  void *volatile p = malloc(10);
  for (int i = 1; i < 30; i++)
    p = realloc(p, i * 1000);
  return p == nullptr;
}
`

// compiledProgram is what cc1plus compiles. It is small: with <map> alone there are 90,000 call stacks, 100 MB of JSON.
const compiledProgram = `
template <int n> struct fibonacci {
  static constexpr int value = fibonacci<n - 1>::value + fibonacci<n - 2>::value;
};
template <> struct fibonacci<1> { static constexpr int value = 1; };
template <> struct fibonacci<0> { static constexpr int value = 0; };

int sum(const int *v, int n) {
  int s = fibonacci<40 % 7>::value;
  for (int i = 0; i < n; i++)
    s += v[i] * i;
  return s;
}
`

// answerJSON is the JSON of an answer, with ways to look into it.
type answerJSON struct {
	t    *testing.T
	what string
	v    any
}

// at follows names and numbers: at("rows", 0, "self").
func (a answerJSON) at(path ...any) answerJSON {
	a.t.Helper()
	v := a.v
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok || m[p] == nil {
				a.t.Fatalf("%s has no %v", a.what, path)
			}
			v = m[p]
		case int:
			v = v.([]any)[p]
		}
	}
	return answerJSON{a.t, a.what, v}
}

func (a answerJSON) list() []answerJSON {
	var list []answerJSON
	for _, v := range a.v.([]any) {
		list = append(list, answerJSON{a.t, a.what, v})
	}
	return list
}

func (a answerJSON) n() uint64 {
	a.t.Helper()
	n, err := a.v.(json.Number).Int64()
	if err != nil {
		a.t.Fatalf("%s: %v is not a whole number", a.what, a.v)
	}
	return uint64(n)
}

// sum adds up a number of all elements of a list.
func (a answerJSON) sum(path ...any) uint64 {
	a.t.Helper()
	total := uint64(0)
	for _, x := range a.list() {
		total += x.at(path...).n()
	}
	return total
}

// sumPresent is sum, where a field that is missing is 0.
func (a answerJSON) sumPresent(field string) uint64 {
	a.t.Helper()
	total := uint64(0)
	for _, x := range a.list() {
		if n, ok := x.v.(map[string]any)[field]; ok {
			total += answerJSON{a.t, a.what, n}.n()
		}
	}
	return total
}

func (a answerJSON) most() uint64 {
	most := uint64(0)
	for _, x := range a.list() {
		most = max(most, x.n())
	}
	return most
}

// ask runs a command and returns its JSON.
func ask(t *testing.T, args ...string) answerJSON {
	t.Helper()
	out, err := heaptap(t, args...).Output()
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return answered(t, out, args)
}

// checked runs a check, which does not hold.
func checked(t *testing.T, args ...string) answerJSON {
	t.Helper()
	out, err := heaptap(t, args...).Output()
	if err == nil {
		t.Errorf("%v: everything holds", args)
	}
	return answered(t, out, args)
}

// answered decodes the output of a command without the frames of call stacks: they are most of it, and not numbers.
func answered(t *testing.T, out []byte, args []string) answerJSON {
	t.Helper()
	a := answerJSON{t: t, what: strings.Join(args, " ")}
	d := json.NewDecoder(bytes.NewReader(withoutFrames(out)))
	d.UseNumber()
	if err := d.Decode(&a.v); err != nil {
		t.Fatalf("%s: %v", a.what, err)
	}
	return a
}

// withoutFrames empties the lists of frames in JSON. They end with a string.
func withoutFrames(b []byte) []byte {
	out := b[:0]
	for {
		list, rest, found := bytes.Cut(b, []byte(`[{"function":"`))
		out = append(out, list...)
		if !found {
			return out
		}
		out = append(out, "[]"...)
		if _, b, found = bytes.Cut(rest, []byte(`"}]`)); !found {
			return nil
		}
	}
}

// heaptap prepares a command, in a folder of its own.
func heaptap(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(kit.Binary(t), args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cmd.Dir)
	return cmd
}

// program is one whose recording all commands are asked about.
type program struct {
	args  []string
	drive func(ctx context.Context, dir string) (string, error) // beside it, in its working directory
	// It has so many call stacks that not all commands list all of them.
	large bool
	every int // only one in so many questions is asked; 0: all are
}

// allPrograms builds what the programs need in dir.
func allPrograms(t *testing.T, dir string) map[string]program {
	t.Helper()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777),
			os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	threads := filepath.Join(dir, "threads")
	if out, err := exec.Command("g++", "-O1", "-g", "-pthread", "-o", threads,
		write("threads.cc", threadsProgram)).CombinedOutput(); err != nil {
		t.Fatalf("g++: %v\n%s", err, out)
	}
	// Python3 may be a script.
	python, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatalf("python3: %v", err)
	}
	write("src/heavy.cc", compiledProgram)
	cc1plus, err := programs.Compiler(dir)
	if err != nil {
		t.Fatal(err)
	}
	redis := programs.Redis(300)
	return map[string]program{
		"threads": {args: []string{threads}},
		"python": {args: []string{strings.TrimSpace(string(python)), "-S", "-c",
			"x = [str(i) * 5 for i in range(1000)]; del x[::2]"},
			large: true, every: 4},
		"sqlite": {args: []string{"sqlite3", ":memory:", "create table t (a integer primary key, b text);" +
			"with recursive n(x) as (select 1 union all select x+1 from n where x<3000) insert into t select x, " +
			"hex(randomblob(x % 300)) from n;" +
			"create index i on t(b); select count(*), sum(length(b)) from t where b like '%AB%';"}},
		"redis":   {args: append([]string{"redis-server"}, redis.Args[1:]...), drive: redis.Drive, every: 4},
		"cc1plus": {args: cc1plus, large: true, every: 4},
	}
}

// record records the program.
func (p *program) record(t *testing.T, file string) {
	t.Helper()
	run := heaptap(t, append([]string{"run", "-q", "-o", file, "--"}, p.args...)...)
	run.Env = append(run.Env, "PYTHONMALLOC=malloc")
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	if p.drive != nil {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if text, err := p.drive(ctx, run.Dir); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	err := run.Wait()
	if _, missing := os.Stat(file); err != nil || missing != nil {
		t.Fatalf("%v: %v\n%s", p.args, err, out.Bytes())
	}
}

func TestMain(m *testing.M) { kit.Main(m) }

// TestCommandsAgree: for every question about real recordings, all commands show the same numbers.
func TestCommandsAgree(t *testing.T) {
	for _, tool := range []string{"g++", "python3", "sqlite3", "redis-server"} {
		need.Tool(t, tool)
	}
	os.Unsetenv("DEBUGINFOD_URLS") // tests must not wait for servers
	dir := t.TempDir()
	for name, p := range allPrograms(t, dir) {
		file := filepath.Join(dir, name+".htap")
		p.record(t, file)
		for i, question := range [][]string{
			nil,
			{"--from", "25%", "--to", "75%"},
			{"--from", "peak"},
			{"--size", "64..1k"},
			{"--lifetime", "..200us"},
			{"--lifetime", "200us.."},
			{"--focus", "(?i)str|insert|sqlite3Vdbe"},
			{"--module", "libc", "--ignore", "printf"},
			{"--thread", "*", "--from", "10%", "--to", "90%", "--size", "..500"},
		} {
			if i%max(p.every, 1) != 0 {
				continue
			}
			t.Run(name+" "+strings.Join(question, " "), func(t *testing.T) {
				t.Parallel()
				commandsAgree(t, file, question, p.large)
			})
		}
	}
}

// sums are the metrics that sum up, and where the report has them.
var sums = map[string][]any{
	"allocations": {"totals", "allocations"}, "bytes": {"totals", "bytes"},
	"deallocations": {"totals", "deallocations"}, "freed": {"totals", "freed_bytes"},
	"temporary": {"temporary", "allocations"}, "temporary-bytes": {"temporary", "bytes"},
	"zero-size": {"totals", "zero_size"}, "slack": {"totals", "slack_bytes"}, "reallocations": {"totals",
		"reallocations"},
	"peak": {"peak", "bytes"}, "peak-blocks": {"peak", "blocks"}, "leaked": {"leaked",
		"bytes"}, "leaked-blocks": {"leaked", "blocks"},
}

func commandsAgree(t *testing.T, file string, question []string, large bool) {
	asked := func(command string, more ...string) answerJSON {
		t.Helper()
		return ask(t, append(append([]string{command, "--json", file}, more...), question...)...)
	}
	equal := func(what string, got, want uint64) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d, the report says %d", what, got, want)
		}
	}
	r := asked("report")
	allocations, bytes := r.at("totals", "allocations").n(), r.at("totals", "bytes").n()
	if len(question) == 0 && allocations < 1000 {
		t.Errorf("%d allocations: the program did not do its work", allocations)
	}
	leaked := r.at("leaked", "bytes").n()
	live := leaked + r.at("leaked", "runtime_bytes").n() // when the recording ends

	names := "bytes"
	for m := range sums {
		if m != "bytes" {
			names += "," + m
		}
	}
	for _, by := range []string{"function", "line", "address", "file", "module", "thread", "size", "allocator",
		"stack"} {
		if large && by == "stack" {
			break // the report's stacks are the same ones
		}
		top := asked("top", "--limit", "0", "--by", by, "--metric", names)
		for m, where := range sums {
			want := r.at(where...).n()
			equal(fmt.Sprintf("top --by %s: %s of all", by, m), top.at("total", m).n(), want)
			equal(fmt.Sprintf("top --by %s: selfs of %s", by, m), top.at("rows").sum("self", m), want)
		}
	}
	all := asked("top", "--metric", "live,live-blocks,own-peak,min-size,max-size,mean-lifetime").at("total")
	for m, field := range map[string]string{"min-size": "min_size", "max-size": "max_size",
		"mean-lifetime": "mean_lifetime_ns"} {
		equal("top: "+m, all.at(m).n(), r.at("totals", field).n())
	}

	stacks := r.at("stacks")
	for field, want := range map[string]uint64{"allocations": allocations, "bytes": bytes, "leaked_bytes": live,
		"deallocations": r.at("totals", "deallocations").n(), "live_at_peak_bytes": r.at("peak", "bytes").n(),
		"live_at_peak_blocks": r.at("peak", "blocks").n(), "temporary": r.at("temporary", "allocations").n()} {
		equal("report's stacks: "+field, stacks.sumPresent(field), want)
	}

	threshold := "0"
	if large {
		threshold = "1"
	}
	tree := asked("tree", "--metric", names, "--threshold", threshold)
	for m, where := range sums {
		equal("tree: "+m, tree.at("total", m).n(), r.at(where...).n())
		if !large {
			equal("tree: selfs of "+m, tree.at("nodes").sum("self", m), r.at(where...).n())
		}
	}

	leaks := asked("leaks", "--limit", "0")
	equal("leaks: what the runtime keeps", leaks.at("runtime", "bytes").n(), r.at("leaked", "runtime_bytes").n())
	equal("leaks: rows", leaks.at("rows").sum("total", "leaked"), leaked)
	equal("top: what the runtime keeps", asked("top", "--metric", "leaked").at("runtime", "bytes").n(), live-leaked)
	equal("leaks --runtime: rows", asked("leaks", "--limit", "0", "--runtime").at("rows").sum("total", "leaked"),
		live)

	line := asked("timeline", "--steps", "50")
	developed := line.at("all", "live_bytes").list()
	equal("timeline: live at the end", developed[len(developed)-1].n(), all.at("live").n())
	equal("timeline: most live", line.at("most_live_bytes").most(), all.at("own-peak").n())
	equal("timeline: allocations", total(line.at("all", "allocations")), allocations)
	equal("timeline: bytes", total(line.at("all", "bytes")), bytes)
	if len(question) == 0 {
		sameSelected(t, r, asked("report", "--from", "start"))
		equal("top: live at the end", all.at("live").n(), live)
		equal("timeline: most live", line.at("most_live_bytes").most(), r.at("peak", "bytes").n())
	}

	hist := asked("hist", "--limit", "0")
	equal("hist: sizes", hist.at("sizes").sum("count"), allocations)
	equal("hist: bytes", hist.at("sizes").sum("bytes"), bytes)
	equal("hist: exact sizes", hist.at("exact").sum("count"), allocations)
	equal("hist: lifetimes", hist.at("lifetimes_ns").sum("count"), r.at("totals", "deallocations").n())
	equal("hist: reallocations", hist.at("reallocations", "count").n(), r.at("totals", "reallocations").n())
	equal("hist: never freed", hist.at("never_freed", "bytes").n(), live)

	threads := asked("threads", "--limit", "0")
	equal("threads: rows", threads.at("rows").sum("total", "allocations"), allocations)
	equal("threads: calls", threads.at("calls").sum("total", "bytes"), bytes)
	equal("threads: matrix", threads.at("matrix").sum("blocks"), r.at("totals", "deallocations").n())
	made, freed := make(map[uint64]uint64), make(map[uint64]uint64)
	for _, row := range threads.at("rows").list() {
		made[row.at("group", "thread", "index").n()] = row.at("total", "allocations").n()
	}
	for _, cell := range threads.at("matrix").list() {
		freed[cell.at("freed_by", "index").n()] += cell.at("blocks").n()
	}
	for _, th := range r.at("per_thread").list() {
		i := th.at("index").n()
		equal(fmt.Sprintf("threads: allocations of thread %d", i), made[i], th.at("allocations").n())
		equal(fmt.Sprintf("threads: deallocations of thread %d", i), freed[i], th.at("deallocations").n())
	}

	listed := "1000000"
	if large {
		listed = "1"
	}
	limits := []string{"--max-peak", "0", "--max-leaked", "0", "--max-allocations", "0", "--max-bytes", "0",
		"--max-temporary", "0",
		"--max-own-peak", "0", "--max-leaked-blocks", "0", "--max-temporary-bytes", "0", "--top", listed}
	gate := checked(t, append(append(append([]string{"check", "--json"}, limits...), question...), file)...)
	for _, c := range gate.at("checks").list() {
		name := strings.TrimPrefix(c.at("name").v.(string), "max-")
		if where, ok := sums[name]; ok {
			equal("check: "+name, c.at("value").n(), r.at(where...).n())
			if !large {
				equal("check: stacks of "+name, c.at("stacks").sum("value"), r.at(where...).n())
			}
		} else if name == "own-peak" {
			equal("check: own-peak", c.at("value").n(), all.at("own-peak").n())
		}
	}
}

// sameSelected: a selection of everything is the same as no selection, except for what belongs to no block.
func sameSelected(t *testing.T, all, selected answerJSON) {
	t.Helper()
	without := func(v any, names ...string) map[string]any {
		m := maps.Clone(v.(map[string]any))
		for _, name := range append(names, "failed", "unmatched_deallocations", "inherited_deallocations",
			"unrecorded_deallocations") {
			delete(m, name)
		}
		return m
	}
	for _, part := range []string{"peak", "leaked", "temporary", "samples", "process", "health"} {
		if d := cmp.Diff(all.at(part).v, selected.at(part).v); d != "" {
			t.Errorf("%s:\n%s", part, d)
		}
	}
	if d := cmp.Diff(without(all.at("totals").v, "events"), without(selected.at("totals").v, "events")); d != "" {
		t.Errorf("totals:\n%s", d)
	}
	for _, whole := range []answerJSON{all, selected} { // the two number frames differently
		frames := whole.at("frames").list()
		for _, s := range whole.at("stacks").list() {
			for i, n := range s.at("frames").list() {
				s.at("frames").v.([]any)[i] = frames[n.n()].v
			}
		}
	}
	for _, part := range []string{"per_thread", "stacks"} {
		var a, b []map[string]any
		for _, x := range all.at(part).list() {
			a = append(a, without(x.v))
		}
		for _, x := range selected.at(part).list() {
			b = append(b, without(x.v))
		}
		if d := cmp.Diff(a, b); d != "" {
			t.Errorf("%s:\n%s", part, d)
		}
	}
	for f, n := range selected.at("functions").v.(map[string]any) {
		if whole := all.at("functions", f).v; whole != n {
			t.Errorf("calls of %s: %v, the report says %v", f, n, whole)
		}
	}
}

// total adds up a list of numbers.
func total(a answerJSON) uint64 {
	sum := uint64(0)
	for _, x := range a.list() {
		sum += x.n()
	}
	return sum
}
