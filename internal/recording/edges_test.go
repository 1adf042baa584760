package recording_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/repair"
	"github.com/heaptap/heaptap/internal/tally"
)

// alloc and free are events of thread 0; those that are recorded have the time that is given.
func alloc(time int64, stack uint32, size uint64) event.Event {
	return event.Event{Time: time, Kind: event.Alloc, Func: event.Malloc, Stack: stack, Size: size, Ref: event.NoRef}
}

func free(time int64, ref uint64, a event.Event) event.Event {
	return event.Event{Time: time, Kind: event.Free, Func: event.FreeFunc, Stack: a.Stack, Size: a.Size, Ref: ref,
		Born: a.Time, BornBy: a.Thread, Flags: a.Flags & event.Sampled}
}

// writeBlocks writes a recording: the process, two call stacks and events, in as many blocks as there are lists.
func writeBlocks(t *testing.T, process event.Process, ending *recording.Ending, blocks ...[]event.Event) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, process, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Thread(0, event.Thread{TID: 100})
	for i := uint32(1); i <= 2; i++ {
		w.PC(i, event.PC{Addr: uint64(i)})
		w.Node(i, event.Node{PC: i})
	}
	for _, events := range blocks {
		if err := w.Events(events); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if ending == nil {
		err = w.Abort()
	} else {
		err = w.Finish(*ending)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string) *recording.Reader {
	t.Helper()
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// TestHeaderAcrossReads: behind damage, the next block is found wherever its header lies: the reader looks for it in
// pieces of 64 KiB.
func TestHeaderAcrossReads(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(writeBlocks(t, event.Process{PID: 1}, nil, []event.Event{alloc(100, 1, 10)}))
	if err != nil {
		t.Fatal(err)
	}
	r, err := recording.NewReader(bytes.NewReader(file), int64(len(file)), "a.htap")
	if err != nil {
		t.Fatal(err)
	}
	at := int64(-1) // where the block of events begins
	for _, b := range r.Blocks() {
		if b.Threads > 0 {
			at = b.Offset
		}
	}
	for damage := 64<<10 - 40; damage < 64<<10+10; damage++ {
		b := slices.Concat(file[:at], make([]byte, damage), file[at:])
		r, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), "a.htap")
		if err != nil {
			t.Fatal(err)
		}
		events := 0
		_ = r.Events(func(*event.Event) bool { events++; return true })
		if events != 1 {
			t.Errorf("%d events behind %d damaged bytes", events, damage)
		}
	}
}

// TestPeakOfVague: what was live at the end of a step is certain only if the events of all inputs are known.
func TestPeakOfVague(t *testing.T) {
	t.Parallel()
	m := recording.Merged{Inputs: []recording.Input{{PeakBytes: 100}, {PeakBytes: 120}}}
	m.Timeline.Levels = []recording.TimelineLevel{{Steps: []recording.TimelineStep{{Live: 180, Top: 200}}}}
	for vague, want := range []uint64{180, 120} {
		m.Timeline.Vague = vague
		if least, most := m.Peak(); least != want || most != 200 {
			t.Errorf("%d vague inputs: from %d to %d, want from %d to 200", vague, least, most, want)
		}
	}
}

// TestRepairedSamples: a thread frees its latest allocation, which is a sample. Nobody knows whether it was temporary,
// and a repaired recording does not say so either.
func TestRepairedSamples(t *testing.T) {
	t.Parallel()
	a := alloc(100, 1, 10)
	a.Flags |= event.Sampled
	path := writeBlocks(t, event.Process{PID: 1, Sampling: event.Sampling{Bytes: 1000}}, nil,
		[]event.Event{a, free(200, 0, a)})
	whole := filepath.Join(t.TempDir(), "whole.htap")
	if _, err := repair.Write(t.Context(), open(t, path), whole, repair.Options{}); err != nil {
		t.Fatal(err)
	}
	var kinds []event.Kind
	err := open(t, whole).Events(func(e *event.Event) bool {
		kinds = append(kinds, e.Kind)
		if e.Flags&event.Sampled == 0 || e.Flags&event.Temporary != 0 {
			t.Errorf("%+v", e)
		}
		return true
	})
	if want := []event.Kind{event.Alloc, event.Free}; err != nil || !slices.Equal(kinds, want) {
		t.Errorf("%v, %v", kinds, err)
	}
}

// TestAllocsBefore: how many allocations are before each cut, one of which is between two allocations.
func TestAllocsBefore(t *testing.T) {
	t.Parallel()
	a := alloc(100, 1, 10)
	r := open(t, writeBlocks(t, event.Process{PID: 1}, &recording.Ending{},
		[]event.Event{a, alloc(200, 1, 20), free(300, 0, a), alloc(400, 2, 30)}))
	for cut, want := range []uint64{0, 1, 2, 2, 3} {
		if got, err := r.AllocsBefore(uint64(cut)); err != nil || got != want {
			t.Errorf("%d allocations before cut %d, want %d (%v)", got, cut, want, err)
		}
	}
}

// sumOf are the statistics of events.
func sumOf(events ...event.Event) *tally.Tally {
	sum := tally.New()
	for i := range events {
		sum.Add(&events[i])
	}
	return sum
}
