// Package ticks converts the timestamps of a processor's counter to the time since a recording's start.
//
// The rule: time is continuous and never goes back. The rate follows later readings of both clocks, so that time
// neither jumps nor drifts.
package ticks

import (
	"math/bits"

	"github.com/heaptap/heaptap/internal/recording"
)

// Map converts timestamps to nanoseconds since a recording's start.
type Map struct {
	counter0, mono0 uint64 // where it starts
	counter, ns     uint64 // where the present rate applies from
	rate            uint64 // ns per tick, in 2^-32
	learned         uint64 // counter at the latest reading that was used

	// For Near: from this tick on, which is so many units and a part of one in 2^-32 ns, for span ticks.
	from, span uint64
	unit       int64
	part       uint64
}

// shift and limits of rate: counters tick between 1 MHz and 16 GHz.
const (
	rateShift = 32
	maxRate   = 1000 << rateShift
	minRate   = 1 << rateShift / 16
)

// New starts at one moment on two clocks; a second one gives the rate.
func New(counter0, mono0, counter1, mono1 uint64) *Map {
	m := &Map{counter0: counter0, mono0: mono0, counter: counter0, learned: counter0}
	m.rate = ratio(mono1-mono0, counter1-counter0)
	return m
}

// ratio returns ns per tick, limited to what can be.
func ratio(ns, ticks uint64) uint64 {
	if ticks == 0 || int64(ticks) < 0 || int64(ns) < 0 || ns>>32 >= ticks {
		return 1 << rateShift
	}
	q, _ := bits.Div64(ns>>(64-rateShift), ns<<rateShift, ticks)
	return min(max(q, minRate), maxRate)
}

// From is a map that starts at a later tick of m. A moment on both clocks gives the rate, if it is after that.
func (m *Map) From(counter, counter1, mono1 uint64) *Map {
	child := New(counter, m.mono0+uint64(m.At(counter)), counter1, mono1)
	if counter1 <= counter {
		child.rate = m.rate
	}
	return child
}

// Since converts a time of CLOCK_MONOTONIC to ns since the start; one before it is 0.
func (m *Map) Since(mono uint64) int64 { return max(0, int64(mono-m.mono0)) }

// Duration is how long so many ticks take, in ns.
func (m *Map) Duration(ticks uint64) uint64 { return scale(ticks, m.rate) }

// Ticks is how many ticks a duration has, in ns.
func (m *Map) Ticks(ns uint64) uint64 { return scale(ns, ratio(1<<20, scale(1<<20, m.rate))) }

// Femtoseconds is how long a tick is.
func (m *Map) Femtoseconds() uint64 { return scale(1_000_000, m.rate) }

// At converts a timestamp; one before the start is 0.
func (m *Map) At(counter uint64) int64 {
	if d := counter - m.counter; d < nearTicks {
		return m.near(d)
	}
	return m.far(counter)
}

// near is At for the tick d after counter, if that is one of nearTicks.
func (m *Map) near(d uint64) int64 {
	hi, lo := bits.Mul64(d, m.rate)
	return int64(m.ns + (hi<<(64-rateShift) | lo>>rateShift))
}

// Units is At in the recording's units of time.
func (m *Map) Units(counter uint64) int64 {
	if t, ok := m.Near(counter); ok {
		return t
	}
	return m.Far(counter)
}

// Near is Units for a timestamp soon after the latest one that Far has converted; false for others. It is short enough
// to become part of a loop.
func (m *Map) Near(counter uint64) (units int64, ok bool) {
	d := counter - m.from
	return m.unit + int64((m.part+d*m.rate)/(recording.Quantum<<rateShift)), d < m.span
}

// Far is Units for any timestamp; Near knows those that follow.
func (m *Map) Far(counter uint64) int64 {
	d := counter - m.counter
	if d >= nearTicks {
		return m.far(counter) / recording.Quantum
	}
	ns := uint64(m.near(d))
	m.from, m.span = counter, 1<<63/m.rate
	m.unit, m.part = int64(ns/recording.Quantum), ns%recording.Quantum<<rateShift|d*m.rate&(1<<rateShift-1)
	return m.unit
}

// nearTicks are days at least, and so few that no rate can make them overflow.
const nearTicks = 1 << 50

func (m *Map) far(counter uint64) int64 {
	if d := counter - m.counter; int64(d) >= 0 {
		return int64(m.ns + scale(d, m.rate))
	}
	d := scale(m.counter-counter, m.rate)
	if d > m.ns {
		return 0
	}
	return int64(m.ns - d)
}

// scale multiplies by a rate; what does not fit, in the records of a broken writer only, is the largest time.
func scale(d, rate uint64) uint64 {
	hi, lo := bits.Mul64(d, rate)
	if hi>>(rateShift-2) != 0 {
		return 1 << 61
	}
	return hi<<(64-rateShift) | lo>>rateShift
}

// Learn takes a later moment on both clocks. Everything up to that moment has been converted.
func (m *Map) Learn(counter, mono uint64) {
	since := counter - m.learned
	if int64(since) <= 0 || mono <= m.mono0 {
		return
	}
	// Wait until the readings' own errors, some tens of ns, are small against the distance.
	if scale(since, m.rate) < 10e6 {
		return
	}
	here := uint64(m.At(counter))
	whole := ratio(mono-m.mono0, counter-m.counter0)
	// Get rid of the deviation over as much time again as has passed.
	target := mono - m.mono0 + scale(since, whole)
	rate := whole
	if target > here {
		rate = ratio(target-here, since)
	}
	// At most 5 % off the true rate: time does not stand still for a deviation.
	rate = min(max(rate, whole-whole/20), whole+whole/20)
	m.counter, m.ns, m.rate, m.learned, m.span = counter, here, rate, counter, 0
}
