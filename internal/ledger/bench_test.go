package ledger

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/event"
)

func ignore(*Event) {}

// cpu returns the processor time used so far: on a busy machine the clock on the wall says little.
func cpu(tb testing.TB) time.Duration {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkHot allocates and frees within a window of eight blocks; a pair is two ops.
func BenchmarkHot(b *testing.B) {
	l := New(false)
	alloc := Op{Kind: OpAlloc, Func: event.Malloc, Stack: 7, Size: 48}
	free := Op{Kind: OpFree, Func: event.FreeFunc}
	start := cpu(b)
	for n := range b.N {
		alloc.Time = int64(n)
		alloc.Addr = 0x7f0000001000 + uint64(n&7)*0x40
		l.Add(&alloc, ignore)
		if n >= 7 {
			free.Time = int64(n)
			free.Addr = 0x7f0000001000 + uint64((n-7)&7)*0x40
			l.Add(&free, ignore)
		}
	}
	b.ReportMetric(float64(cpu(b)-start)/float64(2*b.N), "cpu-ns/op-added")
}

// BenchmarkRealloc grows one block for ever, moving it each time.
func BenchmarkRealloc(b *testing.B) {
	l := New(false)
	l.Add(&Op{Kind: OpAlloc, Addr: 0x1000, Size: 1}, ignore)
	begin := Op{Kind: OpReallocBegin, Func: event.ReallocFunc}
	result := Op{Kind: OpReallocResult, Func: event.ReallocFunc, Stack: 7}
	start := cpu(b)
	for n := range b.N {
		begin.Time, begin.Addr = int64(n), 0x1000+uint64(n&1)*0x1000
		l.Add(&begin, ignore)
		result.Time, result.Addr, result.Size = int64(n), 0x1000+uint64((n+1)&1)*0x1000, uint64(n)
		l.Add(&result, ignore)
	}
	b.ReportMetric(float64(cpu(b)-start)/float64(2*b.N), "cpu-ns/op-added")
}

// BenchmarkRandom replaces random ones of many live blocks.
func BenchmarkRandom(b *testing.B) {
	for _, blocks := range []int{100_000, 5_000_000} {
		b.Run(fmt.Sprintf("live=%d", blocks), func(b *testing.B) { benchmarkRandom(b, blocks) })
	}
}

func benchmarkRandom(b *testing.B, blocks int) {
	l := New(false)
	defer l.Close()
	addr := func(k uint64) uint64 { return 0x7f0000000000 + k*48 }
	var worst time.Duration
	for k := range blocks {
		op := Op{Kind: OpAlloc, Addr: addr(uint64(k)), Size: 40}
		start := time.Now()
		l.Add(&op, ignore)
		worst = max(worst, time.Since(start))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	picks := make([]uint32, 1<<20)
	for i := range picks {
		picks[i] = uint32(rng.Uint64N(uint64(blocks)))
	}
	alloc := Op{Kind: OpAlloc, Func: event.Malloc, Stack: 7, Size: 40}
	free := Op{Kind: OpFree, Func: event.FreeFunc}
	b.ResetTimer()
	start := cpu(b)
	for n := range b.N {
		a := addr(uint64(picks[n&(1<<20-1)]))
		free.Time, free.Addr = int64(n), a
		l.Add(&free, ignore)
		alloc.Time, alloc.Addr = int64(n), a
		l.Add(&alloc, ignore)
	}
	b.ReportMetric(float64(cpu(b)-start)/float64(2*b.N), "cpu-ns/op-added")
	b.ReportMetric(float64(worst.Nanoseconds())/1e6, "ms-worst-stall")
	var slots int
	for i := range l.live.segs {
		slots += len(l.live.segs[i].slots)
	}
	b.ReportMetric(float64(slots*32)/float64(blocks), "B/block")
}
