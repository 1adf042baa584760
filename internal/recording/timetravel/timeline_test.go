package timetravel

import (
	"math/rand/v2"
	"testing"

	"github.com/heaptap/heaptap/internal/recording"
)

// TestThin: fewer levels say the same: each has the extremes of those that it stands for, and the last one stays.
func TestThin(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		b := blockLevels{dense: true, allocs: 7, least: -3}
		for i := range 1 + rng.Uint64N(50) {
			live := rng.Int64N(100)
			b.list = append(b.list, recording.Level{Number: i + 1, Live: live, Most: live + rng.Int64N(9),
				Least: live - rng.Int64N(9)})
		}
		n := 1 + rng.IntN(20)
		x := b.thin(n)
		if len(x.list) > n || x.dense || x.allocs != 7 || x.least != -3 {
			t.Fatalf("%d levels of %d, want %d: %+v", len(x.list), len(b.list), n, x)
		}
		at := 0
		for _, v := range x.list {
			most, least := b.list[at].Most, b.list[at].Least
			for ; at < len(b.list) && b.list[at].Number <= v.Number; at++ {
				most, least = max(most, b.list[at].Most), min(least, b.list[at].Least)
			}
			if o := b.list[at-1]; v.Number != o.Number || v.Live != o.Live || v.Most != most || v.Least != least {
				t.Fatalf("%+v stands for levels up to %+v, %d to %d", v, o, least, most)
			}
		}
		if at != len(b.list) {
			t.Fatalf("%d of %d levels", at, len(b.list))
		}
	}
}
