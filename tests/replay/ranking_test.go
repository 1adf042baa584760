package replay

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/replay"
	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
)

// used is what a program, or its replay, needs with an allocator, in several runs.
type used struct{ rss, cpu []float64 }

func (u *used) add(rss, cpu float64) { u.rss, u.cpu = append(u.rss, rss), append(u.cpu, cpu) }

// rounds is how often everything is run in turns: what a shared machine can do changes from minute to minute, so an
// allocator is compared with what another one needed in the same round.
const rounds = 9

// apart says whether one allocator needs at least 5 % more than another in all rounds but one: how long eight threads
// on two processors take depends on when which one runs. If both need the same, this happens in 4 of 100 cases at most.
func apart(quotients []float64) bool {
	more, less := 0, 0
	for _, q := range quotients {
		if q > 1.05 {
			more++
		} else if 1/q > 1.05 {
			less++
		}
	}
	return max(more, less) >= len(quotients)-1
}

func middle(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }

// TestRanking runs programs on each allocator and replays a recording of each: where two allocators are apart, the
// replay has them in the same order, unless they are equal there, to 5 %.
func TestRanking(t *testing.T) {
	if os.Getenv("RANKING") == "" {
		t.Skip("takes minutes, and a machine that does nothing else: make bench-replay")
	}
	usage := kit.Compile(t, "gcc", "-O2", "src/usage.c")
	lists, buffers := kit.Compile(t, "g++", "-O2", "src/lists.cc"), kit.Compile(t, "g++", "-O2", "src/buffers.cc")
	rings := kit.Compile(t, "g++", "-O2", "src/rings.cc", "-pthread")
	producers := kit.Compile(t, "g++", "-O2", "src/producers.cc", "-pthread")
	var allocators []replay.Allocator
	for _, name := range replay.DefaultAllocators {
		a, err := replay.ParseAllocator(name)
		if err != nil {
			need.Lacks(t, err)
		}
		allocators = append(allocators, a)
	}
	programs := map[string]program{
		"sqlite3": words(need.Tool(t, "sqlite3"), ":memory:", "create table t(a, b); with recursive c(x) as (select "+
			"1 union all select x + 1 from c where x < 300000) insert into t select x, hex(randomblob(x % 90)) from "+
			"c; create index i on t(b); select count(*) from (select b from t group by length(b), a % 1000);"),
		"python3": words("env", "PYTHONMALLOC=malloc", python(t), "-c", "import json, random\n"+
			"random.seed(1)\n"+
			"d = [{'a': i, 'b': 'x' * random.randint(1, 900)} for i in range(30000)]\n"+
			"for _ in range(4): e = json.loads(json.dumps(d))\n"),
		"redis-server": func(t *testing.T, cmd *exec.Cmd) { serve(t, cmd, store) },
		"rings":        words(rings, "30000"), "lists": words(lists, "60"), "buffers": words(buffers, "36"),
		"producers": words(producers, "800"),
	}
	var all []pair
	for _, name := range []string{"sqlite3", "python3", "redis-server", "rings", "producers", "lists", "buffers"} {
		actual, replayed := make([]used, len(allocators)), make([]used, len(allocators))
		path := filepath.Join(t.TempDir(), "program.htap")
		programs[name](t, exec.Command(kit.Binary(t), "run", "-q", "-o", path, "--"))
		m := newMeasurement(t, kit.Open(t, path))
		for range rounds {
			for i, a := range allocators {
				actual[i].add(run(t, usage, a, programs[name]))
			}
			for i, row := range m.once(t, allocators).Rows {
				replayed[i].add(row.All.Peak.Median, row.CPU.Median)
			}
		}
		for i, a := range allocators {
			rss, cpu := actual[i].rss, actual[i].cpu
			t.Logf("%-12s %-9s actual: %6.1f MB (%.1f to %.1f) %7.1f ms (%.1f to %.1f)   replay: %6.1f MB %7.1f ms "+
				"(%.1f to %.1f)", name, a.Name, middle(rss)/1e6, slices.Min(rss)/1e6, slices.Max(rss)/1e6,
				middle(cpu)/1e6, slices.Min(cpu)/1e6, slices.Max(cpu)/1e6, middle(replayed[i].rss)/1e6,
				middle(replayed[i].cpu)/1e6, slices.Min(replayed[i].cpu)/1e6, slices.Max(replayed[i].cpu)/1e6)
		}
		for i := range allocators {
			for k := range i {
				what := fmt.Sprintf("%s: %s and %s", name, allocators[i].Name, allocators[k].Name)
				all = append(all, compare(what+", RSS", actual[i].rss, actual[k].rss, replayed[i].rss, replayed[k].rss),
					compare(what+", CPU time", actual[i].cpu, actual[k].cpu, replayed[i].cpu, replayed[k].cpu))
			}
		}
	}
	for _, what := range []string{"RSS", "CPU time"} {
		var of []pair
		for _, p := range all {
			if strings.HasSuffix(p.what, what) {
				of = append(of, p)
			}
		}
		var surely, byMedian verdicts
		for _, p := range of {
			if math.Abs(p.actual-1) <= 0.05 {
				continue
			}
			same := (p.actual > 1) == (p.replayed > 1)
			byMedian.count(p, same)
			if p.apart {
				surely.count(p, same)
			}
			if !same {
				t.Logf("%s: actually %.2f times as much, replayed %.2f times; apart: %v", p.what, p.actual, p.replayed,
					p.apart)
			}
		}
		t.Logf("%s: of %d pairs that are more than 5 %% apart, %s; by medians alone, whatever the rounds were, of %d, "+
			"%s; rank correlation of all %d: %.2f", what, surely.all, &surely, byMedian.all, &byMedian, len(of),
			correlation(of))
		if surely.wrong > 0 || surely.right() < 6 {
			t.Errorf("%s: %d pairs are in another order, %d in the same one; 0 and 6 are wanted", what, surely.wrong,
				surely.right())
		}
	}
}

