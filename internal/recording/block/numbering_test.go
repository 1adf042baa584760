package block

import (
	"math/rand/v2"
	"testing"
)

// TestNumbering compares numbers with a map's, over more rounds than there are epochs.
func TestNumbering(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var n numbering
	ids := []uint32{0, 1, 2, 63, 64, 65, 1000, maxDense - 1, maxDense, maxDense + 1, 1<<32 - 1}
	for round := range 600 {
		n.forget()
		want := map[uint32]uint32{}
		for range r.IntN(8) {
			id := ids[r.IntN(len(ids))]
			if round < 550 && id == maxDense-1 {
				continue // the array stays small for the most part
			}
			number := [...]uint32{0, 1, r.Uint32N(maxDense), maxDense - 1, maxDense, 1<<32 - 1}[r.IntN(6)]
			if _, ok := want[id]; !ok {
				n.set(id, number)
				want[id] = number
			}
		}
		for _, id := range ids {
			number, ok := n.of(id)
			if expected, there := want[id]; ok != there || ok && number != expected {
				t.Fatalf("round %d, id %d: got %d, %v, want %d, %v", round, id, number, ok, expected, there)
			}
		}
	}
}
