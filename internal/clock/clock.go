// Package clock reads the counter that all cores share and with which the agent stamps its events: the timestamp
// counter of x86-64, the virtual counter of arm64. It also pairs it with the kernel's monotonic clock, so that one can
// be converted into the other.
package clock

import _ "unsafe" // for linkname

// Now returns the counter. It is read after all earlier instructions of the program and before all later ones.
func Now() uint64 { return counter() }

// Fence orders loads: those before it in the program are satisfied before those after it.
func Fence() { fence() }

// Monotonic returns CLOCK_MONOTONIC in nanoseconds.
func Monotonic() uint64 { return uint64(nanotime()) }

// nanotime reads that clock without a system call. Package time does not return what it reads.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

// Pair reads both clocks at about the same time. Of a few attempts it takes the fastest.
func Pair() (counter, mono uint64) {
	best := ^uint64(0)
	for range 5 {
		a := Now()
		m := Monotonic()
		b := Now()
		if d := b - a; d < best {
			best, counter, mono = d, a+d/2, m
		}
	}
	return counter, mono
}
