package api

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/tests/kit"
)

// poolsOf runs src/pools.c with further flags of heaptap run, and has its recording verified.
func poolsOf(t *testing.T, program []string, flags ...string) *recording.Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.htap")
	kit.Heaptap(t, append(append(append([]string{"run", "-q", "-o", path}, flags...), "--"), program...)...)
	kit.Heaptap(t, "verify", path)
	return kit.Open(t, path)
}

func poolNames(list []event.Pool) map[string]event.Pool {
	m := map[string]event.Pool{}
	for _, p := range list {
		m[p.Name] = p
	}
	return m
}

// wantPools is what src/pools.c comes to; it says there what it does.
var wantPools = map[string]event.Pool{
	// 10 of 100, 5 moved to 150, one of these to 140; freed: 5, the 5 and the 1 that moved, then 140 and 150.
	"moves": {Name: "moves", Backing: 100000, PeakBacking: 100000, Allocations: 10 + 5 + 1, Frees: 5 + 5 + 1 + 2,
		Blocks: 3, Live: 3 * 150,
		PeakLive: 1000, Bytes: 10*100 + 5*150 + 140},
	"outer": {Name: "outer", PeakBacking: 100000, Allocations: 3, Frees: 3, PeakLive: 5300, Bytes: 5000 + 300 + 64},
	"inner": {Name: "inner", PeakBacking: 5000, Allocations: 4, Frees: 4, PeakLive: 4000, Bytes: 4000},
	// 3 times 100 of 10; 2000 and 30, in 100,000 bytes that are mapped and as many of the heap.
	"cleared": {Name: "cleared", PeakBacking: 200000, Allocations: 302, Frees: 302, PeakLive: 2030,
		Bytes: 3*1000 + 2030},
	"forks": {Name: "forks", Allocations: 1, Frees: 1, PeakLive: 10, Bytes: 10},
}

func TestPools(t *testing.T) {
	t.Parallel()
	program := []string{compile(t, "src/pools.c")}
	kit.Run(t, program...)
	for _, c := range []struct {
		name      string
		unmatched uint64 // of samples, only that of a block which the agent knows to have been recorded
		flags     []string
	}{
		{"exact", 3, nil},
		{"free stacks and addresses", 3, []string{"--free-stacks", "--addresses"}},
		{"each one sampled", 1, []string{"--mode", "sampled", "--sample-calls", "1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := poolsOf(t, program, c.flags...)
			if d := cmp.Diff(wantPools, poolNames(r.Pools())); d != "" {
				t.Errorf("pools (-want +got):\n%s", d)
			}
			sum, err := r.Tally()
			if err != nil {
				t.Fatal(err)
			}
			a := &sum.Totals
			// The heap: three of 100,000 bytes, one of 200,000 and one of 32, all ended.
			pools := sumOf(wantPools)
			if got, want := a.LeakedBytes(), uint64(450); got != want {
				t.Errorf("%d bytes leaked, want %d", got, want)
			}
			if got, want := a.Bytes-pools.Bytes, uint64(3*100000+200000+32); got != want {
				t.Errorf("%d bytes of the heap, want %d", got, want)
			}
			if got, want := a.Allocations-pools.Allocations, uint64(5); got != want {
				t.Errorf("%d allocations of the heap, want %d", got, want)
			}
			if a.Failed != 2 || a.Unmatched+a.Unrecorded != c.unmatched || a.Unseen != 0 || a.Reallocations < 6 ||
				a.InPlace != 1 {
				t.Errorf("failed %d, unmatched %d, unrecorded %d, unseen %d, reallocations %d, in place %d", a.Failed,
					a.Unmatched, a.Unrecorded, a.Unseen, a.Reallocations, a.InPlace)
			}
			byStack(t, r)
		})
	}
}

func sumOf(pools map[string]event.Pool) (s event.Pool) {
	for _, p := range pools {
		s.Allocations += p.Allocations
		s.Bytes += p.Bytes
	}
	return s
}

// byStack checks that what the call stacks of each pool sum up to is the pool.
func byStack(t *testing.T, r *recording.Reader) {
	t.Helper()
	sum, err := r.Tally()
	if err != nil {
		t.Fatal(err)
	}
	type sums struct{ allocations, frees, bytes, live, blocks uint64 }
	got, want := map[string]sums{}, map[string]sums{}
	for _, s := range sum.Stacks {
		n, _ := r.Nodes().Get(s.ID)
		if pc, _ := r.PCs().Get(n.PC); s.Allocations > 0 {
			if _, ok := pc.Pool(); ok {
				name := r.Frames(n.PC)[0].Function
				g := got[name]
				got[name] = sums{g.allocations + s.Allocations, g.frees + s.Deallocations, g.bytes + s.Bytes,
					g.live + s.LeakedBytes(), g.blocks + s.LeakedBlocks()}
			}
		}
	}
	for _, p := range r.Pools() {
		want["[pool "+p.Name+"]"] = sums{p.Allocations, p.Frees, p.Bytes, p.Live, p.Blocks}
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(sums{})); d != "" {
		t.Errorf("call stacks (-pools +stacks):\n%s", d)
	}
}

