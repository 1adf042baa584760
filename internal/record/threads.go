package record

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/record/order"
	"github.com/heaptap/heaptap/internal/recording"
)

// threads are the threads of a process. All streams of a thread, one for each level of interruption, are one thread.
type threads struct {
	out  *recording.Writer
	keys map[threadKey]uint32 // indexes
	list []event.Thread
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
		for k := range t.keys {
			if k.tid == s.TID && k.start <= s.Start && (key.start == s.Start || k.start > key.start) {
				key = k
			}
		}
	}
	i, ok := t.keys[key]
	if !ok {
		i = t.add(event.Thread{TID: s.TID, Name: s.Name, Start: now, End: event.NotEnded})
		t.keys[key] = i
	}
	return i
}

func (t *threads) add(x event.Thread) uint32 {
	i := uint32(len(t.list))
	t.list = append(t.list, x)
	t.out.Thread(i, x)
	return i
}

// restore takes over the threads of a dead recorder's recording, and what streams they had.
func (t *threads) restore(old []event.Thread, streams map[uint64]journal.StreamState) {
	for _, x := range old {
		t.add(x)
	}
	for _, s := range streams {
		if s.Known {
			key := threadKey{s.TID, s.Start}
			if _, ok := t.keys[key]; !ok || s.Level == 0 {
				t.keys[key] = s.Thread
			}
		}
	}
}

// rename gives a thread another name.
func (t *threads) rename(s *order.Stream, name string) {
	t.change(s.Thread, func(x *event.Thread) { x.Name = name })
}

// end notes that a thread has ended, at a time in ns.
func (t *threads) end(i uint32, time int64) {
	t.change(i, func(x *event.Thread) { x.End = max(time, x.Start, 1) })
}

func (t *threads) change(i uint32, change func(*event.Thread)) {
	if int(i) >= len(t.list) {
		return
	}
	change(&t.list[i])
	t.out.Thread(i, t.list[i])
}
