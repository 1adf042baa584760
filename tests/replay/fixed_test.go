// Package replay judges heaptap replay from outside: by recordings of the player itself, and by running programs on the
// allocators.
package replay

import (
	"fmt"
	"maps"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/replay"
	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
)

func TestMain(m *testing.M) { kit.Main(m) }

// call is what a thread asked the allocator for. A block is known by the thread that allocated it, and by how many that
// had allocated before.
type call struct {
	what        string
	size, align uint64
	count       uint64
	block       [2]int // that ends, or moves
}

// heard is what a recording says of the allocator's work.
type heard struct {
	threads [][]call // the main thread's first
	peak    uint64   // requested bytes
}

// hear reads a part of a recording: what is live at its beginning, as if it were allocated then, and the events.
// Threads are in the order of their first calls, except the main one.
func hear(t *testing.T, r *recording.Reader, from, to uint64) *heard {
	t.Helper()
	if to == 0 {
		to = math.MaxUint64
	}
	h := &heard{threads: [][]call{nil}}
	number := make(map[uint32]int)
	threadOf := func(index uint32) int {
		if r.Threads()[index].TID == uint32(r.Process().PID) {
			return 0
		}
		n, ok := number[index]
		if !ok {
			n = len(h.threads)
			number[index] = n
			h.threads = append(h.threads, nil)
		}
		return n
	}
	type block struct {
		id   [2]int
		size uint64
	}
	blocks := make(map[uint64]block)
	moving := make(map[uint32][]block)
	made := make(map[int]int)
	live := uint64(0)
	before := make(map[uint64]event.Event) // what is live at the beginning
	begin := func() {
		for _, ref := range slices.Sorted(maps.Keys(before)) {
			e := before[ref]
			if ofThreads(r, e.Stack) {
				continue
			}
			n := threadOf(e.Thread)
			c := call{what: "alloc", size: e.Size, align: e.Align}
			if e.Func == event.Calloc {
				c.what, c.count = "calloc", e.Count
			}
			h.threads[n] = append(h.threads[n], c)
			blocks[ref] = block{[2]int{n, made[n]}, e.Size}
			made[n]++
			live += e.Size
		}
		clear(before)
	}
	if err := r.Walk(t.Context(), 0, to, func(n, ref uint64, e *event.Event) bool {
		if n < from {
			switch e.Kind {
			case event.Alloc:
				before[ref] = *e
			case event.Free:
				delete(before, e.Ref)
			}
			return true
		}
		if n == from {
			begin()
		}
		switch {
		case e.Kind == event.Alloc && !ofThreads(r, e.Stack):
			n := threadOf(e.Thread)
			c := call{what: "alloc", size: e.Size, align: e.Align}
			if e.Func == event.Calloc {
				c.what, c.count = "calloc", e.Count
			}
			if list := moving[e.Thread]; e.Flags&event.Realloc != 0 && len(list) > 0 {
				old := list[len(list)-1]
				c.what, c.block, moving[e.Thread] = "realloc", old.id, list[:len(list)-1]
				live -= old.size
			}
			h.threads[n] = append(h.threads[n], c)
			blocks[ref] = block{[2]int{n, made[n]}, e.Size}
			made[n]++
			live += e.Size
			h.peak = max(h.peak, live)
		case e.Kind == event.Free:
			b, ok := blocks[e.Ref]
			delete(blocks, e.Ref)
			switch {
			case !ok:
			case e.Flags&event.Realloc != 0:
				moving[e.Thread] = append(moving[e.Thread], b)
			default:
				n := threadOf(e.Thread)
				h.threads[n] = append(h.threads[n], call{what: "free", block: b.id})
				live -= b.size
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	// Of a realloc that goes on at the end of the part, a replay plays what it took away.
	for _, thread := range slices.Sorted(maps.Keys(moving)) {
		for _, b := range moving[thread] {
			n := threadOf(thread)
			h.threads[n] = append(h.threads[n], call{what: "free", block: b.id})
		}
	}
	return h
}

// ofThreads says whether a call stack allocates for a thread that starts.
func ofThreads(r *recording.Reader, stack uint32) bool {
	for stack != 0 {
		n, _ := r.Nodes().Get(stack)
		for _, f := range r.Frames(n.PC) {
			if strings.Contains(f.Function, "pthread_create") || strings.HasPrefix(f.Function, "_dl_allocate_tls") ||
				strings.HasPrefix(f.Function, "__tls_get_addr") || f.Function == "_dl_resize_dtv" {
				return true
			}
		}
		stack = n.Parent
	}
	return false
}

// programs are recorded; each returns its recording.
var programs = map[string]func(t *testing.T) *recording.Reader{
	"sqlite3": func(t *testing.T) *recording.Reader {
		_, r := kit.Record(t, need.Tool(t, "sqlite3"), ":memory:", "create table t(a, b); with recursive c(x) as "+
			"(select 1 union all select x + 1 from c where x < 20000) insert into t select x, hex(randomblob(x % 90)) "+
			"from c; "+
			"create index i on t(b); select count(*) from t group by length(b) limit 2;")
		return r
	},
	"python3": func(t *testing.T) *recording.Reader {
		_, r := kit.Record(t, need.Tool(t, "python3"), "-c", "import json, random, threading\n"+
			"def f(): json.loads(json.dumps([{'a': i, 'b': 'x' * random.randint(1, 900)} for i in range(3000)]))\n"+
			"l = [threading.Thread(target=f) for _ in range(3)]\nfor t in l: t.start()\nfor t in l: t.join()\n")
		return r
	},
	"redis-server": redis,
	"C++": func(t *testing.T) *recording.Reader {
		_, r := kit.Record(t, kit.Compile(t, "g++", "-O1", "-g", "src/rings.cc", "-pthread"), "6000")
		return r
	},
}

func redis(t *testing.T) *recording.Reader {
	path := filepath.Join(t.TempDir(), "redis.htap")
	serve(t, exec.Command(kit.Binary(t), "run", "-q", "-o", path, "--"), func(client func(args ...string) string) {
		client("redis-benchmark", "-q", "-n", "3000", "-t", "set,get,lpush,lpop,sadd,hset,zadd", "-r", "1000", "-d",
			"100")
		client("redis-cli", "flushall", "async")
	})
	return kit.Open(t, path)
}

// serve runs a redis server as the last words of a command, has clients of it do something, and ends it.
func serve(t *testing.T, server *exec.Cmd, do func(client func(args ...string) string)) {
	t.Helper()
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	server.Args = append(server.Args, need.Tool(t, "redis-server"), "--port", "0", "--unixsocket", socket, "--save", "",
		"--loglevel", "warning", "--dir", dir)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	client := func(args ...string) string {
		out, _ := exec.Command(need.Tool(t, args[0]), append([]string{"-s", socket}, args[1:]...)...).CombinedOutput()
		return string(out)
	}
	kit.Until(t, "the server answers", func() bool { return strings.Contains(client("redis-cli", "ping"), "PONG") })
	do(client)
	client("redis-cli", "shutdown", "nosave")
	if err := server.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestFixedPoint: the player makes the calls that the recording has, by thread, in their order, with their sizes and
// alignments, and on the same blocks. A recording of the player says so.
func TestFixedPoint(t *testing.T) {
	for name, record := range programs {
		t.Run(name, func(t *testing.T) {
			r := record(t)
			want := hear(t, r, 0, 0)
			for _, order := range []replay.Order{replay.Window, replay.Total, replay.Free} {
				got := hear(t, played(t, r, replay.Options{Order: order}), 0, 0)
				sameCalls(t, string(order), got, want)
				calls := 0
				for _, list := range want.threads {
					calls += len(list)
				}
				t.Logf("%s: %d calls of %d threads, peak %d, recorded %d", order, calls, len(want.threads), got.peak,
					want.peak)
				exact := order == replay.Total || len(want.threads) == 1
				if off := math.Abs(float64(got.peak) - float64(want.peak)); exact && off != 0 ||
					order == replay.Window && off > 0.01*float64(want.peak) {
					t.Errorf("%s: the peak is %d, want %d", order, got.peak, want.peak)
				}
			}
		})
	}
}

// TestPart: blocks that are live at the beginning of a part are allocated first, by their threads.
func TestPart(t *testing.T) {
	r := programs["C++"](t)
	_, last := r.Cuts()
	for _, o := range []replay.Options{
		{Order: replay.Window, From: last / 2}, {Order: replay.Total, From: last / 3, To: last / 2},
		{Order: replay.Window, From: last * 9 / 10, Timed: true},
	} {
		got, want := hear(t, played(t, r, o), 0, 0), hear(t, r, o.From, o.To)
		sameCalls(t, fmt.Sprintf("%+v", o), got, want)
	}
}

// TestFewerThreads: recorded threads share players; the calls are the same.
func TestFewerThreads(t *testing.T) {
	r := programs["C++"](t)
	got := hear(t, played(t, r, replay.Options{Order: replay.Window, Threads: 3}), 0, 0)
	count := func(h *heard) map[call]int {
		sums := make(map[call]int)
		for _, list := range h.threads {
			for _, c := range list {
				c.block = [2]int{}
				sums[c]++
			}
		}
		return sums
	}
	if len(got.threads) != 4 {
		t.Errorf("%d threads, want the main one and 3", len(got.threads))
	}
	if !maps.Equal(count(got), count(hear(t, r, 0, 0))) {
		t.Error("the calls differ")
	}
}

// played records the player while it plays a recording.
func played(t *testing.T, r *recording.Reader, o replay.Options) *recording.Reader {
	t.Helper()
	if o.To == 0 {
		o.To = math.MaxUint64
	}
	dir := t.TempDir()
	plan, err := replay.Make(t.Context(), r, filepath.Join(dir, "plan"), o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := replay.NewPlayer(dir)
	if err != nil {
		t.Fatal(err)
	}
	words, err := p.Once(plan)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, again := kit.Record(t, words...)
	t.Logf("%d calls by %d threads, %d bytes: played in %v", plan.Calls, plan.Threads, plan.Bytes, time.Since(began))
	return again
}

func sameCalls(t *testing.T, what string, got, want *heard) {
	t.Helper()
	if len(got.threads) != len(want.threads) {
		t.Errorf("%s: %d threads, want %d", what, len(got.threads), len(want.threads))
		return
	}
	// Threads that begin at about the same time may change places.
	order := make([]int, len(want.threads))
	for i := range order {
		order[i] = i
		if !sameShape(got.threads[i], want.threads[i]) {
			order[i] = slices.IndexFunc(want.threads, func(list []call) bool { return sameShape(got.threads[i], list) })
		}
		if order[i] < 0 {
			k := 0
			one, other := got.threads[i], want.threads[i]
			for k < min(len(one), len(other)) && one[k].what == other[k].what && one[k].size == other[k].size {
				k++
			}
			t.Errorf("%s: thread %d has %d calls, as no recorded thread has; recorded: %d, that differ from call "+
				"%d on: %+v, recorded: %+v", what, i, len(one), len(other), k, one[k:min(k+3, len(one))],
				other[k:min(k+3, len(other))])
			return
		}
	}
	for i, list := range got.threads {
		for k, c := range list {
			c.block[0] = order[c.block[0]]
			w := want.threads[order[i]][k]
			if c.what == "alloc" || c.what == "calloc" {
				c.block, w.block = [2]int{}, [2]int{}
			}
			if c != w {
				t.Errorf("%s: call %d of thread %d is %+v, recorded: %+v", what, k, i, c, w)
				break
			}
		}
	}
}

func sameShape(a, b []call) bool {
	return slices.EqualFunc(a, b, func(a, b call) bool {
		return a.what == b.what && a.size == b.size && a.align == b.align
	})
}
