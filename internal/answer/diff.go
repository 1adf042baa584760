package answer

import (
	"github.com/heaptap/heaptap/internal/diff"
	"github.com/heaptap/heaptap/internal/query"
)

// DiffHead begins every comparison; docs/queries.md describes it.
type DiffHead struct {
	FormatVersion int      `json:"format_version"`
	By            string   `json:"by"`
	Metrics       []Metric `json:"metrics"`
	Before        Head     `json:"before"`
	After         Head     `json:"after"`
	Total         Changes  `json:"total"`
	Frames        []Frame  `json:"frames,omitempty"` // of the call stacks of both recordings
}

// Changes are the changes of metrics, by name.
type Changes map[string]Change

// Change is the value of a metric on both sides.
type Change struct {
	Before  any      `json:"before"`
	After   any      `json:"after"`
	Change  any      `json:"change"`
	Percent *float64 `json:"percent"` // of the value before; null: that was 0
}

// differ compares the values of two answers.
type differ struct{ a, b *query.Answer }

func (d differ) changes(p *diff.Pair) Changes {
	out := make(Changes)
	for _, m := range d.b.Metrics {
		before, after := m.Of(&p.Before, d.a.Span), m.Of(&p.After, d.b.Span)
		c := Change{Before: before, After: after, Change: after - before}
		if n, ok := m.Integer(&p.Before); ok {
			k, _ := m.Integer(&p.After)
			c = Change{Before: n, After: k, Change: int64(k - n)}
		}
		if before != 0 {
			share := 100 * (after - before) / before
			c.Percent = &share
		}
		out[m.String()] = c
	}
	return out
}

func (d differ) head(before, after *query.Source, by query.By) DiffHead {
	j := DiffHead{FormatVersion: Version, By: by.String(), Before: newHead(before, d.a), After: newHead(after, d.b),
		Total: d.changes(&diff.Pair{Before: d.a.Total, After: d.b.Total})}
	j.Metrics = j.After.Metrics
	return j
}

// DiffRow is a group of both recordings.
type DiffRow struct {
	Status string  `json:"status"`
	Group  Group   `json:"group"`
	Self   Changes `json:"self"`
	Total  Changes `json:"total"`
}

// Diff is a table of what has changed. Unchanged rows are only counted.
type Diff struct {
	DiffHead
	Rows      []DiffRow `json:"rows"`
	More      int       `json:"more"`
	Unchanged int       `json:"unchanged"`
}

// NewDiff makes the answer.
func NewDiff(before, after *query.Source, t *diff.Table, by query.By, page Page) *Diff {
	d := differ{&t.Before, &t.After}
	rows, more := Cut(page, t.Changed())
	j := &Diff{d.head(before, after, by), []DiffRow{}, more, t.Unchanged()}
	var gone, present []uint32 // stacks, of the two recordings
	for i := range rows {
		list := &present
		if rows[i].Status == diff.Gone {
			list = &gone
		}
		*list = stacksOf(*list, 1, func(int) *query.Group { return &rows[i].Group })
	}
	first := newFrameTable(before.Profile, gone)
	second := newFrameTable(after.Profile, present)
	second.startAt(first.numbers)
	j.Frames = append(first.rows(), second.rows()...)
	for i := range rows {
		r := &rows[i]
		s, t := after, second
		if r.Status == diff.Gone {
			s, t = before, first
		}
		j.Rows = append(j.Rows, DiffRow{r.Status.String(), newGroup(s, &r.Group, t), d.changes(&r.Self),
			d.changes(&r.Total)})
	}
	return j
}

// DiffNode is a node of both call trees.
type DiffNode struct {
	Parent int     `json:"parent"` // number of its parent in the list; -1: none
	Group  *Group  `json:"group"`  // null: of the root
	Self   Changes `json:"self"`
	Total  Changes `json:"total"`
	Moved  float64 `json:"moved"`
	Folded int     `json:"folded"` // children that are not in the list
}

// DiffTree is a call tree with the values of each node on both sides. Parents come before their children.
type DiffTree struct {
	DiffHead
	Nodes []DiffNode `json:"nodes"`
}

// NewDiffTree makes the answer.
func NewDiffTree(before, after *query.Source, t *diff.Tree, by query.By) *DiffTree {
	d := differ{&t.Before, &t.After}
	j := &DiffTree{DiffHead: d.head(before, after, by)}
	type work struct {
		n      *diff.Node
		parent int
	}
	todo := []work{{t.Root, -1}}
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		n := DiffNode{Parent: w.parent, Self: d.changes(&w.n.Self), Total: d.changes(&w.n.Total), Moved: w.n.Moved,
			Folded: w.n.Folded}
		if w.parent >= 0 {
			g := newGroup(after, &w.n.Group, nil)
			n.Group = &g
		}
		j.Nodes = append(j.Nodes, n)
		for i := len(w.n.Children) - 1; i >= 0; i-- {
			todo = append(todo, work{w.n.Children[i], len(j.Nodes) - 1})
		}
	}
	return j
}
