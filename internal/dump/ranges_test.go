package dump

import (
	"math/rand/v2"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// TestNames compares the names of addresses with an array that has a name for each byte.
func TestNames(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	a := &rangesAmong{}
	var memory [64]string
	for i := range 2000 {
		n := event.NamedRange{Start: 1 + uint64(r.IntN(60)), Name: string(rune('a' + i%26))}
		n.Size = uint64(r.IntN(64 - int(n.Start)))
		a.list = append(a.list, n)
		a.take()
		for k := n.Start; k < n.Start+n.Size; k++ {
			memory[k] = n.Name
		}
		for k, want := range memory {
			if got, ok := a.of(uint64(k)); got != want || ok != (want != "") {
				t.Fatalf("after %d names: %q at %d, want %q", i+1, got, k, want)
			}
		}
	}
	a.list = append(a.list, event.NamedRange{Start: 1 << 63, Size: 1<<64 - 1, Name: "to the end"})
	a.take()
	if name, _ := a.of(1<<64 - 2); name != "to the end" {
		t.Errorf("%q at the end of memory", name)
	}
}
