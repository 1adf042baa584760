package record

import (
	"math/rand/v2"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/wire"
)

// TestExtras: what comes before a record is that record's alone, wherever pieces, batches and rounds end.
func TestExtras(t *testing.T) {
	t.Parallel()
	type alloc struct {
		size, usable, align, count uint64
		known                      bool // usable
	}
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 3))
		c := newScript(t)
		var want []alloc
		lists := make([][]wire.Record, 4)
		now, live := uint64(0), []uint64{}
		for n := range uint64(2000) {
			now += 1 + rng.Uint64N(50)
			list := &lists[1+rng.IntN(3)]
			if k := len(live); k > 0 && rng.IntN(3) == 0 {
				*list = append(*list, wire.Record{Kind: wire.KFree, Addr: live[k-1], Time: now})
				live = live[:k-1]
				continue
			}
			kinds := []uint8{wire.KMalloc, wire.KCalloc, wire.KCalloc, wire.KCalloc, wire.KMemalign, wire.KReallocarray,
				wire.KRealloc}
			r := wire.Record{Kind: kinds[rng.IntN(len(kinds))], Addr: 0x10000 + 16*n, Size: uint32(n), Slack: 8,
				Time: now}
			a := alloc{size: n, usable: n + 8, known: true}
			extra := func(kind uint8, v uint64) { *list = append(*list, wire.Record{Kind: kind, Value: v}) }
			if rng.IntN(8) == 0 {
				r.Size, a.size = wire.SizeExtra, 1<<33+n
				a.usable = a.size + 8
				extra(wire.XSize, a.size)
			}
			if rng.IntN(8) == 0 {
				r.Slack, a.usable = wire.SlackExtra, 1<<34+n
				extra(wire.XUsable, a.usable)
			}
			if rng.IntN(2) == 0 {
				a.count = 1 + rng.Uint64N(1<<40)
				extra(wire.XCount, a.count)
			}
			if rng.IntN(8) == 0 {
				a.align = 64
				extra(wire.XAlign, a.align)
			}
			*list = append(*list, r)
			live, want = append(live, r.Addr), append(want, a)
		}
		for at := uint64(0); len(lists[1])+len(lists[2])+len(lists[3]) > 0; {
			uid := 1 + rng.Uint64N(3)
			k := rng.IntN(len(lists[uid]) + 1)
			c.put(uid, lists[uid][:k]...)
			lists[uid] = lists[uid][k:]
			next := now // no round may end beyond what has not arrived
			for _, list := range lists {
				for i := range list {
					if list[i].Time > 0 {
						next = min(next, list[i].Time)
						break
					}
				}
			}
			if at += rng.Uint64N(next - at + 1); rng.IntN(2) == 0 {
				c.look(at)
			}
		}
		got, frees := 0, 0
		if err := c.finished().Events(func(e *event.Event) bool {
			switch e.Kind {
			case event.Alloc:
				if a := (alloc{e.Size, e.Usable, e.Align, e.Count, e.Flags&event.HasUsable != 0}); got < len(want) &&
					a != want[got] {
					t.Errorf("seed %d: %s %d: %+v, want %+v", seed, e.Func, got, a, want[got])
				}
				got++
			case event.Free:
				if frees++; e.Size != want[e.Ref].size {
					t.Errorf("seed %d: block %d of %d bytes ends, want %d", seed, e.Ref, e.Size, want[e.Ref].size)
				}
			default:
				t.Errorf("seed %d: %+v", seed, *e)
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if got != len(want) || got-frees != len(live) {
			t.Errorf("seed %d: %d allocations, %d deallocations, want %d, %d live", seed, got, frees, len(want),
				len(live))
		}
	}
}
