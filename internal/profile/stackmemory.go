package profile

import (
	"cmp"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// StackMemory is the depth of a thread's own stack, in bytes below its top.
type StackMemory struct {
	Thread    uint32 // index into the recording's threads
	Deepest   uint64 // at an event; 0: not known, as in the other fields
	DeepestAt int64
	Stack     uint32 // the call stack at that event
	// Touched reaches down to the lowest page that was ever in memory by TouchedAt.
	Touched   uint64
	TouchedAt int64
	Size      uint64           // its limit
	Growth    []event.StackUse // the readings behind these numbers, of all measures, by time
}

// Most returns the deepest known point.
func (m *StackMemory) Most() uint64 { return max(m.Deepest, m.Touched) }

// stackMemory sums up readings by thread, the deepest stack first.
func stackMemory(readings []event.StackUse) []StackMemory {
	at := make(map[uint32]int)
	var list []StackMemory
	for _, u := range readings {
		i, ok := at[u.Thread]
		if !ok {
			i = len(list)
			at[u.Thread] = i
			list = append(list, StackMemory{Thread: u.Thread})
		}
		m := &list[i]
		m.Growth = append(m.Growth, u)
		switch u.Measure {
		case event.StackDeepest:
			if u.Bytes > m.Deepest {
				m.Deepest, m.DeepestAt, m.Stack = u.Bytes, u.Time, u.Stack
			}
		case event.StackTouched:
			if u.Bytes > m.Touched {
				m.Touched, m.TouchedAt = u.Bytes, u.Time
			}
		case event.StackSize:
			m.Size = max(m.Size, u.Bytes)
		}
	}
	slices.SortStableFunc(list, func(a, b StackMemory) int { return cmp.Compare(b.Most(), a.Most()) })
	return list
}
