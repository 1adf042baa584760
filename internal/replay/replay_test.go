package replay

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// program makes events of several threads that allocate, move and free blocks, of their own and of others.
func program(seed uint64, threads, n int) []event.Event {
	random := rand.New(rand.NewPCG(seed, 0))
	type block struct {
		ref, size uint64
		thread    uint32
	}
	var list []event.Event
	var live []block
	allocs := uint64(0)
	for i := range n {
		at := int64(i) * 1000
		thread := uint32(random.IntN(threads))
		alloc := event.Event{Time: at, Ref: event.NoRef, Kind: event.Alloc, Thread: thread, Func: event.Malloc,
			Size: uint64(random.IntN(2000))}
		pick := 0
		if len(live) > 0 {
			pick = random.IntN(len(live))
		}
		switch what := random.IntN(10); {
		case what < 4 || len(live) == 0:
			switch random.IntN(4) {
			case 0:
				alloc.Func, alloc.Count = event.Calloc, 1+uint64(random.IntN(9))
				alloc.Size = alloc.Count * uint64(random.IntN(100))
			case 1:
				alloc.Func, alloc.Align = event.PosixMemalign, 8<<random.IntN(10)
			}
			live = append(live, block{allocs, alloc.Size, thread})
			list = append(list, alloc)
			allocs++
		default:
			b := live[pick]
			free := event.Event{Time: at, Kind: event.Free, Func: event.FreeFunc, Thread: thread, Ref: b.ref,
				Size: b.size, BornBy: b.thread}
			if what < 6 {
				free.Flags, free.Func = event.Realloc, event.ReallocFunc
				alloc.Flags, alloc.Func = event.Realloc, event.ReallocFunc
				list = append(list, free, alloc)
				live[pick] = block{allocs, alloc.Size, thread}
				allocs++
				break
			}
			list = append(list, free)
			live[pick] = live[len(live)-1]
			live = live[:len(live)-1]
		}
	}
	return list
}

// record writes events into a recording.
func record(t *testing.T, events []event.Event, threads int, p event.Process) *recording.Reader {
	t.Helper()
	var list []event.Thread
	for i := range threads {
		list = append(list, event.Thread{TID: uint32(p.PID + i)})
	}
	return recordThreads(t, events, list, p)
}

func recordThreads(t testing.TB, events []event.Event, threads []event.Thread, p event.Process) *recording.Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, p, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, th := range threads {
		w.Thread(uint32(i), th)
	}
	if err := w.Events(events); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(recording.Ending{}); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func prepare(t *testing.T, events []event.Event, threads int, o Options) (*Plan, *Player) {
	t.Helper()
	return planOf(t, record(t, events, threads, event.Process{PID: 100}), o)
}

func prepareThreads(t *testing.T, events []event.Event, threads []event.Thread, o Options) (*Plan, *Player) {
	t.Helper()
	return planOf(t, recordThreads(t, events, threads, event.Process{PID: 100}), o)
}

