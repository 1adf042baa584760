package spool

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/spool/spooltest"
	"github.com/heaptap/heaptap/internal/wire"
)

// collect keeps what a reader hands over, by stream.
type collect struct {
	t        testing.TB
	data     map[uint64][]byte
	ended    map[uint64]bool
	damaged  []error
	info     map[uint64]Stream
	buf      []byte
	doubtful int
	spilled  int
	lenient  bool   // the spool may say anything
	during   func() // called once, when data come
}

func newCollect(t testing.TB) *collect {
	return &collect{t: t, data: map[uint64][]byte{}, ended: map[uint64]bool{}, info: map[uint64]Stream{}}
}

func (c *collect) Buffer(n int) []byte {
	c.buf = make([]byte, n)
	return c.buf
}

func (c *collect) Data(st *Stream, b []byte) {
	if c.ended[st.UID] && !c.lenient {
		c.t.Errorf("stream %d: data after its end", st.UID)
	}
	c.data[st.UID] = append(c.data[st.UID], b...)
	if during := c.during; during != nil {
		c.during = nil
		during()
	}
	c.info[st.UID] = *st
}

func (c *collect) Spilled(st *Stream, f *os.File, offset int64, n int) {
	b := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(f, offset, int64(n)), b); err != nil && !c.lenient {
		c.t.Error(err)
	}
	c.spilled++
	c.Data(st, b)
}

func (c *collect) End(st *Stream) { c.ended[st.UID] = true }
func (c *collect) Doubtful(st *Stream, n int, err error) {
	c.doubtful += n
	c.damaged = append(c.damaged, err)
}
func (c *collect) Damaged(st *Stream, err error) { c.damaged = append(c.damaged, err) }

// check compares a stream with the numbers from, from+1 ... to-1 that its writer wrote as times.
func (c *collect) check(uid uint64, from, to uint64) {
	c.t.Helper()
	b, want := c.data[uid], from
	for len(b) > 0 {
		var r wire.Record
		n := wire.Decode(b, &r)
		if n == 0 {
			c.t.Fatalf("stream %d: no record after number %d", uid, want)
		}
		if r.Time != want {
			c.t.Fatalf("stream %d: got number %d, want %d", uid, r.Time, want)
		}
		want++
		b = b[n:]
	}
	if want != to {
		c.t.Fatalf("stream %d: got up to number %d, want %d", uid, want, to)
	}
}

func number(i uint64) []byte {
	if i%3 == 0 {
		return wire.Append(nil, wire.Record{Kind: wire.KFree, Addr: i, Time: i})
	}
	return wire.Append(nil, wire.Record{Kind: wire.KMalloc, Addr: i, Size: 8, Stack: 1, Time: i})
}

func open(t testing.TB, path string, live bool) (*Spool, *Reader) {
	t.Helper()
	s, err := Open(path, "", live)
	if err != nil {
		t.Fatal(err)
	}
	r := s.Reader()
	t.Cleanup(func() {
		r.Close()
		s.Close()
	})
	return s, r
}

func round(t testing.TB, r *Reader, c *collect) {
	t.Helper()
	if err := r.Round(c, nil); err != nil {
		t.Fatal(err)
	}
}

func TestReadWhileWritten(t *testing.T) {
	for _, patience := range []time.Duration{time.Second, 0} {
		t.Run(fmt.Sprint("patience ", patience), func(t *testing.T) {
			const threads, events = 3, 60000
			a := spooltest.New(t, t.TempDir(), "p", 1)
			a.Patience = patience
			a.Publish()
			s, r := open(t, a.Path, true)
			s.Attach(1)
			c := newCollect(t)
			var wg sync.WaitGroup
			for i := range threads {
				wg.Go(func() {
					st := a.Stream(0, uint32(100+i), 0, "worker")
					for k := range uint64(events) {
						st.Write(number(k))
					}
					st.End()
				})
			}
			done := make(chan struct{})
			go func() {
				wg.Wait()
				close(done)
			}()
			var l Listener
			for running := true; running; {
				select {
				case <-done:
					running = false
				default:
				}
				round(t, r, c)
				if patience == 0 && running { // the reader is too slow
					spooltest.Until(t, "a spilled chunk", func() bool {
						return atomic.LoadUint64(&a.Header.Counters[wire.CSpilled]) != 0
					})
				}
				if l.Listen([]*Spool{s}) {
					s.Sleeps(true)
					l.Wait(200 * time.Microsecond)
					s.Sleeps(false)
				}
				s.Beat()
			}
			if len(c.data) != threads || len(c.ended) != threads || len(c.damaged) != 0 {
				t.Fatalf("%d streams, %d ended, damaged: %v", len(c.data), len(c.ended), c.damaged)
			}
			for uid := range c.data {
				c.check(uid, 0, events)
				if st := c.info[uid]; st.Name != "worker" || st.TID < 100 || st.Start < a.Header.Tsc0 {
					t.Errorf("stream is %+v", st)
				}
			}
			if patience == 0 && c.spilled == 0 {
				t.Error("nothing was spilled")
			}
			if n := a.Header.FreeChunkCount; n != a.Header.NextChunk {
				t.Errorf("%d chunks are free of %d", n, a.Header.NextChunk)
			}
		})
	}
}

