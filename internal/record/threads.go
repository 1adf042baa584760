package record

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/record/order"
	"github.com/heaptap/heaptap/internal/recording"
)

// threads are the threads of a process. All streams of a thread, one for each level of interruption, are one thread.
type threads struct {
	out     *recording.Writer
	list    map[threadKey]uint32
	started []int64 // when each thread began, in ns
}

type threadKey struct {
	tid   uint32
	start uint64
}

// of finds or adds the thread of a stream, which has its first event now.
func (t *threads) of(s *order.Stream, now int64) uint32 {
	key := threadKey{s.TID, s.Start}
	if s.Level != 0 {
		// A higher level's stream begins later than its thread: it is the latest thread with that id.
		for k := range t.list {
			if k.tid == s.TID && k.start <= s.Start && (key.start == s.Start || k.start > key.start) {
				key = k
			}
		}
	}
	i, ok := t.list[key]
	if !ok {
		i = uint32(len(t.started))
		t.list[key] = i
		t.started = append(t.started, now)
		t.out.Thread(i, event.Thread{TID: s.TID, Name: s.Name, Start: now})
	}
	return i
}

// restore takes over the threads of a dead recorder's recording, and what streams they had.
func (t *threads) restore(old []event.Thread, streams map[uint64]journal.StreamState) {
	for i, x := range old {
		t.out.Thread(uint32(i), x)
		t.started = append(t.started, x.Start)
	}
	for _, s := range streams {
		if s.Known {
			key := threadKey{s.TID, s.Start}
			if _, ok := t.list[key]; !ok || s.Level == 0 {
				t.list[key] = s.Thread
			}
		}
	}
}

// rename gives a thread another name.
func (t *threads) rename(s *order.Stream, name string) {
	start := int64(0)
	if int(s.Thread) < len(t.started) {
		start = t.started[s.Thread]
	}
	t.out.Thread(s.Thread, event.Thread{TID: s.TID, Name: name, Start: start})
}
