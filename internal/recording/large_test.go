package recording_test

import (
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/column"
	"github.com/heaptap/heaptap/internal/tally"
)

// TestManyStacks has statistics of so many call stacks that they do not fit into one column.
func TestManyStacks(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	sum := &tally.Summary{}
	for i := range uint32(200_000) {
		s := tally.Stack{ID: i + 1, OwnPeakBytes: random.Uint64() >> 2, LiveAtPeakBytes: random.Uint64() >> 2,
			LiveAtPeakBlocks: random.Uint64() >> 2}
		s.Allocations, s.Bytes = random.Uint64()>>2, random.Uint64()>>2
		s.Deallocations, s.FreedBytes = random.Uint64()>>2, random.Uint64()>>2
		s.MinSize, s.MaxSize, s.Slack = random.Uint64()>>2, random.Uint64()>>2, random.Uint64()>>2
		sum.Stacks = append(sum.Stacks, s)
	}
	counted := tally.Resume(sum)
	if n := len(counted.Summary().Marshal()); n <= column.MaxLength {
		t.Fatalf("the statistics have %d bytes only: they fit", n)
	}
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{PID: 1}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(recording.Ending{Tally: counted}); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := r.StoredTally(); !r.Complete() || got == nil || !slices.Equal(got.Stacks, counted.Summary().Stacks) {
		t.Errorf("the statistics are lost: %v", r.Damage())
	}
}

// TestLongNames has symbols whose names together do not fit into one column.
func TestLongNames(t *testing.T) {
	t.Parallel()
	frames := map[uint32][]event.Frame{}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range uint32(3000) {
		name := make([]byte, 6000)
		for k := range name {
			name[k] = byte('a' + random.IntN(26))
		}
		frames[i+1] = []event.Frame{{Function: string(name)}}
	}
	r := written(t, func(w *recording.Writer) error {
		for pc := range frames {
			w.PC(pc, event.PC{Addr: uint64(pc)})
		}
		return w.Symbols(frames)
	})
	if got := r.Symbols(); !reflect.DeepEqual(got, frames) {
		t.Errorf("%d of %d names", len(got), len(frames))
	}
}