// verdicts count pairs that are apart.
type verdicts struct{ all, equal, reversed, wrong int }

func (v *verdicts) count(p pair, same bool) {
	v.all++
	switch equal := math.Abs(p.replayed-1) <= 0.05; {
	case equal && same:
		v.equal++
	case equal:
		v.equal++
		v.reversed++
	case !same:
		v.wrong++
	}
}

func (v *verdicts) right() int { return v.all - v.equal - v.wrong }

func (v *verdicts) String() string {
	return fmt.Sprintf("%d are in the same order, %d equal in the replay to 5 %% (%d of them the other way round), %d "+
		"in another order", v.right(), v.equal, v.reversed, v.wrong)
}

// TestHang: an allocator that never returns is ended, and named.
func TestHang(t *testing.T) {
	library := kit.Compile(t, "gcc", "-shared", "-fPIC", "src/hang.c")
	r := programs["sqlite3"](t)
	dir := t.TempDir()
	plan, err := replay.Make(t.Context(), r, filepath.Join(dir, "plan"), replay.Options{To: math.MaxUint64})
	if err != nil {
		t.Fatal(err)
	}
	p, err := replay.NewPlayer(dir)
	if err != nil {
		t.Fatal(err)
	}
	p.Patience = time.Second
	_, err = replay.Measure(t.Context(), p, plan, nil, []replay.Allocator{{Name: "hang", Library: library}},
		replay.Settings{Runs: 1})
	if err == nil || !strings.Contains(err.Error(), "hang: it made no progress for 1s, and was ended") {
		t.Error(err)
	}
}

// pair is how two allocators compare.
type pair struct {
	what             string
	actual, replayed float64 // medians of the quotients of all rounds
	apart            bool
}

