package answer

import (
	"github.com/heaptap/heaptap/internal/framesize"
	"github.com/heaptap/heaptap/internal/query"
)

// mostCrossed is how many threads have cells of their own, on each side.
const mostCrossed = 64

// Crossing is what one thread allocated and another one freed. Several threads are those without crossings of their
// own.
type Crossing struct {
	Allocated     *Thread `json:"allocated_by"` // null: several threads
	Freed         *Thread `json:"freed_by"`     // null: nobody that was seen, or several threads
	FreedByOthers bool    `json:"freed_by_others,omitempty"`
	Blocks        uint64  `json:"blocks"`
	Bytes         uint64  `json:"bytes"`
}

// Freed is what a thread freed, whoever had allocated it.
type Freed struct {
	Blocks uint64 `json:"blocks"`
	Bytes  uint64 `json:"bytes"`
}

// Threads is what each thread did.
type Threads struct {
	Head
	Rows        []Row         `json:"rows"`
	Freed       []Freed       `json:"freed"`    // by the thread of each row
	Ended       []*int64      `json:"ended_ns"` // when the thread of each row ended; null: not known to have
	More        int           `json:"more"`
	Calls       []Row         `json:"calls"`
	Matrix      []Crossing    `json:"matrix"`
	StackMemory []StackMemory `json:"stack_memory"`
	FrameNotes  []string      `json:"frame_notes"` // why sizes of frames are not known, as sentences
	Counts      []CallCount   `json:"counts,omitempty"`
}

// NewThreads makes the answer. sizes are those of the frames of the deepest stacks; nil: none is known.
func NewThreads(s *query.Source, t *query.ThreadTables, sizes *framesize.Sizes, page Page) *Threads {
	rows := func(table *query.Table) ([]Row, int) {
		list, more := Cut(page, table.Rows)
		out := []Row{}
		for i := range list {
			out = append(out, newRow(s, &table.Answer, &list[i], nil))
		}
		return out, more
	}
	j := &Threads{Head: newHead(s, &t.Threads.Answer), Matrix: []Crossing{}, Freed: []Freed{}, Ended: []*int64{},
		Counts: newCounts(s.Profile.Counts)}
	j.StackMemory, j.Frames, j.FrameNotes = newStackMemory(s, sizes)
	j.Rows, j.More = rows(t.Threads)
	j.Calls, _ = rows(t.Calls)
	for i := range j.Rows {
		index := t.Threads.Rows[max(page.Skip, 0)+i].Thread
		freed := t.Freed[index]
		j.Freed = append(j.Freed, Freed{freed.Count, freed.Bytes})
		j.Ended = append(j.Ended, s.ThreadEnded(index))
	}
	thread := func(i uint32) *Thread {
		if i == query.OtherThreads {
			return nil
		}
		id := NewThread(s, i)
		return &id
	}
	for _, c := range t.Matrix.Capped(mostCrossed) {
		x := Crossing{Allocated: thread(c.Allocated), Blocks: c.Blocks, Bytes: c.Bytes}
		if !c.Unseen {
			x.Freed, x.FreedByOthers = thread(c.Freed), c.Freed == query.OtherThreads
		}
		j.Matrix = append(j.Matrix, x)
	}
	return j
}
