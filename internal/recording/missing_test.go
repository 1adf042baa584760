package recording_test

import (
	"bytes"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// TestFirstBlockMissing: blocks keep their numbers if the events before them are damaged.
func TestFirstBlockMissing(t *testing.T) {
	t.Parallel()
	b := small(t, false)
	whole, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), "whole.htap")
	if err != nil {
		t.Fatal(err)
	}
	first, second := eventBlocks(whole)[0], eventBlocks(whole)[1]
	b[first.Offset] ^= 1 // its header: the block is not found
	r, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), "cut.htap")
	if err != nil {
		t.Fatal(err)
	}
	firstAlloc, err := whole.AllocsBefore(second.FirstEvent)
	if from, _ := r.Cuts(); from != second.FirstEvent || firstAlloc == 0 || err != nil {
		t.Fatalf("the events begin at %d, want %d", from, second.FirstEvent)
	}
	_, last := r.Cuts()
	n := 0
	if err := timetravel.BlocksAt(t.Context(), r, last, func(b *event.Block) bool {
		born, _, _, _, err := timetravel.History(t.Context(), r, b.Ref)
		if err != nil || born == nil || born.Size != b.Size || b.Ref < firstAlloc {
			t.Errorf("block %+v was born by %+v, %v", *b, born, err)
		}
		n++
		return true
	}); err != nil || n == 0 {
		t.Fatal(n, err)
	}
}
