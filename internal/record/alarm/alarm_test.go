package alarm

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/spool"
	"github.com/heaptap/heaptap/internal/spool/spooltest"
)

// sleeps returns an alarm, which listens, and a function that says how often Wait has returned for it.
func sleeps(t *testing.T, spools []*spool.Spool, nap time.Duration) (a *Alarm, woken *atomic.Int64) {
	t.Helper()
	a, woken = New(t.TempDir()), new(atomic.Int64)
	var serving sync.WaitGroup
	serving.Go(a.Serve)
	stop := make(chan struct{})
	var drain sync.WaitGroup
	drain.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				a.Wait(spools, nap)
				woken.Add(1)
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		a.Ring()
		drain.Wait()
		a.End()
		serving.Wait()
		a.Close()
	})
	return a, woken
}

func opened(t *testing.T) (*spooltest.Agent, *spool.Spool) {
	t.Helper()
	a := spooltest.New(t, t.TempDir(), "p", os.Getpid())
	a.Publish()
	s, err := spool.Open(a.Path, "", true)
	if err != nil {
		t.Fatal(err)
	}
	return a, s
}

// TestRings wakes a drain that would sleep for long, as goroutines do, and as agents of one and of several spools do.
func TestRings(t *testing.T) {
	for _, n := range []int{0, 1, 3} {
		var agents []*spooltest.Agent
		var spools []*spool.Spool
		for range n {
			g, s := opened(t)
			agents, spools = append(agents, g), append(spools, s)
		}
		a, woken := sleeps(t, spools, time.Hour)
		for range 100 {
			before := woken.Load()
			a.Ring()
			spooltest.Until(t, "ring", func() bool { return woken.Load() > before })
		}
		for i, g := range agents {
			for range 20 {
				spooltest.Until(t, "sleep", func() bool { return atomic.LoadUint32(&g.Header.RecorderSleeps) == 1 })
				before := woken.Load()
				atomic.StoreUint32(&g.Header.RecorderSleeps, 0)
				spools[i].Ring()
				spooltest.Until(t, "ring of an agent", func() bool { return woken.Load() > before })
			}
		}
	}
}

// TestIgnore closes spools while the alarm listens to them.
func TestIgnore(t *testing.T) {
	for range 50 {
		_, one := opened(t)
		_, two := opened(t)
		b := New(t.TempDir())
		var serving sync.WaitGroup
		serving.Go(b.Serve)
		b.Wait([]*spool.Spool{one, two}, time.Millisecond)
		for _, s := range []*spool.Spool{one, two} {
			b.Ignore(s)
			s.Close()
		}
		b.Wait(nil, time.Microsecond)
		b.End()
		serving.Wait()
		b.Close()
	}
}

// TestCutShort ignores a spool that was cut short while the alarm listens to it: it cannot ring, and is not waited for.
func TestCutShort(t *testing.T) {
	g, s := opened(t)
	a := New(t.TempDir())
	var serving sync.WaitGroup
	serving.Go(a.Serve)
	began := time.Now()
	a.Wait([]*spool.Spool{s}, time.Millisecond)
	if a.Deaf() {
		t.Fatal("it cannot wait for one spool")
	}
	if err := os.Truncate(g.Path, 0); err != nil {
		t.Fatal(err)
	}
	a.Ignore(s)
	if took := time.Since(began); took > patience/2 {
		t.Errorf("waited for %v", took)
	}
	s.Close()
	a.End()
	serving.Wait()
	a.Close()
}