// TestPoolsOfThreads: blocks at one address, in several threads, are distinguished only by their order.
func TestPoolsOfThreads(t *testing.T) {
	t.Parallel()
	r := poolsOf(t, []string{compile(t, "src/pools.c"), "threads"})
	p := poolNames(r.Pools())["arenas"]
	if want := (event.Pool{Name: "arenas", Allocations: 40000, Frees: 40000, Bytes: 40000 * 50, PeakLive: p.PeakLive,
		PeakBacking: p.PeakBacking}); p != want {
		t.Errorf("%+v, want %+v", p, want)
	}
	if p.PeakLive < 500 || p.PeakLive > 4*500 || p.PeakBacking < 1000 || p.PeakBacking > 4*1000 {
		t.Errorf("at most %d bytes in %d: four arenas have 500 in 1,000 each", p.PeakLive, p.PeakBacking)
	}
	sum, err := r.Tally()
	if err != nil {
		t.Fatal(err)
	}
	if a := &sum.Totals; a.Unmatched != 0 || a.Unseen != 0 {
		t.Errorf("unmatched %d, unseen %d", a.Unmatched, a.Unseen)
	}
	byStack(t, r)
}

// TestPoolsCounted: in count mode, calls are counted; what is stopped is not there.
func TestPoolsCounted(t *testing.T) {
	t.Parallel()
	program := []string{compile(t, "src/pools.c")}
	r := poolsOf(t, program, "--mode", "count")
	got := map[string][3]uint64{}
	for _, c := range r.Counts().By(event.OfFunc) {
		if c.Func >= event.PoolAlloc {
			name := c.Func.String()
			if c.Frees {
				name += " of blocks"
			}
			got[name] = [3]uint64{c.Calls, c.Failed, c.Bytes}
		}
	}
	// Of allocations all of wantPools but the 6 moves; of deallocations those of heaptap_pool_free, with the 3 that
	// match nothing.
	bytes := sumOf(wantPools).Bytes
	want := map[string][3]uint64{"pool_alloc": {16 - 6 + 3 + 4 + 302 + 1, 1, bytes - 5*150 - 140},
		"pool_move": {6, 1, 5*150 + 140}, "pool_free of blocks": {5 + 2 + 2 + 1 + 1 + 1 + 1, 0, 0}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	r = poolsOf(t, append(program, "freed"), "--mode", "count")
	if d := cmp.Diff(map[string]event.Pool{"freed": {Name: "freed", PeakBacking: 100000}},
		poolNames(r.Pools())); d != "" {
		t.Errorf("pools (-want +got):\n%s", d)
	}

	r = poolsOf(t, program, "--start", "off")
	if sum, err := r.Tally(); err != nil || sum.Totals.Events != 0 {
		t.Errorf("%d events though recording was off, %v", sum.Totals.Events, err)
	}
}

func TestPoolExample(t *testing.T) {
	t.Parallel()
	program := compile(t, "examples/pool.cc")
	kit.Run(t, program)
	out, r := kit.Record(t, program)
	if out != "3000 words\n" {
		t.Errorf("printed %q", out)
	}
	// 200 lines of 10 words are the most at once: 16, 17 and 18 bytes in turn, 67 of 16 and 17 and 66 of 18. In all
	// 300, 100 of each.
	want := event.Pool{Name: "words", PeakBacking: 1 << 20, Allocations: 3000, Frees: 3000,
		PeakLive: 10 * (67*16 + 67*17 + 66*18), Bytes: 10 * 100 * (16 + 17 + 18)}
	list := poolNames(r.Pools())
	if d := cmp.Diff(want, list["words"]); d != "" {
		t.Errorf("words (-want +got):\n%s", d)
	}
	n := list["numbers"]
	if n.Allocations != 2 || n.Frees != 2 || n.PeakLive != 600 || n.Backing != 0 || n.PeakBacking < 600 {
		t.Errorf("numbers %+v", n)
	}
	sum, err := r.Tally()
	if err != nil {
		t.Fatal(err)
	}
	if sum.Totals.Peak.Bytes >= 1<<20 {
		t.Errorf("the peak of %d bytes has the arena's memory in it", sum.Totals.Peak.Bytes)
	}
	byStack(t, r)
}

// TestPoolsRecovered kills the recorder: what is in which pool, and what serves them, is known after it.
func TestPoolsRecovered(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "run.htap")
	cmd := exec.Command(kit.Binary(t), "run", "-q", "-o", path, "--", compile(t, "src/pools.c"), "outlast")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "half\n" {
		t.Errorf("%q, %v", line, err)
	}
	if err := syscall.Kill(kit.Recorder(t, cmd.Process.Pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	kit.Heaptap(t, "verify", path)
	r := kit.Open(t, path)
	want := map[string]event.Pool{
		"freed": {Name: "freed", PeakBacking: 100000, Allocations: 1001, Frees: 1001, PeakLive: 51000, Bytes: 51000},
		"cleared": {Name: "cleared", PeakBacking: 100000, Allocations: 1000, Frees: 1000, PeakLive: 100000,
			Bytes: 100000},
		"inner": {Name: "inner", PeakBacking: 1000, Allocations: 10, Frees: 10, PeakLive: 1000, Bytes: 1000},
	}
	if d := cmp.Diff(want, poolNames(r.Pools())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	sum, err := r.Tally()
	if err != nil {
		t.Fatal(err)
	}
	if a := &sum.Totals; a.LeakedBytes() != 0 || a.Unmatched != 0 || a.Unseen != 0 {
		t.Errorf("leaked %d, unmatched %d, unseen %d", a.LeakedBytes(), a.Unmatched, a.Unseen)
	}
	byStack(t, r)
}
