package recording

import (
	"bytes"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// TestFirstBlockMissing: blocks keep their numbers if the events before them are damaged.
func TestFirstBlockMissing(t *testing.T) {
	t.Parallel()
	b := small(t, false)
	whole, err := NewReader(bytes.NewReader(b), int64(len(b)), "whole.htap")
	if err != nil {
		t.Fatal(err)
	}
	first, second := whole.events[0], whole.events[1].head
	b[first.offset] ^= 1 // its header: the block is not found
	r, err := NewReader(bytes.NewReader(b), int64(len(b)), "cut.htap")
	if err != nil {
		t.Fatal(err)
	}
	if from, _ := r.Cuts(); from != second.FirstEvent || second.FirstAlloc == 0 {
		t.Fatalf("the events begin at %d, want %d", from, second.FirstEvent)
	}
	_, last := r.Cuts()
	n := 0
	if err := r.BlocksAt(t.Context(), last, func(b *event.Block) bool {
		born, _, _, _, err := r.History(t.Context(), b.Ref)
		if err != nil || born == nil || born.Size != b.Size || b.Ref < second.FirstAlloc {
			t.Errorf("block %+v was born by %+v, %v", *b, born, err)
		}
		n++
		return true
	}); err != nil || n == 0 {
		t.Fatal(n, err)
	}
}
