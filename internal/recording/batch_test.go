package recording_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/block"
)

// TestPlacesAreUsedAgain: an event has no fields of the one that was in its place of the batch before, whatever their
// kinds.
func TestPlacesAreUsedAgain(t *testing.T) {
	t.Parallel()
	var events []event.Event
	add := func(e event.Event) {
		e.Time = int64(len(events)) * recording.Quantum
		events = append(events, e)
	}
	for i := range uint64(block.BatchEvents) {
		add(event.Event{Kind: event.Alloc, Func: event.Malloc, Ref: event.NoRef, Addr: 0x1000 + 64*i, Size: 48,
			Usable: 56, Flags: event.HasUsable, Stack: 1})
	}
	for range block.BatchEvents / 4 {
		add(event.Event{Kind: event.Fail, Func: event.Malloc, Ref: event.NoRef, Size: 48, Stack: 1})
		add(event.Event{Kind: event.Map, Func: event.Mmap, Ref: event.NoRef, Size: 48, Stack: 1})
		add(event.Event{Kind: event.Inherited, Func: event.FreeFunc, Ref: event.NoRef, Stack: 1})
		add(event.Event{Kind: event.Unrecorded, Func: event.FreeFunc, Ref: event.NoRef})
	}
	path := filepath.Join(t.TempDir(), "a.htap")
	write(t, path, events, recording.Options{Addresses: true})
	got := read(t, path)
	if len(got) != len(events) {
		t.Fatal(len(got), "events")
	}
	for i := range events {
		if !reflect.DeepEqual(got[i], events[i]) {
			t.Fatalf("event %d:\n%+v, want\n%+v", i, got[i], events[i])
		}
	}
}
