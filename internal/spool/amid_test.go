package spool

import (
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/spool/spooltest"
	"github.com/heaptap/heaptap/internal/wire"
)

// newAlone returns an agent without a recorder: full chunks go to the spill file.
func newAlone(t *testing.T) *spooltest.Agent {
	a := spooltest.New(t, t.TempDir(), "p", 1)
	a.Header.RecorderState = wire.RecorderNone
	return a.Publish()
}

// TestAmidRound has streams come, go and spill while a round is under way: whatever of them the round sees, all of it
// is read, in order, and none ends before its last data.
func TestAmidRound(t *testing.T) {
	const one, two = 100, 200 // numbers written before and after the round's beginning
	write := func(s *spooltest.Stream, from, to uint64) {
		for i := from; i < to; i++ {
			s.Write(number(i))
		}
	}
	for _, c := range []struct {
		name   string
		before func(a *spooltest.Agent, r func()) *spooltest.Stream
		during func(a *spooltest.Agent, first, s *spooltest.Stream)
	}{
		{"begun and spilled meanwhile", nil, func(a *spooltest.Agent, first, _ *spooltest.Stream) {
			first.Next() // has the reader look into the spill file once more
			s := a.Stream(0, 2, 0, "")
			write(s, 0, one)
			s.Next()
			write(s, one, two)
		}},
		{"left meanwhile", func(a *spooltest.Agent, round func()) *spooltest.Stream {
			s := a.Stream(0, 2, 0, "")
			write(s, 0, one)
			round()
			return s
		}, func(_ *spooltest.Agent, _, s *spooltest.Stream) {
			s.Next()
			write(s, one, two)
			s.Leave()
		}},
		{"left meanwhile without being seen", func(a *spooltest.Agent, _ func()) *spooltest.Stream {
			s := a.Stream(0, 2, 0, "")
			write(s, 0, one)
			s.Next()
			return s
		}, func(_ *spooltest.Agent, _, s *spooltest.Stream) {
			write(s, one, two)
			s.Leave()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAlone(t)
			_, r := open(t, a.Path, false)
			k := newCollect(t)
			first := a.Stream(0, 1, 0, "")
			write(first, 0, one)
			var other *spooltest.Stream
			if c.before != nil {
				other = c.before(a, func() { round(t, r, k) })
			}
			write(first, one, one+1)
			first.Next()
			k.during = func() { c.during(a, first, other) }
			round(t, r, k)
			round(t, r, k)
			round(t, r, k)
			k.check(1, 0, one+1)
			k.check(2, 0, two)
		})
	}
}

// TestUnfilledProcess has a process that has taken its slot and not filled it: neither it nor those behind it are told
// of, nor their streams, until it has, or was given time enough.
func TestUnfilledProcess(t *testing.T) {
	prepare := func(t *testing.T) (*spooltest.Agent, *Reader, uint32) {
		a := newAlone(t)
		_, r := open(t, a.Path, false)
		r.Patience = time.Hour
		a.Stream(0, 1, 0, "").Write(number(0))
		gap := a.TakeProc()
		s := a.Stream(a.Proc(3, gap, 30), 3, 0, "")
		s.Write(number(0))
		s.Next()
		s.Write(number(1))
		return a, r, gap
	}
	told := func(t *testing.T, r *Reader, want ...Process) {
		t.Helper()
		list, err := r.Processes(1)
		if err != nil || len(list) != len(want) {
			t.Fatalf("processes: %+v, %v; want %+v", list, err, want)
		}
		for i := range list {
			if list[i] != want[i] {
				t.Errorf("process %+v, want %+v", list[i], want[i])
			}
		}
	}
	third := Process{Slot: 2, PID: 3, Parent: 1, ForkTime: 30, Random: 1}

	t.Run("filled", func(t *testing.T) {
		a, r, gap := prepare(t)
		c := newCollect(t)
		for range 2 {
			round(t, r, c)
			told(t, r)
			c.check(1, 0, 1)
			if len(c.data) != 1 || len(c.ended) != 0 {
				t.Fatalf("%d streams, %d ended", len(c.data), len(c.ended))
			}
		}
		a.FillProc(gap, 2, 0, 20)
		round(t, r, c)
		told(t, r, Process{Slot: 1, PID: 2, Parent: 0, ForkTime: 20, Random: 1}, third)
		c.check(2, 0, 2)
	})

	t.Run("given up", func(t *testing.T) {
		_, r, _ := prepare(t)
		c := newCollect(t)
		round(t, r, c)
		told(t, r)
		r.Patience = 0
		round(t, r, c)
		told(t, r, Process{Slot: 1, Parent: wire.None, ForkTime: r.s.info.Counter}, third)
		c.check(2, 0, 2)
	})
}
