package record

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/spool/spooltest"
	"github.com/heaptap/heaptap/internal/wire"
	"golang.org/x/sys/unix"
)

// BenchmarkPipeline takes events from a spool to a recording on disk: merge, ledger, tally, columns, compression. All
// but the names of functions. Shapes: a loop with a window of 8 blocks; a program with many call stacks and a heap that
// grows; the same by 4 threads at once.
func BenchmarkPipeline(b *testing.B) {
	for _, bench := range []struct {
		name    string
		threads int
		stacks  int
		live    int // blocks at most, per thread
	}{{"loop", 1, 1, 8}, {"program", 1, 20000, 40000}, {"4threads", 4, 2000, 1000}} {
		b.Run(bench.name, func(b *testing.B) {
			const events = 4_000_000
			dir := b.TempDir()
			path := benchSpool(b, dir, bench.threads, bench.stacks, bench.live, events)
			out := filepath.Join(dir, "out.htap")
			before := cpuTime()
			for b.Loop() {
				if err := Convert(b.Context(), path, out); err != nil {
					b.Fatal(err)
				}
			}
			n := float64(events) * float64(b.N)
			b.ReportMetric(n/b.Elapsed().Seconds()/1e6, "Mevents/s")
			b.ReportMetric(n/(cpuTime()-before).Seconds()/1e6, "Mevents/cpu-s")
			if st, err := os.Stat(out); err == nil {
				b.ReportMetric(float64(st.Size())/events, "B/event")
			}
		})
	}
}

func cpuTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// benchSpool makes a spool without recorder: all is in the spill file.
func benchSpool(b *testing.B, dir string, threads, stacks, live, events int) (path string) {
	a := spooltest.New(b, dir, "bench", os.Getpid())
	a.Header.RecorderState = wire.RecorderNone
	for i := range uint32(stacks) {
		pc := uint32(0)
		if i%4 == 0 || i < 8 {
			pc = a.PC(0x1000+uint64(i), 0)
		} else {
			pc = 1 + i/4
		}
		a.Node(i/2, pc)
	}
	a.Publish()
	r := rand.New(rand.NewPCG(1, 2))
	now := a.Header.Tsc0
	type thread struct {
		s    *spooltest.Stream
		live []uint64
		free []uint64
		top  uint64
	}
	list := make([]thread, threads)
	for i := range list {
		list[i] = thread{s: a.Stream(0, uint32(i+1), 0, ""), top: uint64(i+1) << 40}
	}
	var buf []byte
	for range events {
		now += 30 + uint64(r.ExpFloat64()*100)
		t := &list[r.IntN(threads)]
		buf = buf[:0]
		if n := len(t.live); n >= live || n > 4 && r.IntN(100) < 49 {
			i := max(0, n-1-int(r.ExpFloat64()*6))
			buf = wire.Append(buf, wire.Record{Kind: wire.KFree, Addr: t.live[i], Time: now})
			t.free = append(t.free, t.live[i])
			t.live[i] = t.live[n-1]
			t.live = t.live[:n-1]
		} else {
			addr := t.top
			if k := len(t.free); k > 0 && r.IntN(4) > 0 {
				addr, t.free = t.free[k-1], t.free[:k-1]
			} else {
				t.top += 64
			}
			t.live = append(t.live, addr)
			stack := 1 + uint32(r.ExpFloat64()*float64(stacks)/12)%uint32(stacks)
			buf = wire.Append(buf, wire.Record{Kind: wire.KMalloc, Addr: addr, Size: 16 + stack%64*8, Stack: stack,
				Slack: 8, Time: now})
		}
		t.s.Write(buf)
	}
	for i := range list {
		list[i].s.Leave()
	}
	return a.Path
}
