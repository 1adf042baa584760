package answer

import (
	"github.com/heaptap/heaptap/internal/diff"
	"github.com/heaptap/heaptap/internal/query"
)

// Difference is what differs between two moments of a recording. Its head is of the later one.
type Difference struct {
	Head
	By        string              `json:"by"`
	Before    Values              `json:"total_before"`
	Rows      Rows[DifferenceRow] `json:"rows"` // the largest changes of the first metric first
	More      int                 `json:"more"`
	Unchanged int                 `json:"unchanged"` // groups that are not in the list
}

// DifferenceRow is the total of a group at both moments.
type DifferenceRow struct {
	Group  Group  `json:"group"`
	Status string `json:"status"` // new, gone, grown or shrunk
	Before Values `json:"before"`
	After  Values `json:"after"`
}

// NewDifference makes the answer.
func NewDifference(s *query.Source, t *diff.Table, by query.By, page Page) *Difference {
	rows, more := Cut(page, t.Changed())
	stacks := stacksOf(nil, len(rows), func(i int) *query.Group { return &rows[i].Group })
	frames := newFrameTable(t.After.Shown(s), stacks)
	j := &Difference{Head: newHead(s, &t.After), By: by.String(), Before: newValues(&t.Before, &t.Before.Total),
		More: more, Unchanged: t.Unchanged(), Rows: Rows[DifferenceRow]{len(rows), func(i int) DifferenceRow {
			r := &rows[i]
			return DifferenceRow{newGroup(s, &r.Group, frames), r.Status.String(),
				newValues(&t.Before, &r.Total.Before), newValues(&t.After, &r.Total.After)}
		}}}
	j.Frames = frames.rows()
	return j
}
