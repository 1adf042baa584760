package record

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/childtest"
	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/procs"
	"github.com/heaptap/heaptap/internal/record/records"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/spool/spooltest"
	"github.com/heaptap/heaptap/internal/wire"
)

// target is a process that does nothing, and a spool that says it did a lot.
type target struct {
	*spooltest.Agent
	t    *testing.T
	cmd  *exec.Cmd
	heap atomic.Uint64 // addresses never used
}

func newTarget(t *testing.T, dir, name string) *target {
	t.Helper()
	cmd := childtest.Sleeping(t)
	g := &target{Agent: spooltest.New(t, dir, name, cmd.Process.Pid), t: t, cmd: cmd}
	g.heap.Store(0x10000)
	g.SetRandom(0, randomOf(t, cmd))
	for i := range uint32(50) {
		g.Node(i/2, g.PC(0x1000+uint64(i), 1))
	}
	g.Module(wire.Module{Kind: wire.ModuleLoad, ID: 1, Start: 0x1000, End: 0x2000}, "id", "/usr/lib/none.so")
	g.Publish()
	return g
}

// randomOf waits until a `sleep` that was just started has been executed, and returns the address of its AT_RANDOM.
func randomOf(t *testing.T, cmd *exec.Cmd) uint64 {
	t.Helper()
	spooltest.Until(t, "sleep is executed", func() bool {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid))
		return strings.HasPrefix(string(b), "sleep")
	})
	random, _ := procs.Random(cmd.Process.Pid)
	return random
}

// attached waits until the recorder has attached to the target's spool, and has then completed a round over it.
func (g *target) attached() {
	g.t.Helper()
	spooltest.Until(g.t, "the recorder is attached", func() bool {
		return atomic.LoadUint32(&g.Header.RecorderState) == wire.RecorderHere
	})
	begun := atomic.LoadUint64(&g.Header.Heartbeat)
	spooltest.Until(g.t, "the recorder has completed a round", func() bool {
		return atomic.LoadUint64(&g.Header.Heartbeat) >= begun+2
	})
}

func (g *target) end() {
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
}

// address gives out an address, perhaps one that some thread has freed.
type heap struct {
	mu   sync.Mutex
	free []uint64
	top  uint64
}

func (h *heap) alloc() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.free); n > 0 {
		a := h.free[n-1]
		h.free = h.free[:n-1]
		return a
	}
	h.top += 64
	return 0x10000 + h.top
}

func (h *heap) release(a uint64) {
	h.mu.Lock()
	h.free = append(h.free, a)
	h.mu.Unlock()
}

// work has threads allocate and free, each also what others have allocated, and returns how many calls that was.
func (g *target) work(proc uint32, threads, calls int) (allocs, frees uint64) {
	h := &heap{}
	pass := make(chan uint64, 64)
	var na, nf atomic.Uint64
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			s := g.Stream(proc, uint32(1000+i), 0, "worker")
			r := rand.New(rand.NewPCG(uint64(i), 3))
			var own []uint64
			free := func(a uint64) {
				s.Event(nil, wire.Record{Kind: wire.KFree, Addr: a})
				h.release(a)
				nf.Add(1)
			}
			for range calls {
				a := h.alloc()
				s.Event(nil, wire.Record{Kind: wire.KMalloc, Addr: a, Size: 40, Stack: 1 + uint32(r.IntN(50))})
				na.Add(1)
				select {
				case pass <- a:
				default:
					own = append(own, a)
				}
				select {
				case b := <-pass:
					free(b)
				default:
					if n := len(own); n > 3 {
						free(own[n-2])
						own = append(own[:n-2], own[n-1])
					}
				}
			}
			s.End()
		})
	}
	wg.Wait()
	return na.Load(), nf.Load()
}

// reports collects what Run says.
type reports struct {
	mu   sync.Mutex
	list []Report
}

func (r *reports) add(rep Report) {
	r.mu.Lock()
	r.list = append(r.list, rep)
	r.mu.Unlock()
}

func (r *reports) of(kind ReportKind) (list []Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rep := range r.list {
		if rep.Kind == kind {
			list = append(list, rep)
		}
	}
	return list
}

func testConfig(t *testing.T, runDir string) (Config, *reports, string) {
	out := t.TempDir()
	reps := &reports{}
	return Config{RunDir: runDir, Output: out, SpillDir: runDir, Report: reps.add, Version: "test"}, reps, out
}

func runDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func finished(t *testing.T, reps *reports, n int) []Report {
	t.Helper()
	list := reps.of(Finished)
	if len(list) != n {
		t.Fatalf("%d recordings are finished, want %d: %+v", len(list), n, reps.list)
	}
	for _, r := range list {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	return list
}

func openRecording(t *testing.T, path string) *recording.Reader {
	t.Helper()
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func allEvents(t *testing.T, r *recording.Reader) (events []event.Event) {
	t.Helper()
	err := r.Events(func(e *event.Event) bool {
		events = append(events, *e)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func TestRun(t *testing.T) {
	for _, test := range []struct {
		name          string
		memory, limit int64
		patience      time.Duration
	}{
		{"plain", 0, 0, time.Second},
		{"on disk", 1, 1 << 30, time.Second},
		{"agent spills", 0, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := runDir(t)
			config, reps, out := testConfig(t, dir)
			config.memory, config.SpillLimit = test.memory, test.limit
			pid := make(chan int, 1)
			config.Main = pid
			ended := make(chan Status, 1)
			config.MainEnded = ended
			done := make(chan error, 1)
			go func() { done <- Run(context.Background(), config) }()
			g := newTarget(t, dir, "prog")
			g.Patience = test.patience
			pid <- g.cmd.Process.Pid
			allocs, frees := g.work(0, 4, 20000)
			g.attached()
			g.end()
			ended <- Status{Exited: true, Code: 3}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			rep := finished(t, reps, 1)[0]
			if rep.Health.LostEvents != 0 || rep.Health.LateEvents != 0 || rep.Totals.Unmatched != 0 ||
				rep.Totals.Unseen != 0 {
				t.Errorf("health %+v, totals %+v", rep.Health, rep.Totals)
			}
			if rep.Totals.Allocations != allocs || rep.Totals.Deallocations != frees || rep.Threads != 4 || !rep.Main {
				t.Errorf("%d allocations, %d deallocations, want %d, %d; %d threads", rep.Totals.Allocations,
					rep.Totals.Deallocations, allocs, frees, rep.Threads)
			}
			want := filepath.Join(out, "prog."+itoa(g.cmd.Process.Pid)+".htap")
			if rep.Path != want {
				t.Errorf("the recording is %s, want %s", rep.Path, want)
			}
			r := openRecording(t, rep.Path)
			end, ok := r.Ending()
			if !ok || !end.Exited || end.Code != 3 {
				t.Errorf("ending %+v", end)
			}
			if th := r.Threads(); len(th) != 4 || th[0].Name != "worker" || th[0].TID < 1000 {
				t.Errorf("threads %+v", th)
			}
			if m := r.Modules(); len(m) != 1 || m[0].Path != "/usr/lib/none.so" || m[0].Unload != -1 {
				t.Errorf("modules %+v", m)
			}
			if len(r.Samples()) == 0 {
				t.Error("no samples of the memory")
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("the run's folder is still there: %v", err)
			}
			if l := reps.of(Settled); len(l) == 0 || l[len(l)-1].Seen != 1 {
				t.Errorf("settled: %+v", l)
			}
		})
	}
}

func itoa(n int) string { return string(appendInt(nil, n)) }

func appendInt(b []byte, n int) []byte {
	if n >= 10 {
		b = appendInt(b, n/10)
	}
	return append(b, byte('0'+n%10))
}

// TestClocks compares the times of events with the clock that everybody has.
func TestClocks(t *testing.T) {
	dir := runDir(t)
	config, reps, _ := testConfig(t, dir)
	pid := make(chan int, 1)
	config.Main = pid
	done := make(chan error, 1)
	go func() { done <- Run(context.Background(), config) }()
	g := newTarget(t, dir, "prog")
	pid <- g.cmd.Process.Pid
	s := g.Stream(0, 1, 0, "x")
	var want []int64
	for i := range uint64(300) {
		want = append(want, int64(clock.Monotonic()-g.Header.Mono0))
		s.Event(nil, wire.Record{Kind: wire.KMalloc, Addr: 64 + i*64, Size: 1, Stack: 1})
		time.Sleep(time.Millisecond) // the events' times must differ
	}
	g.end()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	r := openRecording(t, finished(t, reps, 1)[0].Path)
	i := 0
	for _, e := range allEvents(t, r) {
		if d := e.Time - want[i]; d < -20e3 || d > 500e3 {
			t.Errorf("event %d has time %d, want %d: %d ns off", i, e.Time, want[i], d)
		}
		i++
	}
	if i != len(want) {
		t.Errorf("%d events, want %d", i, len(want))
	}
}

// TestAllKinds follows every kind of record through to the recording.
func TestAllKinds(t *testing.T) {
	dir := runDir(t)
	g := newTarget(t, dir, "prog")
	g.end()
	g.Header.RecorderState = wire.RecorderNone
	s := g.Stream(0, 1, 0, "x")
	n := 0
	for kind := range 64 {
		if kind >= wire.KMmap && kind <= wire.KBrk || kind == wire.KRealloc || kind == wire.KReallocarray {
			continue
		}
		if m := records.Meanings[kind]; m.Known && !m.Stacked && !m.Pool {
			s.Event([]wire.Record{{Kind: wire.XAlign, Value: 64}, {Kind: wire.XCount, Value: 7}},
				wire.Record{Kind: uint8(kind), Addr: 4096, Size: 100, Slack: 4, Stack: 3})
			s.Event(nil, wire.Record{Kind: wire.KDelete, Addr: 4096})
			n++
		}
	}
	big := uint64(5 << 30)
	s.Event([]wire.Record{{Kind: wire.XUsable, Value: big + 4096}, {Kind: wire.XSize, Value: big}},
		wire.Record{Kind: wire.KMalloc, Addr: 8192, Size: wire.SizeExtra, Slack: wire.SlackExtra, Stack: 4})
	s.Event(nil, wire.Record{Kind: wire.KReallocBegin, Addr: 8192})
	s.Event(nil, wire.Record{Kind: wire.KRealloc, Addr: 0, Size: 10, Stack: 5})
	s.Event(nil, wire.Record{Kind: wire.KReallocBegin, Addr: 8192})
	s.Event(nil, wire.Record{Kind: wire.KReallocarray, Addr: 8192, Size: 10, Slack: 14, Stack: 5})
	s.Event(nil, wire.Record{Kind: wire.KStacked | wire.KFree&31, Addr: 8192, Stack: 9})
	s.Event([]wire.Record{{Kind: wire.XOld, Value: 0x5000}, {Kind: wire.XOldSize, Value: 4096}},
		wire.Record{Kind: wire.KMremap, Addr: 0x9000, Size: 8192, Stack: 2})
	s.Event(nil, wire.Record{Kind: wire.KMalloc, Size: 9, Stack: 2})
	s.Event(nil, wire.Record{Kind: wire.KFree, Addr: 0x666})
	out := filepath.Join(t.TempDir(), "x%p.htap")
	if err := Convert(context.Background(), g.Path, out); err != nil {
		t.Fatal(err)
	}
	r := openRecording(t, out)
	events := allEvents(t, r)
	if len(events) != 2*n+8 || n != 15 {
		t.Fatalf("%d events of %d kinds", len(events), n)
	}
	for i := range n {
		a, f := events[2*i], events[2*i+1]
		if a.Kind != event.Alloc || a.Size != 100 || a.Usable != 104 || a.Align != 64 || a.Count != 7 || a.Func == 0 ||
			f.Kind != event.Free || f.Func != event.Delete || f.Ref != uint64(i) || f.Stack != a.Stack ||
			f.Flags&event.Temporary == 0 {
			t.Errorf("event %d: %+v\n%+v", i, a, f)
		}
	}
	e := events[2*n:]
	if e[0].Size != big || e[0].Usable != big+4096 {
		t.Errorf("large allocation: %+v", e[0])
	}
	if e[1].Kind != event.Fail || e[1].Func != event.ReallocFunc {
		t.Errorf("failed realloc: %+v", e[1])
	}
	if e[2].Kind != event.Free || e[3].Kind != event.Alloc || e[3].Func != event.Reallocarray ||
		e[3].Flags&event.InPlace == 0 ||
		e[3].Usable != 24 {
		t.Errorf("realloc: %+v\n%+v", e[2], e[3])
	}
	if e[4].Kind != event.Free || e[4].FreeStack == 0 || e[4].FreeStack == e[4].Stack || e[4].Stack != e[3].Stack {
		t.Errorf("free with stack: %+v", e[4])
	}
	if e[5].Kind != event.Map || e[5].Func != event.Mremap || e[5].OldAddr != 0x5000 || e[5].OldSize != 4096 ||
		e[5].Size != 8192 {
		t.Errorf("mremap: %+v", e[5])
	}
	if e[6].Kind != event.Fail || e[6].Size != 9 || e[7].Kind != event.Unmatched {
		t.Errorf("failed, unmatched: %+v\n%+v", e[6], e[7])
	}
}