func planOf(t *testing.T, r *recording.Reader, o Options) (*Plan, *Player) {
	t.Helper()
	dir := t.TempDir()
	plan, err := Make(t.Context(), r, filepath.Join(dir, "plan"), o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlayer(dir)
	if err != nil {
		t.Fatal(err)
	}
	return plan, p
}

// TestPlay plays random programs: all calls are made, in each order and mode.
func TestPlay(t *testing.T) {
	for seed, order := range []Order{Window, Total, Free} {
		t.Run(string(order), func(t *testing.T) {
			t.Parallel()
			plan, p := prepare(t, program(uint64(seed), 5, 20_000), 5, Options{Order: order, To: math.MaxUint64})
			touches := []Touch{TouchNone, TouchFirst, TouchAll, TouchRecorded}
			for i, m := range []mode{modeTime, modeLatency, modeMemory, modeCalls} {
				for _, touch := range []Touch{touches[i], touches[(i+1)%4]} {
					o, readings, err := p.play(t.Context(), plan, Allocator{Name: "glibc"}, m, touch)
					if err != nil {
						t.Fatalf("%s %s %s: %v", order, m, touch, err)
					}
					n, timed := uint64(0), uint64(0)
					for i := range o.Calls {
						n += o.Calls[i]
						for class := range o.Times[i] {
							for _, count := range o.Times[i][class].Buckets {
								timed += count
							}
						}
					}
					switch {
					case n != plan.Calls || n != 20_000, o.Progress != uint64(len(plan.Epochs)):
						t.Errorf("%s %s: %d calls, %d epochs; planned: %d, %d", order, m, n, o.Progress, plan.Calls,
							len(plan.Epochs))
					case m == modeLatency && timed != n:
						t.Errorf("%s: %d calls were timed, of %d", order, timed, n)
					case m == modeCalls && o.SystemCalls[12] == 0:
						t.Errorf("%s: brk was never called", order)
					case m == modeMemory && readings[len(readings)-1].RSS == 0:
						t.Errorf("%s: the resident set was not read", order)
					}
				}
			}
		})
	}
}

// TestChanges plays random programs as they would be after a change at all call stacks, and compares with what the
// events say: how many calls are left, and the most that is live.
func TestChanges(t *testing.T) {
	t.Parallel()
	list := program(5, 3, 20_000)
	// Some temporary allocations, too.
	refs := uint64(0)
	for _, e := range list {
		if e.Kind == event.Alloc {
			refs++
		}
	}
	for i := range uint64(5) {
		e := event.Event{Time: 30_000_000, Ref: event.NoRef, Kind: event.Alloc, Func: event.Malloc, Size: 1 << 26}
		list = append(list, e, event.Event{Time: e.Time, Kind: event.Free, Func: event.FreeFunc, Ref: refs + i,
			Size: e.Size, Flags: event.Temporary, Born: e.Time})
	}
	for _, kind := range []ChangeKind{InPool, Reserve, DropTemporaries} {
		plan, p := prepare(t, list, 3, Options{Order: Window, To: math.MaxUint64, Changes: everywhere(kind)})
		calls, pooled, reallocs, temporaries := leftOf(list, kind)
		got := plan.Changed
		if got.Pooled != pooled || got.Reallocations != reallocs || got.Temporaries != temporaries ||
			plan.Calls != calls+got.Chunks {
			t.Errorf("%s: %+v, and %d calls; by the events %d blocks of pools, %d reallocs, %d temporaries, %d calls",
				kind, got, plan.Calls, pooled, reallocs, temporaries, calls)
		}
		if kind == DropTemporaries && plan.Peak >= 1<<26 {
			t.Errorf("%d bytes are live at once", plan.Peak)
		}
		for _, touch := range []Touch{TouchFirst, TouchAll} {
			o, _, err := p.play(t.Context(), plan, Allocator{Name: "glibc"}, modeLatency, touch)
			n := uint64(0)
			if err == nil {
				for _, c := range o.Calls {
					n += c
				}
			}
			if err != nil || n != plan.Calls {
				t.Errorf("%s, touch %s: %d calls, planned %d: %v", kind, touch, n, plan.Calls, err)
			}
		}
	}
}

// leftOf counts what is left of the calls after a change at all call stacks, besides the chunks of pools.
func leftOf(list []event.Event, kind ChangeKind) (calls, pooled, reallocs, temporaries uint64) {
	inPool := make(map[uint64]bool)
	ref := uint64(0)
	for i := range list {
		switch e := &list[i]; {
		case e.Kind == event.Alloc:
			pools := kind == InPool && e.Size <= poolLargest && e.Align <= poolAlign
			moves := e.Flags&event.Realloc != 0
			drops := kind == DropTemporaries && i+1 < len(list) && list[i+1].Flags&event.Temporary != 0
			switch {
			case pools:
				inPool[ref] = true
				pooled++
				if moves && !inPool[list[i-1].Ref] {
					calls++ // the old one is freed
				}
			case kind == Reserve && moves:
				reallocs++
			case drops:
				temporaries++
			default:
				calls++
			}
			ref++
		case e.Flags&event.Realloc != 0 || inPool[e.Ref]:
		case kind == DropTemporaries && e.Flags&event.Temporary != 0:
		default:
			calls++
		}
	}
	return
}

// TestSlots: the table is not much larger than the most blocks that are live at once, and a slot whose count is used up
// is not used again.
func TestSlots(t *testing.T) {
	t.Parallel()
	const n = 200_000
	var list []event.Event
	for i := range uint64(n) {
		list = append(list,
			event.Event{Time: int64(i), Ref: event.NoRef, Kind: event.Alloc, Func: event.Malloc, Size: 10},
			event.Event{Time: int64(i), Kind: event.Free, Func: event.FreeFunc, Ref: i, Size: 10, Thread: uint32(i % 2),
				Born: int64(i)})
	}
	plan, p := prepare(t, list, 2, Options{Order: Free, To: math.MaxUint64})
	if plan.Slots > slotPatience+10 || plan.Slots < 4 || plan.Peak != 10 {
		t.Errorf("%d slots, peak %d", plan.Slots, plan.Peak)
	}
	if o, _, err := p.play(t.Context(), plan, Allocator{Name: "glibc"}, modeTime, TouchNone); err != nil ||
		o.Calls[callFreeOfOther] != n/2 {
		t.Error(o, err)
	}
}

func TestLiveTable(t *testing.T) {
	var table liveTable
	known := make(map[uint64]place)
	random := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		ref := random.Uint64N(3000)
		if at, ok := known[ref]; ok {
			if got, ok := table.take(ref); !ok || got != at {
				t.Fatalf("block %d is at %v, %v; want %v", ref, got, ok, at)
			}
			delete(known, ref)
		} else {
			if _, ok := table.take(ref); ok {
				t.Fatalf("block %d is not live", ref)
			}
			known[ref] = place{random.Uint32(), random.Uint32()}
			table.put(ref, known[ref])
		}
	}
}

