package block_test

import (
	"testing"

	"github.com/heaptap/heaptap/internal/recording/block"
)

// TestChangesUsedAgain: changes that are emptied and used again, however often, know nothing of what they had before.
func TestChangesUsedAgain(t *testing.T) {
	t.Parallel()
	var c block.Changes
	c.At(5).Allocs = 7
	for round := range 1000 {
		c.Reset()
		c.At(6).Allocs = 1
		if got := c.Of(5); got != (block.Change{Stack: 5}) {
			t.Fatalf("round %d: %+v", round, got)
		}
	}
}
