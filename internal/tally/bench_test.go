package tally

import (
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// BenchmarkAdd counts pairs of an allocation and its deallocation at a thousand stacks.
func BenchmarkAdd(b *testing.B) {
	t := New()
	for n := range b.N {
		stack := uint32(n*7919) & 1023
		t.Add(&event.Event{Kind: event.Alloc, Func: event.Malloc, Time: int64(n), Stack: stack, Size: 64, Usable: 72,
			Flags: event.HasUsable})
		t.Add(&event.Event{Kind: event.Free, Func: event.FreeFunc, Time: int64(n) + 1, Born: int64(n), Stack: stack,
			Size: 64})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*b.N), "ns/event")
}
