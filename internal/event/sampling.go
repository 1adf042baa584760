package event

import (
	"fmt"
	"math"
)

// Sampling says how allocations are chosen at random. The zero value: none are, or it is not known how.
type Sampling struct {
	// Bytes is the mean number of bytes from one sample to the next, an exponential distribution: an allocation of n bytes is chosen
	// with probability 1 - exp(-max(n, 1) / Bytes).
	Bytes uint64 `json:",omitempty"`
	// Calls is the mean number of calls from one sample to the next, a geometric distribution.
	Calls uint64 `json:",omitempty"`
	// Seed tells recordings apart, so that what is rounded at random is not rounded the same way in all of them.
	Seed uint64 `json:",omitempty"`
}

// weight is what a Sampled event stands for.
type weight struct{ blocks, bytes uint64 }

// Weight is how many blocks, and requested bytes of them, the event counts as: 1 and Size, or, if it is Sampled and was weighed,
// estimates. These are integers, the same for an allocation and the Free that ends it, so that what is live never falls below 0, and
// unbiased: the expectation of their sum over the samples is the sum over all allocations.
func (e *Event) Weight() (blocks, bytes uint64) {
	if e.Flags&Sampled == 0 || e.weight.blocks == 0 {
		return 1, e.Size
	}
	return e.weight.blocks, e.weight.bytes
}

// Variance is by how much the event adds to the variance of sums of weights: the expectation of its sum over the samples is the
// variance of the sum of their weights. A block that ends takes away what its allocation has added to that of what is live.
func (e *Event) Variance() (blocks, bytes float64) {
	if e.Flags&Sampled == 0 {
		return 0, 0
	}
	n, b := e.Weight()
	return float64(n) * (float64(n) - 1), float64(b) * (float64(b) - float64(e.Size))
}

// Probability is that with which an allocation of size bytes is chosen.
func (s Sampling) Probability(size uint64) float64 {
	switch {
	case s.Calls > 0:
		return 1 / float64(s.Calls)
	case s.Bytes > 0:
		return -math.Expm1(-float64(max(size, 1)) / float64(s.Bytes))
	}
	return 1
}

// Weigh gives an event its weight, if it is Sampled; ref is the number of the allocation that it makes or ends. One chosen with probability p
// stands for 1/p blocks. To be an integer that is rounded up or down at random, and the same for the bytes: so that every reader comes to the
// same sums, the allocation's number is what decides.
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
	const most = 1 << 62 // of a forged recording
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

// mix makes numbers that follow one another as good as random (Steele, Lea, Flood: SplitMix64).
func mix(n uint64) uint64 {
	n = (n + 1) * 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// String says how allocations are chosen, for people.
func (s Sampling) String() string {
	switch {
	case s.Calls > 0:
		return fmt.Sprintf("one of %d calls", s.Calls)
	case s.Bytes > 0:
		return fmt.Sprintf("one for every %d bytes", s.Bytes)
	}
	return "in an unknown way"
}
