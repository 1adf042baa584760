package block

import "github.com/heaptap/heaptap/internal/event"

// Batch is consecutive events. Its memory is used again for the next batch.
type Batch struct {
	First  uint64 // number of the first one, counting from 0
	Events []event.Event
	Refs   []uint64 // for each event, the number of the allocation that it makes or ends (event.NoRef: neither)
}

// BatchEvents is how many events a batch has at most: few enough to stay in the processor's first-level cache until
// they are used.
const BatchEvents = 128

// Yield gets events. It reports whether it wants more.
type Yield func(b *Batch) bool

// Between returns a Yield that passes on the events between two cuts.
func Between(h *Head, from, to uint64, yield Yield) Yield {
	if from <= h.FirstEvent && h.FirstEvent+h.Events <= to {
		return yield
	}
	return func(b *Batch) bool {
		n := uint64(len(b.Events))
		if b.First+n <= from {
			return true
		}
		begin, end := max(from, b.First)-b.First, min(max(to, b.First)-b.First, n)
		if begin >= end {
			return false
		}
		if begin == 0 && end == n {
			return yield(b)
		}
		part := Batch{b.First + begin, b.Events[begin:end], b.Refs[begin:end]}
		return yield(&part) && end == n
	}
}

// OneByOne returns a Yield that passes on events one by one: each with its number, and that of the allocation that it
// makes or ends.
func OneByOne(yield func(n, ref uint64, e *event.Event) bool) Yield {
	return func(b *Batch) bool {
		for i := range b.Events {
			if !yield(b.First+uint64(i), b.Refs[i], &b.Events[i]) {
				return false
			}
		}
		return true
	}
}
