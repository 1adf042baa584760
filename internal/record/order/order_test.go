package order_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/record/order"
	"github.com/heaptap/heaptap/internal/record/ticks"
	"github.com/heaptap/heaptap/internal/wire"
)

const never = ^uint64(0)

// script drives a merger by hand: what arrives, and what the rounds say. It is the merger's sink, too.
type script struct {
	t      *testing.T
	m      *order.Merger
	round  uint64
	stream map[uint64]*order.Stream
	got    []uint64
}

func newScript(t *testing.T) *script {
	c := &script{t: t, stream: map[uint64]*order.Stream{}}
	c.m = order.New(&order.Workspace{}, ticks.New(0, 0, 1<<32, 1<<32), new([]uint32), false, c)
	return c
}

func (c *script) Stack(uint32) uint32 { return 0 }

func (c *script) Begin(s *order.Stream, _ int64) { s.Known = true }

// Settle notes the sizes, and adds a million to those of records that are late.
func (c *script) Settle(b *order.Batch) {
	for i, e := range b.Rows() {
		n := e.Size
		if b.Time(i) < c.m.Latest {
			n += 1e6
		}
		c.m.Latest = max(c.m.Latest, b.Time(i))
		c.got = append(c.got, n)
	}
}

func (c *script) Over(_ *order.Stream, p *journal.Piece) { p.Release() }

func (c *script) Lost(events uint64, why string) { c.t.Errorf("%d events are lost: %s", events, why) }

func (c *script) s(uid uint64) *order.Stream {
	if c.stream[uid] == nil {
		c.stream[uid] = &order.Stream{UID: uid, TID: uint32(uid)}
	}
	return c.stream[uid]
}

// arrive brings allocations of a stream with these times; their sizes are 1000 * uid + their number.
func (c *script) arrive(uid uint64, times ...uint64) {
	s := c.s(uid)
	b := []byte{}
	for _, t := range times {
		b = wire.Append(b, wire.Record{Kind: wire.KMalloc, Addr: uid<<32 + s.Start<<4 + 16,
			Size: uint32(uid*1000 + s.Start), Time: t})
		s.Start++ // nobody else needs it here
	}
	c.m.Arrive(s, journal.InMemory(b, journal.Position{}))
}

func (c *script) look(clock uint64, busy ...uint64) {
	c.round++
	var list []*order.Stream
	for _, uid := range busy {
		list = append(list, c.s(uid))
	}
	c.m.Round(c.round, clock, list)
}

// want compares what has come out since the last time with the sizes that were given in.
func (c *script) want(sizes ...uint64) {
	c.t.Helper()
	if !slices.Equal(c.got, sizes) {
		c.t.Errorf("got %v, want %v", c.got, sizes)
	}
	c.got = nil
}

func TestOrder(t *testing.T) {
	t.Run("bound", func(t *testing.T) {
		c := newScript(t)
		c.arrive(1, 10, 30, 50)
		c.arrive(2, 20, 40)
		c.want()
		c.look(35)
		c.want(1000, 2000, 1001)
		c.look(50) // an event at 50 may still come from 2, or from a new stream
		c.want(2001)
		c.look(51)
		c.want(1002)
	})
	t.Run("ties", func(t *testing.T) {
		c := newScript(t)
		c.arrive(3, 10, 10, 11)
		c.arrive(1, 10, 11)
		c.arrive(2, 10, 10)
		c.look(100)
		c.want(1000, 2000, 2001, 3000, 3001, 1001, 3002)
	})
	t.Run("same", func(t *testing.T) { // a damaged spool may have a stream twice
		c := newScript(t)
		c.arrive(1, 10, 20)
		c.stream[9] = &order.Stream{UID: 1}
		c.arrive(9, 10, 20)
		c.look(100)
		c.want(1000, 9000, 9001, 1001)
	})
	t.Run("busy", func(t *testing.T) {
		c := newScript(t)
		c.arrive(1, 10)
		c.look(15)
		c.want(1000)
		c.arrive(1, 20, 60)
		c.look(70, 2) // 2 has shown nothing, but not before 15
		c.want()
		c.arrive(2, 25)
		c.look(80, 2) // after 25 it may show anything later than that
		c.want(1001, 2000)
		c.look(90, 2)
		c.want()
		c.look(100)
		c.want(1002)
	})
	t.Run("busy that was idle", func(t *testing.T) {
		c := newScript(t)
		c.arrive(1, 5)
		c.arrive(2, 6)
		c.look(10)
		c.want(1000, 2000)
		c.arrive(1, 20, 30)
		c.look(25) // 2 is idle: all before 25 is final
		c.want(1001)
		c.look(40, 2) // it may be at 25 or later
		c.want()
		c.arrive(2, 28)
		c.look(50)
		c.want(2001, 1002)
	})
	t.Run("left behind", func(t *testing.T) {
		c := newScript(t)
		c.arrive(1, 5)
		c.look(10, 2)
		c.arrive(1, 30)
		c.look(40) // 2 is still stuck, but the reader does not say so any more
		c.want(1000, 1001)
		c.arrive(2, 20)
		c.look(50)
		c.want(1e6 + 2000)
	})
	t.Run("a stream's own order", func(t *testing.T) {
		c := newScript(t)
		c.arrive(1, 50, 40, 60)
		c.arrive(2, 45, 55)
		c.look(never)
		c.want(2000, 1000, 1001, 2001, 1002)
	})
	t.Run("for ever", func(t *testing.T) {
		c := newScript(t)
		c.arrive(1, never, never-3)
		c.m.Rest(func() {})
		c.want(1000, 1001)
	})
}

// TestOrderOfMany has many streams whose events arrive in random portions, and compares with sorting.
func TestOrderOfMany(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 5))
		c := newScript(t)
		type ev struct{ time, uid, n uint64 }
		var all []ev
		pending := map[uint64][]uint64{}
		streams := 1 + r.IntN(9)
		for uid := uint64(1); uid <= uint64(streams); uid++ {
			now := uint64(10)
			for n := range uint64(r.IntN(400)) {
				now += uint64(r.IntN(4))
				pending[uid] = append(pending[uid], now)
				all = append(all, ev{now, uid, n})
			}
		}
		for clock := uint64(0); clock < 1700; clock += uint64(1 + r.IntN(60)) {
			var busy []uint64
			for uid := uint64(1); uid <= uint64(streams); uid++ {
				p := pending[uid]
				n := 0
				for n < len(p) && p[n] < clock {
					n++
				}
				if r.IntN(4) == 0 && n > 0 {
					// Amid an event that it shows later, perhaps amid several rounds.
					n -= r.IntN(min(n, 3) + 1)
					busy = append(busy, uid)
				}
				if n > 0 {
					c.arrive(uid, p[:n]...)
					pending[uid] = p[n:]
				}
			}
			c.look(clock, busy...)
		}
		for uid, p := range pending {
			c.arrive(uid, p...)
		}
		c.look(never)
		slices.SortFunc(all, func(a, b ev) int {
			return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.uid, b.uid), cmp.Compare(a.n, b.n))
		})
		var sizes []uint64
		for _, e := range all {
			sizes = append(sizes, e.uid*1000+e.n)
		}
		c.want(sizes...)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
