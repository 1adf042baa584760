package pools_test

import (
	"reflect"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/pools"
)

// TestBooks: pools of one name are one, whatever their ids, and blocks of no pool are in no book.
func TestBooks(t *testing.T) {
	t.Parallel()
	var b pools.Books
	pc := b.PC(1, "arena")
	if b.PC(2, "arena") != pc || b.PC(3, "other") == pc {
		t.Error("a name has several PCs, or shares one")
	}
	b.Innermost = func(stack uint32) (event.PC, bool) { return pc, stack == 5 }
	settle := func(e event.Event, ended event.Func) {
		b.Settle(&event.Batch{Full: []event.Full{{Event: e, Ended: ended}}})
	}
	alloc := func(stack uint32, fn event.Func, size uint64) {
		settle(event.Event{Kind: event.Alloc, Func: fn, Stack: stack, Size: size}, event.FuncUnknown)
	}
	alloc(5, event.PoolAlloc, 100)
	alloc(5, event.PoolAlloc, 50)
	alloc(9, event.PoolAlloc, 1) // its stack is not known
	alloc(5, event.Malloc, 1)
	settle(event.Event{Kind: event.Free, Func: event.PoolFree, Stack: 5, Size: 100}, event.PoolAlloc)
	settle(event.Event{Kind: event.Free, Func: event.FreeFunc, Stack: 5, Size: 1}, event.Malloc)
	b.Backed(pc, 4096)
	b.Backed(pc, -1024)
	want := []event.Pool{{
		Name: "arena", Allocations: 2, Bytes: 150, Frees: 1, Blocks: 1, Live: 50, PeakLive: 150,
		Backing: 3072, PeakBacking: 4096,
	}}
	if got := b.List(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	frames := b.Frames(7, []event.PC{{Addr: 1}, pc})
	if len(frames) != 1 || len(frames[8]) != 1 {
		t.Errorf("%+v", frames)
	}
}
