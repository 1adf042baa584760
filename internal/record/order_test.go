package record

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/record/sampler"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/spool"
	"github.com/heaptap/heaptap/internal/spool/spooltest"
	"github.com/heaptap/heaptap/internal/wire"
)

// script drives a worker by hand: what arrives, and what the rounds say.
type script struct {
	t      *testing.T
	w      *worker
	p      *process
	store  *journal.Store
	round  uint64
	seen   int
	reps   reports
	path   string // of the finished recording
	stream map[uint64]*stream
}

func newScript(t *testing.T) *script {
	t.Helper()
	dir := t.TempDir()
	a := spooltest.New(t, dir, "prog", os.Getpid()).Publish()
	a.Header.Tsc0, a.Header.Mono0, a.Header.Tsc1, a.Header.Mono1 = 0, 0, 1<<32, 1<<32 // one tick a nanosecond
	s, err := spool.Open(a.Path, "", true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c := &script{t: t, store: journal.NewStore(dir, 0, 0, nil), stream: map[uint64]*stream{}}
	r := newRun(t.Context(), Config{RunDir: dir, Output: filepath.Join(dir, "out.htap"), Report: c.reps.add})
	r.counter0 = 0
	c.w = r.newWorker(s, true)
	c.w.item(&item{kind: itemProc, layout: new(sampler.Layout), proc: spool.Process{PID: 1, Parent: wire.None}})
	c.p = c.w.procs[0]
	return c
}

func (c *script) s(uid uint64) *stream {
	if c.stream[uid] == nil {
		c.stream[uid] = &stream{uid: uid, tid: uint32(uid)}
	}
	return c.stream[uid]
}

// arrive brings allocations of a stream with these times; their sizes are 1000 * uid + their number.
func (c *script) arrive(uid uint64, times ...uint64) {
	var list []wire.Record
	s := c.s(uid)
	for _, t := range times {
		list = append(list, wire.Record{Kind: wire.KMalloc, Addr: uid<<32 + s.start<<4 + 16, Size: uint32(uid*1000 + s.start), Time: t})
		s.start++ // nobody else needs it here
	}
	c.put(uid, list...)
}

// put brings records of a stream as they stand.
func (c *script) put(uid uint64, list ...wire.Record) {
	var b []byte
	for _, r := range list {
		b = wire.Append(b, r)
	}
	c.bytes(uid, b)
}

// bytes brings records of a stream, or what is none.
func (c *script) bytes(uid uint64, b []byte) {
	room := c.store.Buffer(len(b))
	copy(room, b)
	q, _, err := c.store.Keep(room, &journal.Origin{UID: uid})
	if err != nil {
		c.t.Fatal(err)
	}
	c.w.item(&item{kind: itemPiece, stream: c.s(uid), piece: q})
}

// finished ends the process, and returns its recording.
func (c *script) finished() *recording.Reader {
	c.t.Helper()
	c.path = c.p.path
	c.w.item(&item{kind: itemEnd})
	r, err := recording.Open(c.path)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { r.Close() })
	return r
}

func (c *script) look(clock uint64, busy ...uint64) {
	c.round++
	rd := &round{number: c.round, clock: clock}
	for _, uid := range busy {
		rd.busy = append(rd.busy, c.s(uid))
	}
	c.w.item(&item{kind: itemRound, round: rd})
}

// want compares what has come out since the last time with the sizes that were given in.
func (c *script) want(sizes ...uint64) {
	c.t.Helper()
	if c.p.out != nil {
		if err := c.p.out.Flush(); err != nil {
			c.t.Fatal(err)
		}
	}
	r, err := recording.Open(c.p.path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer r.Close()
	var got []uint64
	if err := r.Events(func(e *event.Event) bool {
		n := e.Size
		if e.Flags&event.Late != 0 {
			n += 1e6
		}
		got = append(got, n)
		return true
	}); err != nil {
		c.t.Fatal(err)
	}
	if !slices.Equal(got[c.seen:], sizes) {
		c.t.Errorf("got %v, want %v", got[c.seen:], sizes)
	}
	c.seen = len(got)
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
		c.p.finish(Status{})
		if f := c.reps.of(Finished); len(f) != 1 || f[0].Health.LateEvents != 1 {
			t.Errorf("reports: %+v", f)
		}
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
		c.p.finish(Status{})
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
			if before(&stream{time: a.time, uid: a.uid}, &stream{time: b.time, uid: b.uid}) {
				return -1
			} else if a.time == b.time && a.uid == b.uid {
				return int(a.n) - int(b.n)
			}
			return 1
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

func TestClockMap(t *testing.T) {
	for _, test := range []struct {
		ghz, noise float64 // true rate, and error of a reading in ns
	}{{2.6, 50}, {1, 0}, {0.0195, 100}, {5, 500}} {
		t.Run(fmt.Sprint(test.ghz), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 1))
			counter := func(ns uint64) uint64 { return 1e12 + uint64(float64(ns)*test.ghz) }
			read := func(ns uint64) uint64 { return uint64(float64(ns) + test.noise*(2*r.Float64()-1)) }
			// The first rate is a bad guess: two readings 1 ms apart.
			c := newClockMap(counter(1e9), 1e9, counter(1.001e9), read(1.001e9))
			last := int64(0)
			for ns := uint64(1e9); ns < 100e9; ns += 7e6 {
				for d := uint64(0); d < 7e6; d += 1e6 {
					at := c.at(counter(ns + d))
					if at < last {
						t.Fatalf("time goes back from %d to %d", last, at)
					}
					last = at
					limit := 3*test.noise + 100
					if ns < 2e9 {
						limit = 100e3 + 1000*test.noise
					}
					if off := float64(at) - float64(ns+d-1e9); off > limit || off < -limit {
						t.Fatalf("%d ns after the start is off by %.0f ns", ns+d-1e9, off)
					}
				}
				c.learn(counter(ns+7e6), read(ns+7e6))
			}
			if c.at(0) != 0 {
				t.Error("a time before the start is not 0")
			}
		})
	}
	// Headers can say anything.
	for _, v := range [][4]uint64{{0, 0, 0, 0}, {never, never, 0, 0}, {0, 0, never, never}, {5, never, 6, 1}, {0, 0, 1, never}} {
		c := newClockMap(v[0], v[1], v[2], v[3])
		for _, at := range []uint64{0, 1, never, never / 2} {
			if c.at(at) < 0 {
				t.Errorf("clock map %v makes %d of %d", v, c.at(at), at)
			}
			c.learn(at, at)
		}
	}
}
