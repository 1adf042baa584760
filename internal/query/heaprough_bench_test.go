package query

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkFirstPicture asks the recording named by HEAPTAP_RECORDING for rough pictures of the heap: at the peak, as
// the app does first, and at random moments.
func BenchmarkFirstPicture(b *testing.B) {
	s := askable(b)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		name string
		q    func() *Query
	}{
		{"peak", func() *Query { return &Query{} }},
		{"moment", func() *Query { at := rng.Uint64N(s.last + 1); return &Query{At: &at} }},
	} {
		b.Run(c.name, func(b *testing.B) {
			measure(b, func() error {
				_, err := Film(b.Context(), s, c.q(), HeapWish{Cells: 12 << 10, Ages: true, Rough: true,
					Color: ColorStack, Group: s.Profile.ChangeableName})
				return err
			})
		})
	}
}
