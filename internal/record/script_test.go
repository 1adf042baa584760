package record

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/record/order"
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
	reps   reports
	path   string // of the finished recording
	stream map[uint64]*order.Stream
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
	c := &script{t: t, store: journal.NewStore(dir, 0, 0, nil), stream: map[uint64]*order.Stream{}}
	r := newRun(t.Context(), Config{RunDir: dir, Output: filepath.Join(dir, "out.htap"), Report: c.reps.add})
	r.counter0 = 0
	c.w = r.newWorker(s, true)
	c.deliver(&processBegan{spool.Process{PID: 1, Parent: wire.None}, new(sampler.Layout)})
	c.p = c.w.procs[0]
	return c
}

func (c *script) deliver(m message) { m.deliver(c.w) }

func (c *script) s(uid uint64) *order.Stream {
	if c.stream[uid] == nil {
		c.stream[uid] = &order.Stream{UID: uid, TID: uint32(uid)}
	}
	return c.stream[uid]
}

// arrive brings allocations of a stream with these times; their sizes are 1000 * uid + their number.
func (c *script) arrive(uid uint64, times ...uint64) {
	var list []wire.Record
	s := c.s(uid)
	for _, t := range times {
		list = append(list, wire.Record{Kind: wire.KMalloc, Addr: uid<<32 + s.Start<<4 + 16,
			Size: uint32(uid*1000 + s.Start), Time: t})
		s.Start++ // nothing else needs it here
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
	c.deliver(&piecesArrived{[]arrival{{c.s(uid), q}}})
}

// finished ends the process, and returns its recording.
func (c *script) finished() *recording.Reader {
	c.t.Helper()
	c.path = c.p.file.Path
	c.deliver(&processEnded{})
	r, err := recording.Open(c.path)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { r.Close() })
	return r
}

func (c *script) look(clock uint64, busy ...uint64) {
	c.round++
	rd := &roundEnded{number: c.round, clock: clock}
	for _, uid := range busy {
		rd.busy = append(rd.busy, c.s(uid))
	}
	c.deliver(rd)
}
