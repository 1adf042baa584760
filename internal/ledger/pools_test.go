package ledger

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
)

// testArena drives a ledger with what a program and its pools do, one op a tick.
type testArena struct {
	l       *Ledger
	now     int64
	out     []string
	bytes   uint64 // live, by the events
	backing map[uint64]int64
}

func newArena() *testArena {
	return &testArena{l: New(false), backing: map[uint64]int64{}}
}

func (a *testArena) emit(e *Event) {
	line := fmt.Sprintf("%s %s %#x %d", e.Kind, e.Func, e.Addr, e.Size)
	switch e.Kind {
	case event.Alloc:
		a.bytes += e.Size
	case event.Free:
		line += fmt.Sprintf(" #%d", e.Ref)
		a.bytes -= e.Size
	}
	if e.Flags&event.Realloc != 0 {
		line += " realloc"
	}
	a.out = append(a.out, line)
}

func (a *testArena) do(op Op) {
	a.now++
	op.Time, op.Stream = a.now, op.Thread
	a.took(a.l.Add(&op, a.emit))
}

func (a *testArena) took(b *Batch) {
	for _, c := range b.Backings {
		a.backing[c.Pool] += c.Bytes
	}
}

func (a *testArena) malloc(addr, size uint64) {
	a.do(Op{Kind: OpAlloc, Func: event.Malloc, Addr: addr, Size: size})
}
func (a *testArena) free(addr uint64) { a.do(Op{Kind: OpFree, Func: event.FreeFunc, Addr: addr}) }
func (a *testArena) back(pool, addr, size uint64) {
	a.do(Op{Kind: OpBacking, Func: event.PoolBacking, Pool: pool, Addr: addr, Size: size})
}
func (a *testArena) give(pool, addr, size uint64) {
	a.do(Op{Kind: OpAlloc, Func: event.PoolAlloc, Pool: pool, Addr: addr, Size: size})
}
func (a *testArena) take(pool, addr uint64) {
	a.do(Op{Kind: OpFree, Func: event.PoolFree, Pool: pool, Addr: addr})
}
func (a *testArena) realloc(from, to, size uint64) {
	a.do(Op{Kind: OpReallocBegin, Func: event.ReallocFunc, Addr: from})
	a.do(Op{Kind: OpReallocResult, Func: event.ReallocFunc, Addr: to, Size: size})
}
func (a *testArena) move(pool, from, to, size uint64) {
	a.do(Op{Kind: OpReallocBegin, Func: event.PoolMove, Pool: pool, Addr: from})
	a.do(Op{Kind: OpReallocResult, Func: event.PoolMove, Pool: pool, Addr: to, Size: size})
}
func (a *testArena) clear(pool uint64) {
	a.do(Op{Kind: OpPoolClear, Func: event.PoolClear, Pool: pool})
}
func (a *testArena) destroy(pool uint64) {
	a.do(Op{Kind: OpPoolDestroy, Func: event.PoolDestroy, Pool: pool})
}

func (a *testArena) finish() string {
	a.took(a.l.FinishTo(a.emit))
	maps.DeleteFunc(a.backing, func(_ uint64, bytes int64) bool { return bytes == 0 })
	blocks, bytes := a.l.Live()
	return strings.Join(a.out, "\n") + fmt.Sprintf("\n=> %d blocks, %d bytes, backing %v", blocks, bytes, a.backing)
}

