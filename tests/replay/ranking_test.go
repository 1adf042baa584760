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

// used is what a program, or its replay, needs with an allocator: the fastest of its runs.
type used struct{ rss, cpu float64 }

// TestRanking runs programs on each allocator and replays a recording of each: where two allocators differ by more than
// 5 %, the replay has them in the same order.
func TestRanking(t *testing.T) {
	if os.Getenv("RANKING") == "" {
		t.Skip("takes minutes, and a machine that does nothing else: make bench-replay")
	}
	usage := kit.Compile(t, "gcc", "-O2", "src/usage.c")
	lists, buffers := kit.Compile(t, "g++", "-O2", "src/lists.cc"), kit.Compile(t, "g++", "-O2", "src/buffers.cc")
	rings := kit.Compile(t, "g++", "-O2", "src/rings.cc", "-pthread")
	var allocators []replay.Allocator
	for _, name := range replay.DefaultAllocators {
		a, err := replay.ParseAllocator(name)
		if err != nil {
			need.Lacks(t, err)
		}
		allocators = append(allocators, a)
	}
	programs := map[string][]string{
		"sqlite3": {need.Tool(t, "sqlite3"), ":memory:", "create table t(a, b); with recursive c(x) as (select 1 " +
			"union all select x + 1 from c where x < 300000) insert into t select x, hex(randomblob(x % 90)) from " +
			"c; create index i on t(b); select count(*) from (select b from t group by length(b), a % 1000);"},
		"python3": {"env", "PYTHONMALLOC=malloc", need.Tool(t, "python3"), "-c", "import json, random\n" +
			"random.seed(1)\n" +
			"d = [{'a': i, 'b': 'x' * random.randint(1, 900)} for i in range(30000)]\n" +
			"for _ in range(4): e = json.loads(json.dumps(d))\n"},
		"rings": {rings, "30000"}, "lists": {lists, "20"}, "buffers": {buffers, "12"},
	}
	var all []pair
	for _, name := range []string{"sqlite3", "python3", "rings", "lists", "buffers"} {
		actual, replayed := make([]used, len(allocators)), make([]used, len(allocators))
		for i, a := range allocators {
			actual[i] = run(t, usage, a, programs[name])
		}
		_, r := kit.Record(t, programs[name]...)
		for i, row := range measure(t, r, allocators).Rows {
			replayed[i] = used{row.All.Peak.Median, row.CPU.Min}
			t.Logf("%-8s %-9s actual: %6.1f MB %7.1f ms   replay: %6.1f MB %7.1f ms", name, row.Name,
				actual[i].rss/1e6, actual[i].cpu/1e6, replayed[i].rss/1e6, replayed[i].cpu/1e6)
		}
		for i := range allocators {
			for k := range i {
				what := fmt.Sprintf("%s: %s and %s", name, allocators[i].Name, allocators[k].Name)
				all = append(all,
					pair{what + ", RSS", actual[i].rss / actual[k].rss, replayed[i].rss / replayed[k].rss},
					pair{what + ", CPU time", actual[i].cpu / actual[k].cpu, replayed[i].cpu / replayed[k].cpu})
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
		notable, wrong := 0, 0
		for _, p := range of {
			if math.Abs(p.actual-1) > 0.05 && math.Abs(p.replayed-1) > 0.05 {
				notable++
				if (p.actual > 1) != (p.replayed > 1) {
					wrong++
					t.Errorf("%s: actually %.2f times as much, replayed %.2f times", p.what, p.actual, p.replayed)
				}
			}
		}
		t.Logf("%s: %d pairs differ by more than 5 %%, %d are in another order; rank correlation of all %d: %.2f",
			what, notable, wrong, len(of), correlation(of))
		if notable < 6 {
			t.Errorf("%s: only %d pairs differ by more than 5 %%", what, notable)
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
	actual, replayed float64
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

// run runs a program three times with an allocator. What a program that allocates nothing uses is not the allocator's.
func run(t *testing.T, usage string, a replay.Allocator, words []string) used {
	t.Helper()
	once := func(words []string) used {
		cmd := exec.Command(usage, words...)
		cmd.Env = os.Environ()
		if a.Library != "" {
			cmd.Env = append(cmd.Env, "LD_PRELOAD="+a.Library)
		}
		var said strings.Builder
		cmd.Stderr = &said
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", words[0], err, said.String())
		}
		var rss, us float64
		text := said.String()
		if _, err := fmt.Sscanf(text[strings.LastIndex(text, "used "):], "used %f %f", &rss, &us); err != nil {
			t.Fatal(err)
		}
		return used{rss * 1024, us * 1000}
	}
	best := used{math.Inf(1), math.Inf(1)}
	for range 3 {
		u := once(words)
		best = used{min(best.rss, u.rss), min(best.cpu, u.cpu)}
	}
	return best
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
	results, err := replay.Measure(t.Context(), p, plan, nil, list, replay.Settings{Runs: 2, Touch: replay.TouchAll})
	if err != nil || len(results.Rows) != len(list) {
		t.Fatal(err, results)
	}
	return results
}
