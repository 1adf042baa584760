package answer

import "github.com/heaptap/heaptap/internal/query"

// Crossing is what one thread allocated and another one freed.
type Crossing struct {
	Allocated Thread  `json:"allocated_by"`
	Freed     *Thread `json:"freed_by"` // null: nobody that was seen
	Blocks    uint64  `json:"blocks"`
	Bytes     uint64  `json:"bytes"`
}

// Threads is what each thread did.
type Threads struct {
	Head
	Rows        []Row         `json:"rows"`
	More        int           `json:"more"`
	Calls       []Row         `json:"calls"`
	Matrix      []Crossing    `json:"matrix"`
	StackMemory []StackMemory `json:"stack_memory"`
	Counts      []CallCount   `json:"counts,omitempty"`
}

// NewThreads makes the answer.
func NewThreads(s *query.Source, t *query.ThreadTables, page Page) *Threads {
	rows := func(table *query.Table) ([]Row, int) {
		list, more := Cut(page, table.Rows)
		out := []Row{}
		for i := range list {
			out = append(out, newRow(s, &table.Answer, &list[i], nil))
		}
		return out, more
	}
	j := &Threads{Head: newHead(s, &t.Threads.Answer), Matrix: []Crossing{},
		Counts: newCounts(s.Profile.Counts)}
	j.StackMemory, j.Frames = newStackMemory(s)
	j.Rows, j.More = rows(t.Threads)
	j.Calls, _ = rows(t.Calls)
	for _, c := range t.Matrix.Cells {
		x := Crossing{Allocated: NewThread(s, c.Allocated), Blocks: c.Blocks, Bytes: c.Bytes}
		if !c.Unseen {
			id := NewThread(s, c.Freed)
			x.Freed = &id
		}
		j.Matrix = append(j.Matrix, x)
	}
	return j
}
