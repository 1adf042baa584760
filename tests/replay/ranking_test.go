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

// apart says whether two allocators differ by more than 5 %, and by more than their runs do: how long eight threads on
// two processors take depends on when which one runs.
func apart(a, b []float64) bool {
	below := func(a, b []float64) bool { return slices.Max(a) < slices.Min(b) }
	return math.Abs(middle(a)/middle(b)-1) > 0.05 && (below(a, b) || below(b, a))
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
		"rings":        words(rings, "30000"), "lists": words(lists, "20"), "buffers": words(buffers, "12"),
		"producers": words(producers, "800"),
	}
	var all []pair
	for _, name := range []string{"sqlite3", "python3", "redis-server", "rings", "producers", "lists", "buffers"} {
		actual, replayed := make([]used, len(allocators)), make([]used, len(allocators))
		for range 5 {
			for i, a := range allocators {
				one := run(t, usage, a, programs[name], 1)
				actual[i].rss, actual[i].cpu = append(actual[i].rss, one.rss...), append(actual[i].cpu, one.cpu...)
			}
		}
		path := filepath.Join(t.TempDir(), "program.htap")
		programs[name](t, exec.Command(kit.Binary(t), "run", "-q", "-o", path, "--"))
		r := kit.Open(t, path)
		for i, row := range measure(t, r, allocators).Rows {
			replayed[i] = used{[]float64{row.All.Peak.Median}, []float64{row.CPU.Median}}
			rss, cpu := actual[i].rss, actual[i].cpu
			t.Logf("%-12s %-9s actual: %6.1f MB (%.1f to %.1f) %7.1f ms (%.1f to %.1f)   replay: %6.1f MB %7.1f ms",
				name, row.Name, middle(rss)/1e6, slices.Min(rss)/1e6, slices.Max(rss)/1e6, middle(cpu)/1e6,
				slices.Min(cpu)/1e6, slices.Max(cpu)/1e6, row.All.Peak.Median/1e6, row.CPU.Median/1e6)
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
		notable, wrong, byMedian, wrongByMedian := 0, 0, 0, 0
		for _, p := range of {
			if math.Abs(p.actual-1) <= 0.05 || math.Abs(p.replayed-1) <= 0.05 {
				continue
			}
			other := (p.actual > 1) != (p.replayed > 1)
			if byMedian++; other {
				wrongByMedian++
				t.Logf("%s: actually %.2f times as much, replayed %.2f times", p.what, p.actual, p.replayed)
			}
			if !p.apart {
				continue
			}
			if notable++; other {
				wrong++
				t.Errorf("%s: %s is in another order", what, p.what)
			}
		}
		t.Logf("%s: %d pairs are more than 5 %% apart, %d are in another order; by medians alone, whatever the runs "+
			"were, %d and %d; rank correlation of all %d: %.2f", what, notable, wrong, byMedian, wrongByMedian,
			len(of), correlation(of))
		if notable < 6 {
			t.Errorf("%s: only %d pairs are more than 5 %% apart", what, notable)
		}
	}
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
	actual, replayed float64 // quotients
	apart            bool
}

func compare(what string, actual, other, replayed, otherReplayed []float64) pair {
	return pair{what, middle(actual) / middle(other), middle(replayed) / middle(otherReplayed), apart(actual, other)}
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

// run runs a program so many times with an allocator.
func run(t *testing.T, usage string, a replay.Allocator, p program, times int) used {
	t.Helper()
	preload := a.Library
	if preload == "" {
		preload = "libc.so.6" // a program may be linked with another allocator
	}
	var all used
	for range times {
		cmd := exec.Command(usage)
		cmd.Env = append(os.Environ(), "LD_PRELOAD="+preload)
		var said strings.Builder
		cmd.Stderr = &said
		p(t, cmd)
		var rss, us float64
		text := said.String()
		if _, err := fmt.Sscanf(text[strings.LastIndex(text, "used "):], "used %f %f", &rss, &us); err != nil {
			t.Fatal(err)
		}
		all.rss, all.cpu = append(all.rss, rss*1024), append(all.cpu, us*1000)
	}
	return all
}

// store has a redis server keep values of many sizes, drop most of them, and keep others.
func store(client func(args ...string) string) {
	const script = "math.randomseed(1) for round = 1, 6 do for i = 1, 40000 do " +
		"redis.call('set', 'key' .. math.random(60000), string.rep('x', math.random(40 * round * round))) end " +
		"for i = 1, 30000 do redis.call('del', 'key' .. math.random(60000)) end " +
		"for i = 1, 8000 do redis.call('hset', 'hash' .. math.random(200), i, string.rep('y', math.random(90))) end end"
	client("redis-cli", "eval", script, "0")
}

func measure(t *testing.T, r *recording.Reader, list []replay.Allocator) *replay.Results {
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
	// Programs write to most of what they allocate.
	results, err := replay.Measure(t.Context(), p, plan, nil, list, replay.Settings{Runs: 5, Touch: replay.TouchAll})
	if err != nil || len(results.Rows) != len(list) {
		t.Fatal(err, results)
	}
	return results
}
