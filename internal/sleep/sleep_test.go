package sleep

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// each runs a test with a timer of the kernel's, and without.
func each(t *testing.T, test func(t *testing.T, s *Sleeper)) {
	t.Run("kernel", func(t *testing.T) {
		s := New()
		defer s.Close()
		if s.file == nil {
			t.Fatal("no timer")
		}
		test(t, s)
	})
	t.Run("go", func(t *testing.T) {
		test(t, &Sleeper{bell: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)})
	})
}

// TestFor sleeps for the time that it was told, also after one that was woken.
func TestFor(t *testing.T) {
	each(t, func(t *testing.T, s *Sleeper) {
		for _, d := range []time.Duration{-time.Second, 0, time.Nanosecond, time.Millisecond, 20 * time.Millisecond} {
			began := time.Now()
			if s.For(d) || time.Since(began) < d {
				t.Errorf("slept for %v of %v", time.Since(began), d)
			}
			s.Wake()
			s.Wake()
			if !s.For(time.Hour) {
				t.Error("not woken")
			}
		}
	})
}

// TestWake wakes one that sleeps for long, again and again, from many goroutines: each Wake is followed by the end of a
// sleep that began before it, or by one that began later and is short.
func TestWake(t *testing.T) {
	each(t, func(t *testing.T, s *Sleeper) {
		var told, seen atomic.Int64
		var stop atomic.Bool
		var sleeper, others sync.WaitGroup
		sleeper.Go(func() {
			for !stop.Load() {
				s.For(time.Hour)
				seen.Store(told.Load())
			}
		})
		for range 4 {
			others.Go(func() {
				for range 2000 {
					mine := told.Add(1)
					s.Wake()
					for seen.Load() < mine {
						runtime.Gosched()
					}
				}
			})
		}
		others.Wait()
		stop.Store(true)
		s.Wake()
		sleeper.Wait()
	})
}

// TestRaces wakes one whose time is over at the same moment.
func TestRaces(t *testing.T) {
	each(t, func(t *testing.T, s *Sleeper) {
		var told, seen atomic.Int64
		var stop atomic.Bool
		var sleeper sync.WaitGroup
		sleeper.Go(func() {
			for d := time.Duration(0); !stop.Load(); d = (d + time.Microsecond) % (200 * time.Microsecond) {
				s.For(d)
				seen.Store(told.Load())
			}
		})
		for range 2000 {
			mine := told.Add(1)
			s.Wake()
			for seen.Load() < mine {
				runtime.Gosched()
			}
		}
		stop.Store(true)
		s.Wake()
		sleeper.Wait()
	})
}

// TestClosed wakes one that was closed.
func TestClosed(t *testing.T) {
	s := New()
	s.Close()
	s.Wake()
	if s.For(time.Millisecond) {
		t.Error("woken")
	}
}
