package ledger

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// TestTable compares the table with a map through growth, removal and sizes that a slot cannot hold.
func TestTable(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	tab := newTable()
	want := make(map[uint64]Block)
	var bytes uint64
	for n := range 400_000 {
		// The range of addresses grows and shrinks: the table fills, and is emptied again.
		addr := 1 + rng.Uint64N(1+uint64(n%200_000))
		if rng.IntN(8) == 0 {
			addr |= addrMask &^ 0xffffff
		}
		g, i, ok := tab.find(addr)
		b, has := want[addr]
		if ok != has {
			t.Fatalf("step %d: address %#x: in the table %v, in the map %v", n, addr, ok, has)
		}
		if ok {
			var got Block
			if tab.get(g, i, &got); got != b {
				t.Fatalf("step %d: got block %+v, want %+v", n, got, b)
			}
			if n%200_000 < 100_000 && rng.IntN(3) > 0 {
				continue
			}
			tab.remove(g, i, &b)
			delete(want, addr)
			bytes -= b.Size
			continue
		}
		b = Block{Addr: addr, Size: rng.Uint64() >> (rng.UintN(4) * 20), Stack: rng.Uint32(), Thread: rng.Uint32(),
			Ref: rng.Uint64() & refMask, Born: rng.Int64N(maxBorn + 1),
			Func: event.Func(rng.UintN(uint(event.PoolAlloc))), Sampled: rng.IntN(2) == 0}
		op := Op{Func: b.Func, Size: b.Size, Stack: b.Stack, Thread: b.Thread, Sampled: b.Sampled}
		tab.set(g, i, b.Addr, &op, b.Ref, b.Born)
		want[addr] = b
		bytes += b.Size
	}
	if int(tab.count) != len(want) || tab.bytes != bytes {
		t.Errorf("the table has %d blocks, %d bytes, want %d, %d", tab.count, tab.bytes, len(want), bytes)
	}
	l := &Ledger{live: tab}
	if tab.segs[0].region == nil {
		t.Errorf("the table is too small to test memory of its own")
	}
	seen := 0
	for b := range l.Blocks() {
		seen++
		if want[b.Addr] != b {
			t.Errorf("got block %+v, want %+v", b, want[b.Addr])
		}
	}
	if seen != len(want) {
		t.Errorf("Blocks yields %d, want %d", seen, len(want))
	}
	for range l.Blocks() {
		break // must not go on
	}
	for addr, b := range want {
		g, i, ok := tab.find(addr)
		var got Block
		if tab.get(g, i, &got); !ok || got != b {
			t.Errorf("block %+v not found at the end", b)
		}
		tab.remove(g, i, &b)
	}
	if tab.count != 0 || tab.bytes != 0 || len(tab.big) != 0 {
		t.Errorf("emptied, the table has %d blocks, %d bytes, %d big ones", tab.count, tab.bytes, len(tab.big))
	}
	g, i, _ := tab.find(16)
	tab.set(g, i, 16, &Op{Size: 1}, 0, 0)
	l.Close()
	if blocks, bytes := l.Live(); blocks != 0 || bytes != 0 || tab.segs[0].region != nil {
		t.Errorf("closed, the ledger has %d blocks, %d bytes, mapping %v", blocks, bytes, tab.segs[0].region != nil)
	}
}

// TestTableMemory holds the table to its bound of memory, for addresses as allocators give them out.
func TestTableMemory(t *testing.T) {
	t.Parallel()
	strides := map[string]uint64{"16 bytes": 16, "pages": 4096, "2 MiB": 2 << 20, "odd": 48, "2^40": 1 << 30}
	for name, stride := range strides {
		tab := newTable()
		const floor = 20_000 // below, the first slots count
		for n := range uint64(150_000) {
			addr := (1 + n) * stride & addrMask
			g, i, ok := tab.find(addr)
			if ok {
				t.Fatalf("%s: %#x found twice", name, addr)
			}
			tab.set(g, i, addr, &Op{}, 0, 0)
			if n < floor || n%1000 != 0 {
				continue
			}
			slots := 0
			for i := range tab.segs {
				slots += len(tab.segs[i].slots)
			}
			if per := float64(slots*32) / float64(n+1); per > 96 {
				t.Errorf("%s: %.1f bytes a block for %d blocks, at most 96 are allowed", name, per, n+1)
				break
			}
		}
		longest, run := 0, 0
		for i := range tab.segs {
			for _, s := range tab.segs[i].slots {
				if s.key == 0 {
					run = 0
					continue
				}
				run++
				longest = max(longest, run)
			}
		}
		if longest > 100 {
			t.Errorf("%s: a run of %d occupied slots: the hash does not spread these addresses", name, longest)
		}
	}
}

// TestTableProbes holds the number of slots that a search looks at to a bound, for addresses that lie as unluckily for
// the table as may be.
func TestTableProbes(t *testing.T) {
	t.Parallel()
	sets := map[string]func(n uint64) uint64{
		"every byte":            func(n uint64) uint64 { return 0x7f0000000000 + n },
		"every group's largest": func(n uint64) uint64 { return n/16<<groupShift | n%16*16 },
		"one home of groups":    func(n uint64) uint64 { return n/2<<groupShift | n%2*16 },
		"pools above blocks":    func(n uint64) uint64 { return n/2*16 | n%2*poolBit },
		"random": func(n uint64) uint64 {
			return rand.New(rand.NewPCG(n, 1)).Uint64() & (addrMask >> 1)
		},
	}
	for shift := range 28 {
		sets[fmt.Sprintf("stride 2^%d", shift)] = func(n uint64) uint64 { return n << shift }
	}
	for name, at := range sets {
		tab := newTable()
		for n := range uint64(100_000) {
			addr := at(n) + 1<<20
			g, i, _ := tab.find(addr)
			tab.set(g, i, addr, &Op{}, 0, 0)
		}
		var sum, most int
		for k := range tab.segs {
			slots := tab.segs[k].slots
			for i := range slots {
				if slots[i].key == 0 {
					continue
				}
				addr := slots[i].key >> 16
				probes := i - home(hash(addr), addr, len(slots)) + 1
				if probes <= 0 {
					probes += len(slots)
				}
				sum += probes
				most = max(most, probes)
			}
		}
		if mean := float64(sum) / float64(tab.count); mean > 16 || most > 200 {
			t.Errorf("%s: a search takes %.1f probes, and up to %d", name, mean, most)
		}
	}
}
