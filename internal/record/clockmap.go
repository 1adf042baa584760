package record

import (
	"math/bits"

	"github.com/heaptap/heaptap/internal/recording"
)

// clockMap converts timestamps to nanoseconds since a recording's start. It is continuous and never decreases; its rate
// follows later readings of both clocks, so that it neither jumps nor drifts.
type clockMap struct {
	counter0, mono0 uint64 // where it starts
	counter, ns     uint64 // where the present rate applies from
	rate            uint64 // ns per tick, in 2^-32
	learned         uint64 // counter at the latest reading that was used

	// For units: from a tick on, which is so many units and so much of one in 2^-32 ns, for so many ticks.
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

// newClockMap starts at one moment on two clocks; a second one gives the rate.
func newClockMap(counter0, mono0, counter1, mono1 uint64) *clockMap {
	c := &clockMap{counter0: counter0, mono0: mono0, counter: counter0, learned: counter0}
	c.rate = ratio(mono1-mono0, counter1-counter0)
	return c
}

// ratio returns ns per tick, limited to what can be.
func ratio(ns, ticks uint64) uint64 {
	if ticks == 0 || int64(ticks) < 0 || int64(ns) < 0 || ns>>32 >= ticks {
		return 1 << rateShift
	}
	q, _ := bits.Div64(ns>>(64-rateShift), ns<<rateShift, ticks)
	return min(max(q, minRate), maxRate)
}

// at converts a timestamp; one before the start is 0.
func (c *clockMap) at(counter uint64) int64 {
	if d := counter - c.counter; d < nearTicks {
		return c.near(d)
	}
	return c.far(counter)
}

// near is at for the tick d after counter, if that is one of nearTicks.
func (c *clockMap) near(d uint64) int64 {
	hi, lo := bits.Mul64(d, c.rate)
	return int64(c.ns + (hi<<(64-rateShift) | lo>>rateShift))
}

// units is at in the recording's units of time, with which it goes on quickly.
func (c *clockMap) units(counter uint64) int64 {
	if d := counter - c.from; d < c.span {
		return c.quick(d)
	}
	return c.unitsAnew(counter)
}

// quick is units for the tick d after from, one of span.
func (c *clockMap) quick(d uint64) int64 {
	return c.unit + int64((c.part+d*c.rate)/(recording.Quantum<<rateShift))
}

// unitsAnew is units, which is quick from there on.
func (c *clockMap) unitsAnew(counter uint64) int64 {
	d := counter - c.counter
	if d >= nearTicks {
		return c.far(counter) / recording.Quantum
	}
	ns := uint64(c.near(d))
	c.from, c.span = counter, 1<<63/c.rate
	c.unit, c.part = int64(ns/recording.Quantum), ns%recording.Quantum<<rateShift|d*c.rate&(1<<rateShift-1)
	return c.unit
}

// nearTicks are days at least, and so few that no rate can make them overflow.
const nearTicks = 1 << 50

func (c *clockMap) far(counter uint64) int64 {
	if d := counter - c.counter; int64(d) >= 0 {
		return int64(c.ns + scale(d, c.rate))
	}
	d := scale(c.counter-counter, c.rate)
	if d > c.ns {
		return 0
	}
	return int64(c.ns - d)
}

// scale multiplies by a rate; what does not fit, in the records of a broken writer only, is the largest time.
func scale(d, rate uint64) uint64 {
	hi, lo := bits.Mul64(d, rate)
	if hi>>(rateShift-2) != 0 {
		return 1 << 61
	}
	return hi<<(64-rateShift) | lo>>rateShift
}

// learn takes a later moment on both clocks. Everything up to that moment has been converted.
func (c *clockMap) learn(counter, mono uint64) {
	since := counter - c.learned
	if int64(since) <= 0 || mono <= c.mono0 {
		return
	}
	// Wait until the readings' own errors, some tens of ns, are small against the distance.
	if scale(since, c.rate) < 10e6 {
		return
	}
	here := uint64(c.at(counter))
	whole := ratio(mono-c.mono0, counter-c.counter0)
	// Get rid of the deviation over as much time again as has passed.
	target := mono - c.mono0 + scale(since, whole)
	rate := whole
	if target > here {
		rate = ratio(target-here, since)
	}
	// At most 5 % off the true rate: time does not stand still for a deviation.
	rate = min(max(rate, whole-whole/20), whole+whole/20)
	c.counter, c.ns, c.rate, c.learned, c.span = counter, here, rate, counter, 0
}