func compare(what string, actual, other, replayed, otherReplayed []float64) pair {
	quotients := byRound(actual, other)
	return pair{what, middle(quotients), middle(byRound(replayed, otherReplayed)), apart(quotients)}
}

// byRound divides what was measured in the same round.
func byRound(a, b []float64) []float64 {
	list := make([]float64, len(a))
	for i := range a {
		list[i] = a[i] / b[i]
	}
	return list
}

// correlation is Spearman's, of the quotients.
func correlation(list []pair) float64 {
	rank := func(value func(p pair) float64) []float64 {
		order := make([]int, len(list))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int {
			if value(list[a]) < value(list[b]) {
				return -1
			}
			return 1
		})
		ranks := make([]float64, len(list))
		for at, i := range order {
			ranks[i] = float64(at)
		}
		return ranks
	}
	a, b := rank(func(p pair) float64 { return p.actual }), rank(func(p pair) float64 { return p.replayed })
	sum, n := 0.0, float64(len(list))
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return 1 - 6*sum/(n*(n*n-1))
}

// program runs as the last words of a command.
type program func(t *testing.T, cmd *exec.Cmd)

// words is a program that runs by itself.
func words(list ...string) program {
	return func(t *testing.T, cmd *exec.Cmd) {
		t.Helper()
		cmd.Args = append(cmd.Args, list...)
		if err := cmd.Run(); err != nil {
			t.Fatalf("%q: %v\n%s", cmd.Args, err, cmd.Stderr)
		}
	}
}

// python is the interpreter itself: what is first in the PATH may be a script that starts it.
func python(t *testing.T) string {
	return strings.TrimSpace(kit.Run(t, need.Tool(t, "python3"), "-c", "import sys; print(sys.executable)"))
}

// run runs a program with an allocator, and returns its peak RSS in bytes and its processor time in ns.
func run(t *testing.T, usage string, a replay.Allocator, p program) (rss, cpu float64) {
	t.Helper()
	preload := a.Library
	if preload == "" {
		preload = "libc.so.6" // a program may be linked with another allocator
	}
	cmd := exec.Command(usage)
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+preload)
	var said strings.Builder
	cmd.Stderr = &said
	p(t, cmd)
	text := said.String()
	if _, err := fmt.Sscanf(text[strings.LastIndex(text, "used "):], "used %f %f", &rss, &cpu); err != nil {
		t.Fatal(err)
	}
	return rss * 1024, cpu * 1000
}

// store has a redis server keep values of many sizes, drop most of them, and keep others.
func store(client func(args ...string) string) {
	const script = "math.randomseed(1) for round = 1, 6 do for i = 1, 40000 do " +
		"redis.call('set', 'key' .. math.random(60000), string.rep('x', math.random(40 * round * round))) end " +
		"for i = 1, 30000 do redis.call('del', 'key' .. math.random(60000)) end " +
		"for i = 1, 8000 do redis.call('hset', 'hash' .. math.random(200), i, string.rep('y', math.random(90))) end end"
	client("redis-cli", "eval", script, "0")
}

// measurement replays one recording.
type measurement struct {
	plan   *replay.Plan
	player *replay.Player
}

func newMeasurement(t *testing.T, r *recording.Reader) *measurement {
	t.Helper()
	dir := t.TempDir()
	plan, err := replay.Make(t.Context(), r, filepath.Join(dir, "plan"), replay.Options{Order: replay.Window,
		To: math.MaxUint64})
	if err != nil {
		t.Fatal(err)
	}
	p, err := replay.NewPlayer(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &measurement{plan, p}
}

// once replays once with each allocator. Programs write to most of what they allocate.
func (m *measurement) once(t *testing.T, list []replay.Allocator) *replay.Results {
	t.Helper()
	results, err := replay.Measure(t.Context(), m.player, m.plan, nil, list, replay.Settings{Runs: 1,
		Touch: replay.TouchAll})
	if err != nil || len(results.Rows) != len(list) {
		t.Fatal(err, results)
	}
	return results
}
