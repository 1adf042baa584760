package record

import (
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/wire"
)

// TestCallocs follows the first argument of callocs to the recording, whatever way they take, and where their records
// are.
func TestCallocs(t *testing.T) {
	c := newScript(t)
	count := func(n uint64) wire.Record { return wire.Record{Kind: wire.XCount, Value: n} }
	record := func(kind uint8, time, addr uint64, size uint32) wire.Record {
		return wire.Record{Kind: kind, Time: time, Addr: addr, Size: size, Slack: 8}
	}
	c.put(1, count(1), record(wire.KCalloc, 10, 0x1000, 1), record(wire.KMalloc, 11, 0x2000, 2))
	c.put(1, count(3)) // the piece ends here
	c.put(1, record(wire.KCalloc, 12, 0x3000, 3))
	c.put(1, count(4), record(wire.KCalloc, 13, 0x3000, 4)) // live: it waits for what explains that, to the end
	c.put(1, count(5), record(wire.KMalloc, 14, 0x5000, 5)) // no function that takes it
	c.put(1, wire.Record{Kind: wire.XAlign, Value: 64}, count(6), record(wire.KCalloc, 15, 0x6000, 6))
	c.put(1, count(7), record(wire.KReallocarray, 16, 0x7000, 7)) // of no block
	c.put(1, record(wire.KCalloc, 17, 0x8000, 8))
	c.put(2, count(9), record(wire.KCalloc, 9, 0x9000, 9)) // earlier than what came before
	c.look(30)
	type alloc struct{ size, count, align uint64 }
	var got []alloc
	if err := c.finished().Events(func(e *event.Event) bool {
		if e.Kind == event.Alloc {
			got = append(got, alloc{e.Size, e.Count, e.Align})
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	want := []alloc{{9, 9, 0}, {1, 1, 0}, {2, 0, 0}, {3, 3, 0}, {5, 5, 0}, {6, 6, 64}, {7, 7, 0}, {8, 0, 0}, {4, 4, 0}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
