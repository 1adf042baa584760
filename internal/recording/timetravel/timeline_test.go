package timetravel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/recording"
)

// TestThin: fewer levels say the same: each has the extremes of those that it stands for, and the last one stays.
func TestThin(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		var list []recording.Level
		for i := range 1 + rng.Uint64N(50) {
			live := rng.Int64N(100)
			list = append(list, recording.Level{Number: i + 1, Live: live, Most: live + rng.Int64N(9),
				Least: live - rng.Int64N(9)})
		}
		b := blockLevels{dense: true, packed: pack(list), allocs: 7, least: -3}
		n := 1 + rng.IntN(20)
		x := b.thin(n)
		if !slices.Equal(b.list(), list) {
			t.Fatalf("%+v was packed, %+v unpacked", list, b.list())
		}
		fewer := x.list()
		if len(fewer) > n || x.dense || x.allocs != 7 || x.least != -3 {
			t.Fatalf("%d levels of %d, want %d: %+v", len(fewer), len(list), n, x)
		}
		at := 0
		for _, v := range fewer {
			most, least := list[at].Most, list[at].Least
			for ; at < len(list) && list[at].Number <= v.Number; at++ {
				most, least = max(most, list[at].Most), min(least, list[at].Least)
			}
			if o := list[at-1]; v.Number != o.Number || v.Live != o.Live || v.Most != most || v.Least != least {
				t.Fatalf("%+v stands for levels up to %+v, %d to %d", v, o, least, most)
			}
		}
		if at != len(list) {
			t.Fatalf("%d of %d levels", at, len(list))
		}
	}
}
