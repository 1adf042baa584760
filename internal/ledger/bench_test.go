package ledger

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/event"
)

func ignore(*event.Event) {}

// BenchmarkHot allocates and frees within a window of eight blocks; a pair is two ops.
func BenchmarkHot(b *testing.B) {
	l := New(false)
	var op Op
	for n := range b.N {
		op = Op{Time: int64(n), Kind: OpAlloc, Func: event.Malloc, Stack: 7, Addr: 0x7f0000001000 + uint64(n&7)*0x40, Size: 48}
		l.Add(&op, ignore)
		if n >= 7 {
			op = Op{Time: int64(n), Kind: OpFree, Func: event.FreeFunc, Addr: 0x7f0000001000 + uint64((n-7)&7)*0x40}
			l.Add(&op, ignore)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*b.N), "ns/op-added")
}

// BenchmarkRealloc grows one block for ever, moving it each time.
func BenchmarkRealloc(b *testing.B) {
	l := New(false)
	op := Op{Kind: OpAlloc, Addr: 0x1000, Size: 1}
	l.Add(&op, ignore)
	for n := range b.N {
		op = Op{Time: int64(n), Kind: OpReallocBegin, Addr: 0x1000 + uint64(n&1)*0x1000}
		l.Add(&op, ignore)
		op = Op{Time: int64(n), Kind: OpReallocResult, Addr: 0x1000 + uint64((n+1)&1)*0x1000, Size: uint64(n)}
		l.Add(&op, ignore)
	}
}

// BenchmarkRandom replaces random ones of many live blocks.
func BenchmarkRandom(b *testing.B) {
	for _, blocks := range []int{100_000, 5_000_000} {
		for _, ahead := range []int{0, 16} {
			b.Run(fmt.Sprintf("live=%d/ahead=%d", blocks, ahead), func(b *testing.B) { benchmarkRandom(b, blocks, ahead) })
		}
	}
}

func benchmarkRandom(b *testing.B, blocks, ahead int) {
	l := New(false)
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
	b.ResetTimer()
	for n := range b.N {
		if ahead > 0 {
			l.Touch(addr(uint64(picks[(n+ahead)&(1<<20-1)])))
		}
		a := addr(uint64(picks[n&(1<<20-1)]))
		op := Op{Time: int64(n), Kind: OpFree, Addr: a}
		l.Add(&op, ignore)
		op = Op{Time: int64(n), Kind: OpAlloc, Addr: a, Size: 40}
		l.Add(&op, ignore)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*b.N), "ns/op-added")
	b.ReportMetric(float64(worst.Nanoseconds())/1e6, "ms-worst-stall")
	var slots int
	for i := range l.live.segs {
		slots += len(l.live.segs[i].slots)
	}
	b.ReportMetric(float64(slots*32)/float64(blocks), "B/block")
	runtime.KeepAlive(l)
}