func TestSlotsAreReused(t *testing.T) {
	a := spooltest.New(t, t.TempDir(), "p", 1).Publish()
	_, r := open(t, a.Path, true)
	c := newCollect(t)
	for i := range uint64(100) {
		st := a.Stream(0, uint32(i), 0, "")
		st.Write(number(i))
		st.End()
		round(t, r, c)
	}
	if n := a.Header.NextStream; n != 1 {
		t.Errorf("%d slots used for threads that never lived at once", n)
	}
	for i := range uint64(100) {
		c.check(i+1, i, i+1)
	}
}

// TestLeftBehind reads a spool whose process is dead and never had a recorder.
func TestLeftBehind(t *testing.T) {
	a := spooltest.New(t, t.TempDir(), "p", 1)
	a.Header.RecorderState = wire.RecorderNone
	a.Patience = 0
	a.Publish()
	var open1 *spooltest.Stream
	for i := range uint64(40) {
		st := a.Stream(0, uint32(i), 0, "")
		for k := range 10000 + i {
			st.Write(number(k))
		}
		if i == 20 {
			open1 = st
		} else {
			st.Leave()
		}
	}
	_ = open1 // its last chunk is in the pool only
	a.Close()
	tail := func(b []byte) {
		f, err := os.OpenFile(a.Spill, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(b); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	cut := make([]byte, 5000) // a chunk of which not all was written
	binary.LittleEndian.PutUint32(cut, wire.ChunkMagic)
	cut[8], cut[25] = 1, 0xff
	tail(cut)
	before, err := os.ReadFile(a.Path)
	if err != nil {
		t.Fatal(err)
	}
	_, r := open(t, a.Path, false)
	c := newCollect(t)
	for range 3 {
		round(t, r, c)
	}
	for i := range uint64(40) {
		c.check(i+1, 0, 10000+i)
	}
	if len(c.damaged) != 0 || c.ended[21] || !c.ended[22] {
		t.Errorf("damaged: %v, ended: %v", c.damaged, c.ended)
	}
	if after, _ := os.ReadFile(a.Path); !bytes.Equal(before, after) {
		t.Error("reading a spool that was left behind has changed it")
	}
}

// TestLostChunk has a chunk that could be appended nowhere.
func TestLostChunk(t *testing.T) {
	a := spooltest.New(t, t.TempDir(), "p", 1)
	a.Patience = 0
	a.Header.SpillLimit = 0
	a.Publish()
	st := a.Stream(0, 1, 0, "")
	n := uint64(0)
	for st.Slot.Lost == 0 {
		st.Write(number(n))
		n++
	}
	lost := st.Slot.Lost
	st.End()
	_, r := open(t, a.Path, true)
	c := newCollect(t)
	round(t, r, c)
	events, _ := wire.Events(c.data[1])
	if uint64(events)+lost != n || len(c.damaged) != 0 || c.info[1].Lost != lost {
		t.Errorf("%d events read, %d lost (reader: %d) of %d; damaged: %v", events, lost, c.info[1].Lost, n, c.damaged)
	}
}

func TestBusy(t *testing.T) {
	a := spooltest.New(t, t.TempDir(), "p", 1).Publish()
	_, r := open(t, a.Path, true)
	r.Patience = 50 * time.Millisecond
	c := newCollect(t)
	st := a.Stream(0, 7, 0, "")
	round(t, r, c)
	if len(r.Busy) != 0 {
		t.Error("an idle stream is busy")
	}
	st.Slot.Busy = 0x7ff0
	round(t, r, c)
	if len(r.Busy) != 1 || r.Busy[0].TID != 7 {
		t.Errorf("busy: %v", r.Busy)
	}
	spooltest.Until(t, "a writer that makes no progress is left behind", func() bool {
		round(t, r, c)
		return len(r.Busy) == 0
	})
	st.Write(number(0))
	st.Slot.Busy = 0x7ff0
	round(t, r, c)
	if len(r.Busy) != 1 {
		t.Error("a writer that made progress again is still left behind")
	}
	if err := r.Round(c, func(proc uint32) bool { return proc == 0 }); err != nil {
		t.Fatal(err)
	}
	if len(r.Busy) != 0 || !c.ended[1] {
		t.Error("a dead writer is busy, or not ended")
	}
}

func TestTables(t *testing.T) {
	a := spooltest.New(t, t.TempDir(), "p", 1).Publish()
	s, _ := open(t, a.Path, true)
	tb := s.Tables()
	defer tb.Close()
	for i := range uint32(2000) {
		pc := a.PC(uint64(i)+0x1000, i)
		if n, ok := tb.Node(i + 1); ok {
			t.Fatalf("node %d is %+v, before it is there", i+1, n)
		}
		a.Node(i, pc)
		if i%3 == 0 { // those beside it come later
			if n, ok := tb.Node(i + 1); !ok || n != (Node{Parent: i, PC: pc}) {
				t.Fatalf("node %d is %+v, %v", i+1, n, ok)
			}
		}
		a.Module(wire.Module{Kind: wire.ModuleLoad, ID: i + 1, Start: uint64(i)}, "build", fmt.Sprintf("/lib/%d.so", i))
	}
	a.Module(wire.Module{Kind: wire.ModuleUnload, ID: 5}, "", "")
	list, err := tb.Modules()
	if err != nil || len(list) != 2001 || list[1999].Path != "/lib/1999.so" || string(list[7].BuildID) != "build" ||
		list[7].ID != 8 || !list[2000].Unload {
		t.Errorf("%d modules, last %+v, %v", len(list), list[len(list)-1], err)
	}
	if list, err := tb.Modules(); len(list) != 0 || err != nil {
		t.Errorf("no module was added, got %v, %v", list, err)
	}
	for i := range uint32(2000) {
		if pc, ok := tb.PC(i + 1); !ok || pc != (PC{Addr: uint64(i) + 0x1000, Module: i}) {
			t.Fatalf("pc %d is %+v, %v", i+1, pc, ok)
		}
		if n, ok := tb.Node(i + 1); !ok || n != (Node{Parent: i, PC: i + 1}) {
			t.Fatalf("node %d is %+v, %v", i+1, n, ok)
		}
	}
	for _, id := range []uint32{0, 2001, 1 << 20, wire.None} {
		if n, ok := tb.Node(id); ok {
			t.Errorf("node %d is %+v", id, n)
		}
		if pc, ok := tb.PC(id); ok {
			t.Errorf("pc %d is %+v", id, pc)
		}
	}
	m, err := s.Meta()
	if err != nil || m.Exe != "/usr/bin/p" || len(m.Args) != 2 || m.Args[1] != "-x" || m.Dir != "/tmp" ||
		m.Host != "host" ||
		len(m.Env) != 1 {
		t.Errorf("meta %+v, %v", m, err)
	}
}

// TestShrinks cuts the file off while it is mapped.
func TestShrinks(t *testing.T) {
	a := spooltest.New(t, t.TempDir(), "p", 1).Publish()
	st := a.Stream(0, 1, 0, "")
	st.Write(number(0))
	s, r := open(t, a.Path, true)
	c := newCollect(t)
	round(t, r, c)
	tb := s.Tables()
	tb.Node(1)
	if err := os.Truncate(a.Path, 4096); err != nil {
		t.Fatal(err)
	}
	if err := r.Round(c, nil); err == nil {
		t.Error("a spool that was cut short under the reader's hands gave no error")
	}
	if _, ok := tb.Node(1); ok {
		t.Error("a node beyond the end of the file was read")
	}
}