// TestDamagedPlans: the player checks what it reads. A plan that is not as heaptap wrote it may end it, or make it
// wait, but it never reads or writes outside of its tables.
func TestDamagedPlans(t *testing.T) {
	for name, changes := range map[string][]Change{"recorded": nil, "pools": everywhere(InPool)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{Order: Window, To: math.MaxUint64, Changes: changes}
			plan, p := prepare(t, program(9, 3, 3000), 3, o)
			damagePlans(t, plan, p, TouchNone, 100, refuses)
		})
	}
	t.Run("pages", func(t *testing.T) {
		t.Parallel()
		plan, p, _ := withPages(t)
		damagePlans(t, plan, p, TouchRecorded, 100, refuses)
	})
}

// everywhere is a change at all call stacks.
func everywhere(kind ChangeKind) []Change {
	return []Change{{kind, ".", func(uint32) bool { return true }}}
}

// damagePlans has the player play plans that differ from a good one in some bytes, and judges each run.
func damagePlans(t *testing.T, plan *Plan, p *Player, touch Touch, tries int,
	judge func(t *testing.T, cmd *exec.Cmd, err error)) {
	good, err := os.ReadFile(plan.Path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	refused, waited := 0, 0
	for try := range tries {
		b := bytes.Clone(good)
		for range 1 + random.IntN(3) {
			at := random.IntN(len(b))
			if try%4 == 0 {
				at = random.IntN(headBytes)
			}
			switch random.IntN(3) {
			case 0:
				b[at] ^= 1 << random.IntN(8)
			case 1:
				b[at] = byte(random.Uint32())
			case 2:
				if at &^= 3; at+4 <= len(b) {
					binary.LittleEndian.PutUint32(b[at:], random.Uint32())
				}
			}
		}
		if try%10 == 9 {
			b = b[:random.IntN(len(b))]
		}
		switch late, err := playBytes(t, p, b, touch, judge); {
		case late:
			waited++
		case err != nil:
			refused++
		}
	}
	t.Logf("%d refused, %d waited forever", refused, waited)
	if refused == 0 {
		t.Error("no damaged plan was refused")
	}
}

// playBytes plays what may be a plan, for a while, and judges the run.
func playBytes(t *testing.T, p *Player, b []byte, touch Touch, judge func(t *testing.T, cmd *exec.Cmd, err error),
) (late bool, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	words, err := p.Once(&Plan{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	words[slices.Index(words, string(TouchNone))] = string(touch)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	err = cmd.Run()
	judge(t, cmd, err)
	return ctx.Err() != nil, err
}

// refuses: the player may refuse a plan, but does not crash.
func refuses(t *testing.T, _ *exec.Cmd, err error) {
	t.Helper()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled() {
		return
	}
	switch exit.Sys().(syscall.WaitStatus).Signal() {
	case syscall.SIGKILL: // it took too long
	case syscall.SIGABRT: // glibc found that two threads freed a block
	default:
		t.Error(err)
	}
}

// TestRefusals: what cannot be replayed is refused in one line.
func TestRefusals(t *testing.T) {
	sampled := event.Process{PID: 1, Sampling: event.Sampling{Bytes: 1000}}
	for _, c := range []struct {
		events []event.Event
		p      event.Process
		want   string
	}{
		{program(1, 1, 100), sampled, "allocations were sampled"},
		{nil, event.Process{PID: 1}, "no events"},
	} {
		_, err := Make(t.Context(), record(t, c.events, 1, c.p), filepath.Join(t.TempDir(), "plan"),
			Options{Order: Window, To: math.MaxUint64})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	// One that was cut short.
	r := record(t, program(1, 1, 100_000), 1, event.Process{PID: 1})
	b := make([]byte, r.Size()*2/3)
	if _, err := r.Content().ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	cut, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), "cut.htap")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Make(t.Context(), cut, filepath.Join(t.TempDir(), "plan"), Options{Order: Window,
		To: math.MaxUint64}); err == nil || !strings.Contains(err.Error(), "heaptap repair") {
		t.Error(err)
	}
}

func TestParseAllocator(t *testing.T) {
	for written, want := range map[string][]string{
		"glibc":                    nil,
		"glibc:MALLOC_ARENA_MAX=2": {"MALLOC_ARENA_MAX=2"},
		"glibc:GLIBC_TUNABLES=glibc.malloc.tcache_count=0:A=b": {"GLIBC_TUNABLES=glibc.malloc.tcache_count=0", "A=b"},
		"glibc:MALLOC_CONF=narenas:4,dirty_decay_ms:0":         {"MALLOC_CONF=narenas:4,dirty_decay_ms:0"},
	} {
		a, err := ParseAllocator(written)
		if err != nil || strings.Join(a.Options, "|") != strings.Join(want, "|") || a.Name != written {
			t.Errorf("%s: %+v, %v", written, a, err)
		}
	}
	for _, written := range []string{"nomalloc", "./none.so", "glibc:LD_PRELOAD=x", "", "glibc:"} {
		if a, err := ParseAllocator(written); err == nil {
			t.Errorf("%q: %+v", written, a)
		}
	}
}

func TestSplitAllocators(t *testing.T) {
	for written, want := range map[string]string{
		"glibc,jemalloc":                                 "glibc|jemalloc",
		"glibc, ./a.so,/b/c.so:A=1,2":                    "glibc|./a.so|/b/c.so:A=1,2",
		"jemalloc:MALLOC_CONF=narenas:4,percpu:on,glibc": "jemalloc:MALLOC_CONF=narenas:4,percpu:on|glibc",
		"glibc,banana":                                   "glibc|banana",
		"":                                               "",
	} {
		if got := strings.Join(SplitAllocators(written), "|"); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
}

// TestQuantile: values between the steps of a coarse clock are interpolated.
func TestQuantile(t *testing.T) {
	var counts [buckets]float64
	counts[10], counts[14] = 50, 50
	for share, want := range map[float64]float64{0.1: 10, 0.25: 10, 0.5: 12, 0.75: 14, 1: 14} {
		if got := quantile(&counts, share); got != want {
			t.Errorf("%v: %v, want %v", share, got, want)
		}
	}
}

func TestVerdict(t *testing.T) {
	row := func(name string, rss, cpu, p99 float64) *Row {
		s := func(v float64) Spread { return Spread{v, v, v} }
		return &Row{Allocator: Allocator{Name: name}, CPU: s(cpu), Latency: Latency{P99: p99},
			First: &Resident{Peak: s(rss)}}
	}
	base := row("glibc", 100, 100, 100)
	for want, rows := range map[string][]*Row{
		"": {base},
		"none needs clearly less memory or time than glibc": {
			base, row("a", 97, 103, 90), row("b", 50, 160, 100)},
		"mimalloc against glibc: 31 % less peak RSS, 1 % more CPU time, p99 2 % slower": {
			base, row("mimalloc", 69, 101, 102)},
		"b against glibc: the same peak RSS, 50 % less CPU time, p99 50 % faster": {
			base, row("a", 69, 101, 102), row("b", 100, 50, 50)},
	} {
		if got := verdict(rows); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestTimedWindow: threads may be far apart while time is measured, but not so far that much more would be live.
func TestTimedWindow(t *testing.T) {
	t.Parallel()
	small, large := make([]Epoch, 1000), make([]Epoch, 1000)
	for i := range small {
		small[i].bytes, large[i].bytes = 1000, 1000
	}
	large[700].bytes, large[703].bytes = timedBytes-3000, 3000
	for _, c := range []struct {
		epochs   []Epoch
		perEpoch uint64
		want     uint32
	}{
		{nil, 5000, 199}, {small, 5000, 199}, {small, 64, 15624}, {large, 5000, 1},
		{[]Epoch{{bytes: timedBytes * 2}}, 5000, 1},
	} {
		if got := timedWindow(c.epochs, c.perEpoch); got != c.want {
			t.Errorf("%d epochs of %d: %d, want %d", len(c.epochs), c.perEpoch, got, c.want)
		}
	}
}
