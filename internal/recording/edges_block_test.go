package recording_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/block"
)

// payloads are those of a recording's blocks of events.
func payloads(t *testing.T, path string) (list [][]byte) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const header = 24
	for _, b := range open(t, path).Blocks() {
		if b.Threads > 0 {
			list = append(list, file[b.Offset+header:b.Offset+b.Size])
		}
	}
	return list
}

// TestForgedBirth: a block that was freed claims to be born later than any time that the recording may have.
func TestForgedBirth(t *testing.T) {
	t.Parallel()
	a := alloc(100, 1, 10)
	end := free(200, 0, a)
	end.Born = 1_000_000
	list := payloads(t, writeBlocks(t, event.Process{PID: 1}, &recording.Ending{}, []event.Event{a},
		[]event.Event{end}))
	for _, most := range []uint64{100, 100_000} { // units of 100 ns
		d := block.Decoder{Quantum: recording.Quantum, MaxTime: most, ThreadCount: 1, Wanted: recording.AllFields}
		err := d.Open(bytes.Clone(list[len(list)-1]))
		if err == nil {
			_, err = d.Decode(func(*block.Batch) bool { return true })
		}
		if (err == nil) != (most > 10_000) {
			t.Errorf("at most %d units: %v", most, err)
		}
	}
}

// TestForgedEnd: a block claims to end before its last event. Its times are an error.
func TestForgedEnd(t *testing.T) {
	t.Parallel()
	list := payloads(t, writeBlocks(t, event.Process{PID: 1}, &recording.Ending{},
		[]event.Event{alloc(1000, 1, 1), alloc(2000, 1, 2), alloc(4000, 1, 3)}))
	forged := 0
	for i := 1; i <= int(list[0][0]); i++ {
		p := bytes.Clone(list[0])
		p[i]--
		d := block.Decoder{Quantum: recording.Quantum, MaxTime: 1 << 40, ThreadCount: 1, Wanted: recording.AllFields}
		if d.Open(p) != nil || d.Head.Begin != 10 || d.Head.End >= 40 {
			continue
		}
		forged++
		if _, err := d.Moments(); err == nil {
			t.Errorf("its end at %d is believed", d.Head.End)
		}
	}
	if forged == 0 {
		t.Error("no end was forged: the test tests nothing")
	}
}

// TestForgedSummary: a summary of one level is of so many blocks at most.
func TestForgedSummary(t *testing.T) {
	t.Parallel()
	for level := uint64(1); level <= block.Levels; level++ {
		most := uint64(1) << (4 * level)
		for blocks, want := range map[uint64]bool{1: true, most: true, most + 1: false, 1 << 63: false, 0: false} {
			h := block.SummaryHead{Level: level, Blocks: blocks}
			if got := h.Valid(); got != want {
				t.Errorf("level %d, %d blocks: %v", level, blocks, got)
			}
		}
	}
}
