package clock

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestNow(t *testing.T) {
	last := Now()
	for range 1000 {
		if n := Now(); n < last {
			t.Fatalf("the counter went back from %d to %d", last, n)
		} else {
			last = n
		}
	}
}

// TestMonotonic compares with what the kernel says.
func TestMonotonic(t *testing.T) {
	for range 100 {
		before := Monotonic()
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			t.Fatal(err)
		}
		after := Monotonic()
		if k := uint64(now.Nano()); k < before || k > after {
			t.Fatalf("%d, the kernel's %d, %d", before, k, after)
		}
	}
}

func TestPair(t *testing.T) {
	c0, m0 := Pair()
	time.Sleep(20 * time.Millisecond)
	c1, m1 := Pair()
	time.Sleep(40 * time.Millisecond)
	c2, m2 := Pair()
	a, b := float64(c1-c0)/float64(m1-m0), float64(c2-c1)/float64(m2-m1)
	if a < 0.001 || a > 100 || a/b < 0.99 || a/b > 1.01 {
		t.Errorf("%.4f ticks a nanosecond, then %.4f", a, b)
	}
}