func TestPools(t *testing.T) {
	t.Parallel()
	const A, B, C = 1<<32 | 1, 2<<32 | 2, 3<<32 | 3
	for _, c := range []struct {
		name string
		do   func(*testArena)
		want string
	}{
		{"the first block lies at its parent's address", func(a *testArena) {
			a.malloc(0x1000, 500)
			a.back(A, 0x1000, 500)
			a.give(A, 0x1000, 10)
			a.give(A, 0x100a, 20)
			a.take(A, 0x1000)
			a.free(0x1000) // silent itself
		}, `alloc malloc 0x1000 500
			free pool_backing 0x1000 500 #0
			alloc pool_alloc 0x1000 10
			alloc pool_alloc 0x100a 20
			free pool_free 0x1000 10 #1
			free pool memory freed 0x100a 20 #2
			=> 0 blocks, 0 bytes, backing map[]`},
		{"a block that serves nobody any more is counted as any", func(a *testArena) {
			a.malloc(0x1000, 500)
			a.back(A, 0x1000, 500)
			a.free(0x1000)
			a.malloc(0x1000, 7)
			a.free(0x1000)
		}, `alloc malloc 0x1000 500
			free pool_backing 0x1000 500 #0
			alloc malloc 0x1000 7
			free free 0x1000 7 #1
			=> 0 blocks, 0 bytes, backing map[]`},
		{"three at one address, from the inside out", func(a *testArena) {
			a.malloc(0x1000, 500)
			a.back(A, 0x1000, 500)
			a.give(A, 0x1000, 400)
			a.back(B, 0x1000, 400)
			a.give(B, 0x1000, 300)
			a.back(C, 0x1000, 300)
			a.give(C, 0x1000, 200)
			a.take(C, 0x1000)
			a.take(B, 0x1000)
			a.take(A, 0x1000)
			a.free(0x1000)
		}, `alloc malloc 0x1000 500
			free pool_backing 0x1000 500 #0
			alloc pool_alloc 0x1000 400
			free pool_backing 0x1000 400 #1
			alloc pool_alloc 0x1000 300
			free pool_backing 0x1000 300 #2
			alloc pool_alloc 0x1000 200
			free pool_free 0x1000 200 #3
			=> 0 blocks, 0 bytes, backing map[]`},
		{"three at one address, the outermost first", func(a *testArena) {
			a.malloc(0x1000, 500)
			a.back(A, 0x1000, 500)
			a.give(A, 0x1000, 400)
			a.give(A, 0x1190, 50)
			a.back(B, 0x1000, 400)
			a.give(B, 0x1000, 300)
			a.back(C, 0x1000, 300)
			a.give(C, 0x1000, 200)
			a.free(0x1000)
		}, `alloc malloc 0x1000 500
			free pool_backing 0x1000 500 #0
			alloc pool_alloc 0x1000 400
			alloc pool_alloc 0x1190 50
			free pool_backing 0x1000 400 #1
			alloc pool_alloc 0x1000 300
			free pool_backing 0x1000 300 #3
			alloc pool_alloc 0x1000 200
			free pool memory freed 0x1000 200 #4
			free pool memory freed 0x1190 50 #2
			=> 0 blocks, 0 bytes, backing map[]`},
		{"allocated to serve a pool, it is counted nowhere", func(a *testArena) {
			a.do(Op{Kind: OpAlloc, Func: event.Malloc, Addr: 0x1000, Size: 500, Serves: A})
			a.back(A, 0x1000, 500) // said twice
			a.give(A, 0x1000, 10)
			a.free(0x1000)
			a.free(0x1000)
		}, `alloc pool_alloc 0x1000 10
			free pool memory freed 0x1000 10 #0
			unmatched free 0x1000 0
			=> 0 blocks, 0 bytes, backing map[]`},
		{"a realloc of the parent ends what is in it, in place or not, unless it fails", func(a *testArena) {
			a.malloc(0x1000, 500)
			a.back(A, 0x1000, 500)
			a.give(A, 0x1010, 10)
			a.realloc(0x1000, 0, 1<<40)
			a.realloc(0x1000, 0x1000, 600)
			a.back(A, 0x1000, 600)
			a.give(A, 0x1010, 20)
			a.realloc(0x1000, 0x9000, 900)
		}, `alloc malloc 0x1000 500
			free pool_backing 0x1000 500 #0
			alloc pool_alloc 0x1010 10
			fail realloc 0x0 1099511627776
			free pool memory freed 0x1010 10 #1
			alloc realloc 0x1000 600
			free pool_backing 0x1000 600 #2
			alloc pool_alloc 0x1010 20
			free pool memory freed 0x1010 20 #3
			alloc realloc 0x9000 900
			=> 1 blocks, 900 bytes, backing map[]`},
		{"moves", func(a *testArena) {
			a.give(A, 0x1000, 10)
			a.move(A, 0x1000, 0x2000, 20)
			a.move(A, 0x2000, 0x2000, 30)
			a.move(A, 0x2000, 0, 1<<40) // no room
			a.move(A, 0, 0x3000, 40)
			a.move(A, 0x2000, 0, 0) // freed
		}, `alloc pool_alloc 0x1000 10
			free pool_move 0x1000 10 #0 realloc
			alloc pool_move 0x2000 20 realloc
			free pool_move 0x2000 20 #1 realloc
			alloc pool_move 0x2000 30 realloc
			fail pool_move 0x0 1099511627776
			alloc pool_move 0x3000 40
			free pool_move 0x2000 30 #2
			=> 1 blocks, 40 bytes, backing map[]`},
		{"clear, destroy, and a parent that is freed after that", func(a *testArena) {
			a.malloc(0x1000, 500)
			a.back(A, 0x1000, 500)
			a.give(A, 0x1000, 10)
			a.give(A, 0x9000, 20) // in no memory that was announced
			a.clear(A)
			a.clear(A)
			a.give(A, 0x1000, 30)
			a.give(B, 0x1000, 5) // another pool's, at its address: the first has ended unseen
			a.destroy(A)
			a.destroy(A)
			a.free(0x1000)
		}, `alloc malloc 0x1000 500
			free pool_backing 0x1000 500 #0
			alloc pool_alloc 0x1000 10
			alloc pool_alloc 0x9000 20
			free pool_clear 0x1000 10 #1
			free pool_clear 0x9000 20 #2
			alloc pool_alloc 0x1000 30
			free unknown 0x1000 30 #3
			alloc pool_alloc 0x1000 5
			=> 1 blocks, 5 bytes, backing map[]`},
		{"what is announced twice, or is wrong", func(a *testArena) {
			a.malloc(0x1000, 500)
			a.back(A, 0x1000, 500)
			a.back(A, 0x1000, 500)
			a.give(A, 0x1010, 10)
			a.take(A, 0x1010)
			a.take(A, 0x1010)
			a.take(A, 0x7000)
			a.clear(C)
		}, `alloc malloc 0x1000 500
			free pool_backing 0x1000 500 #0
			alloc pool_alloc 0x1010 10
			free pool_free 0x1010 10 #1
			unmatched pool_free 0x1010 0
			unmatched pool_free 0x7000 0
			=> 0 blocks, 0 bytes, backing map[4294967297:500]`},
		{"memory goes on to another pool", func(a *testArena) {
			a.malloc(0x1000, 500)
			a.back(A, 0x1000, 500)
			a.give(A, 0x1010, 10)
			a.destroy(A)
			a.back(B, 0x1000, 500)
			a.give(B, 0x1010, 20)
			a.back(C, 0x1000, 500)
			a.give(C, 0x1010, 30)
			a.free(0x1000)
		}, `alloc malloc 0x1000 500
			free pool_backing 0x1000 500 #0
			alloc pool_alloc 0x1010 10
			free pool_destroy 0x1010 10 #1
			alloc pool_alloc 0x1010 20
			free pool memory freed 0x1010 20 #2
			alloc pool_alloc 0x1010 30
			free pool memory freed 0x1010 30 #3
			=> 0 blocks, 0 bytes, backing map[]`},
		{"memory that is not of the heap serves until the pool is destroyed", func(a *testArena) {
			a.back(A, 0x1000, 500)
			a.give(A, 0x1010, 10)
			a.destroy(A)
			a.malloc(0x1000, 7)
			a.free(0x1000)
		}, `alloc pool_alloc 0x1010 10
			free pool_destroy 0x1010 10 #0
			alloc malloc 0x1000 7
			free free 0x1000 7 #1
			=> 0 blocks, 0 bytes, backing map[]`},
		{"what was given out before it was said where", func(a *testArena) {
			a.malloc(0x1000, 500)
			a.give(A, 0x1010, 10)
			a.give(A, 0x5000, 20)
			a.back(A, 0x1000, 500)
			a.free(0x1000)
		}, `alloc malloc 0x1000 500
			alloc pool_alloc 0x1010 10
			alloc pool_alloc 0x5000 20
			free pool_backing 0x1000 500 #0
			free pool memory freed 0x1010 10 #1
			=> 1 blocks, 20 bytes, backing map[]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newArena()
			c.do(a)
			if d := cmp.Diff(trim(c.want), strings.ReplaceAll(a.finish(), "\t", "")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestPoolsModel compares with what the definitions say, by lists, of random programs whose pools lie one in the other.
func TestPoolsModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		a, m := newArena(), &poolModel{}
		rng := rand.New(rand.NewPCG(seed, 1))
		for range 400 {
			m.step(a, rng)
		}
		blocks, bytes := a.l.Live()
		var want uint64
		n := uint64(0)
		for _, b := range m.blocks {
			if !b.backs {
				want += b.size
				n++
			}
		}
		if blocks != n || bytes != want || a.bytes != want {
			t.Fatalf("seed %d: %d blocks, %d bytes, by events %d; want %d, %d\n%s",
				seed, blocks, bytes, a.bytes, n, want, strings.Join(a.out, "\n"))
		}
		if c := a.l.Counts(); c != (Counts{}) {
			t.Fatalf("seed %d: %+v", seed, c)
		}
		served := map[uint64]int64{}
		for _, b := range m.blocks {
			if b.backs {
				served[b.serves] += int64(b.size)
			}
		}
		for pool, n := range a.backing {
			if n != served[pool] {
				t.Fatalf("seed %d: %d bytes serve pool %d, want %d", seed, n, pool, served[pool])
			}
		}
	}
}

// poolModel is a program that has heap blocks, and pools in them to any depth.
type poolModel struct {
	blocks []*modelBlock
	next   uint64 // address of the next heap block
	pools  uint64
}

type modelBlock struct {
	addr, size uint64
	pool       uint64 // 0: the heap's
	in         *modelBlock
	used       uint64
	backs      bool
	serves     uint64
}

func (m *poolModel) pick(rng *rand.Rand, is func(*modelBlock) bool) *modelBlock {
	var list []*modelBlock
	for _, b := range m.blocks {
		if is(b) {
			list = append(list, b)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[rng.IntN(len(list))]
}

// drop takes blocks out, and what lies in them.
func (m *poolModel) drop(is func(*modelBlock) bool) {
	for {
		gone := map[*modelBlock]bool{}
		m.blocks = slices.DeleteFunc(m.blocks, func(b *modelBlock) bool {
			if is(b) {
				gone[b] = true
			}
			return gone[b]
		})
		if len(gone) == 0 {
			return
		}
		is = func(b *modelBlock) bool { return gone[b.in] }
	}
}

func (m *poolModel) step(a *testArena, rng *rand.Rand) {
	switch rng.IntN(8) {
	case 0:
		m.next += 0x10000
		a.malloc(m.next, 5000)
		m.blocks = append(m.blocks, &modelBlock{addr: m.next, size: 5000})
	case 1: // a block comes to serve a pool
		if b := m.pick(rng, func(b *modelBlock) bool { return !b.backs && b.size >= 100 }); b != nil {
			if m.pools++; rng.IntN(3) > 0 || b.pool != 0 {
				b.serves = m.pools<<32 | 1 // its own
			} else {
				b.serves = 1<<40 | 1 // one with many of them
			}
			b.backs = true
			a.back(b.serves, b.addr, b.size)
		}
	case 2, 3, 4:
		if b := m.pick(rng, func(b *modelBlock) bool { return b.backs && b.used < b.size }); b != nil {
			size := 1 + uint64(rng.IntN(int(b.size-b.used)))
			m.blocks = append(m.blocks, &modelBlock{addr: b.addr + b.used, size: size, pool: b.serves, in: b})
			a.give(b.serves, b.addr+b.used, size)
			b.used += size
		}
	case 5:
		if b := m.pick(rng, func(*modelBlock) bool { return true }); b != nil {
			if b.pool == 0 {
				a.free(b.addr)
			} else {
				a.take(b.pool, b.addr)
			}
			m.drop(func(x *modelBlock) bool { return x == b })
		}
	case 6:
		if b := m.pick(rng, func(b *modelBlock) bool { return b.backs }); b != nil {
			a.clear(b.serves)
			m.drop(func(x *modelBlock) bool { return x.pool == b.serves })
		}
	case 7: // a move within a pool: the block of the list of the same size
		if b := m.pick(rng, func(b *modelBlock) bool { return b.pool != 0 && b.in.used < b.in.size }); b != nil {
			to := b.in.addr + b.in.used
			a.move(b.pool, b.addr, to, 1)
			b.in.used++
			in, pool := b.in, b.pool
			m.drop(func(x *modelBlock) bool { return x == b })
			m.blocks = append(m.blocks, &modelBlock{addr: to, size: 1, pool: pool, in: in})
		}
	}
}

// TestRestorePools stops a program at any point and goes on with a ledger that knows what a recorder leaves behind.
func TestRestorePools(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		a, m := newArena(), &poolModel{}
		rng := rand.New(rand.NewPCG(seed, 2))
		for range 200 {
			m.step(a, rng)
		}
		b := newArena()
		b.now, b.bytes, b.backing = a.now, a.bytes, map[uint64]int64{}
		b.l.Restore(a.l.Blocks(), a.l.allocs, map[uint32]uint64{0: a.l.allocs - 1}, a.now, a.l.Backings())
		a.out = nil
		second, copied := rand.New(rand.NewPCG(seed, 3)), m.clone()
		for range 200 {
			m.step(a, second)
		}
		second = rand.New(rand.NewPCG(seed, 3))
		for range 200 {
			copied.step(b, second)
		}
		if d := cmp.Diff(a.finish(), b.finish()); d != "" {
			t.Fatalf("seed %d (-without +with):\n%s", seed, d)
		}
	}
}

func (m *poolModel) clone() *poolModel {
	c := &poolModel{next: m.next, pools: m.pools}
	of := map[*modelBlock]*modelBlock{}
	for _, b := range m.blocks {
		n := *b
		of[b] = &n
		c.blocks = append(c.blocks, &n)
	}
	for _, b := range c.blocks {
		if b.in != nil {
			b.in = of[b.in]
		}
	}
	return c
}

// TestPoolRegions: what ends with its pool, or with the memory that serves it, ends where the thread was that ended it.
func TestPoolRegions(t *testing.T) {
	t.Parallel()
	a := newArena()
	var regions []uint32
	do := func(op Op) {
		a.now++
		op.Time = a.now
		a.took(a.l.Add(&op, func(e *Event) {
			if e.Kind == event.Free {
				regions = append(regions, e.Region)
			}
		}))
	}
	a.malloc(0x1000, 4096)
	do(Op{Kind: OpBacking, Func: event.PoolBacking, Pool: 1, Addr: 0x1000, Size: 4096, Region: 1})
	a.give(1, 0x1000, 16)
	do(Op{Kind: OpPoolClear, Func: event.PoolClear, Pool: 1, Region: 2})
	a.give(1, 0x1010, 16)
	do(Op{Kind: OpFree, Func: event.FreeFunc, Addr: 0x1000, Region: 3})
	a.give(1, 0x1020, 16)
	do(Op{Kind: OpPoolDestroy, Func: event.PoolDestroy, Pool: 1, Region: 4})
	if want := []uint32{1, 2, 3, 4}; !slices.Equal(regions, want) {
		t.Errorf("blocks ended in %d, not in %d", regions, want)
	}
}
