package event

import (
	"fmt"
	"math"
)

// Sampling says how allocations are sampled. The zero value means that they are not, or that it is not known how.
type Sampling struct {
	// Bytes is the mean distance between two samples, in bytes. Distances are exponentially distributed, so an
	// allocation of n bytes is sampled with probability 1 - exp(-max(n, 1) / Bytes).
	Bytes uint64 `json:",omitempty"`
	// Calls is the mean distance between two samples, in calls. Distances are geometrically distributed.
	Calls uint64 `json:",omitempty"`
	// Seed differs between recordings, so that they do not round weights the same way.
	Seed uint64 `json:",omitempty"`
}

// weight is how many blocks and bytes a Sampled event stands for.
type weight struct{ blocks, bytes uint64 }

// Weight returns how many blocks and requested bytes the event stands for: 1 and Size, or estimates if it is Sampled
// and Weigh was called. Estimates are integers, and equal for an allocation and the Free that ends it, so that live
// bytes never fall below 0. They are unbiased: the expected sum over the samples is the sum over all allocations.
func (e *Event) Weight() (blocks, bytes uint64) {
	if e.Flags&Sampled == 0 || e.weight.blocks == 0 {
		return 1, e.Size
	}
	return e.weight.blocks, e.weight.bytes
}

// Variance returns what the event adds to the variance of a sum of weights: the expected sum over the samples is the
// variance of the sum. For live blocks, a Free subtracts what its allocation added.
func (e *Event) Variance() (blocks, bytes float64) {
	if e.Flags&Sampled == 0 {
		return 0, 0
	}
	n, b := e.Weight()
	return float64(n) * (float64(n) - 1), float64(b) * (float64(b) - float64(e.Size))
}

// Probability returns the probability that an allocation of size bytes is sampled.
func (s Sampling) Probability(size uint64) float64 {
	switch {
	case s.Calls > 0:
		return 1 / float64(s.Calls)
	case s.Bytes > 0:
		return -math.Expm1(-float64(max(size, 1)) / float64(s.Bytes))
	}
	return 1
}

// Weigh sets the weight of a Sampled event; ref is the number of the allocation that it makes or ends. An allocation
// that was sampled with probability p stands for 1/p blocks, rounded up or down at random; bytes likewise. The
// allocation's number decides the direction, so that every reader gets the same sums.
func (s Sampling) Weigh(e *Event, ref uint64) {
	e.weight = weight{}
	p := s.Probability(e.Size)
	if e.Flags&Sampled == 0 || p >= 1 {
		return
	}
	e.weight = weight{blocks: round(1/p, ref<<1^s.Seed), bytes: round(float64(e.Size)/p, (ref<<1|1)^s.Seed)}
}

// round rounds v up with a probability that is its fraction, else down.
func round(v float64, number uint64) uint64 {
	const most = 1 << 62 // a forged recording may exceed it
	if !(v < most) {
		return most
	}
	down := math.Floor(v)
	n := uint64(down)
	if float64(mix(number)>>11)/(1<<53) < v-down {
		n++
	}
	return n
}

// mix turns consecutive numbers into pseudo-random ones (SplitMix64: Steele, Lea, Flood, OOPSLA 2014).
func mix(n uint64) uint64 {
	n = (n + 1) * 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// String describes the sampling for people.
func (s Sampling) String() string {
	switch {
	case s.Calls > 0:
		return fmt.Sprintf("one of %d calls", s.Calls)
	case s.Bytes > 0:
		return fmt.Sprintf("one for every %d bytes", s.Bytes)
	}
	return "in an unknown way"
}
