package answer

import (
	"encoding/json"
	"slices"

	"github.com/heaptap/heaptap/internal/columns"
	"github.com/heaptap/heaptap/internal/diff"
	"github.com/heaptap/heaptap/internal/query"
)

// ComparedHead begins the API's form of a comparison, whose numbers are columns. The numbers are those of DiffHead.
type ComparedHead struct {
	FormatVersion int      `json:"format_version"`
	By            string   `json:"by"`
	Metrics       []Metric `json:"metrics"`
	Before        Head     `json:"before"` // of the last run, with the total of all
	After         Head     `json:"after"`
	BeforeRuns    int      `json:"before_runs"`
	AfterRuns     int      `json:"after_runs"`
	Scaled        bool     `json:"scaled"` // before was multiplied, so that the totals are equal
	Spread        Extents  `json:"spread"`
}

// Compared is a table of what has changed.
type Compared struct {
	ComparedHead
	Frames    []Frame           `json:"frames,omitempty"` // of call stacks
	Rows      Rows[ComparedRow] `json:"rows"`
	More      int               `json:"more"`
	Unchanged int               `json:"unchanged"` // groups that have not changed
}

// ComparedRow is a group of both sides.
type ComparedRow struct {
	Status     string  `json:"status"` // new, gone, grown, shrunk, varying or unchanged
	Group      Group   `json:"group"`
	Before     Values  `json:"before"`
	After      Values  `json:"after"`
	SelfBefore Values  `json:"self_before"`
	SelfAfter  Values  `json:"self_after"`
	Spread     Extents `json:"spread"`
}

// Extents are the least and the most of each metric in repeated runs; empty: there are none.
type Extents struct {
	of   *query.Answer
	list []diff.Spread
}

// Names are METRIC_before_least and so on.
func (e Extents) Names() (names []string) {
	if e.list == nil {
		return nil
	}
	for _, m := range e.of.Metrics {
		for _, end := range []string{"_before_least", "_before_most", "_after_least", "_after_most"} {
			names = append(names, m.String()+end)
		}
	}
	return names
}

// Cells appends the values, in the order of the names.
func (e Extents) Cells(list []columns.Cell) []columns.Cell {
	for _, s := range e.list {
		for _, v := range []float64{s.Before[0], s.Before[1], s.After[0], s.After[1]} {
			list = append(list, columns.Real(v))
		}
	}
	return list
}

// MarshalJSON returns an object.
func (e Extents) MarshalJSON() ([]byte, error) {
	fields := make(map[string]float64)
	names := e.Names()
	for i, s := range e.list {
		for k, v := range []float64{s.Before[0], s.Before[1], s.After[0], s.After[1]} {
			fields[names[4*i+k]] = v
		}
	}
	return json.Marshal(fields)
}

func newComparedHead(c *diff.Comparison, a, b *query.Answer, spread []diff.Spread) ComparedHead {
	before, after := c.Last()
	j := ComparedHead{FormatVersion: Version, By: after.Query.By.String(), Before: newHead(before.Source, a),
		After: newHead(after.Source, b), BeforeRuns: len(c.Before), AfterRuns: len(c.After), Scaled: c.Scale,
		Spread: Extents{b, spread}}
	j.Metrics = j.After.Metrics
	return j
}

// NewCompared makes the answer.
func NewCompared(c *diff.Comparison, t *diff.Table, page Page) *Compared {
	list := t.Changed()
	if c.All {
		list = t.Rows
	}
	rows, more := Cut(page, list)
	frames := newRunFrames(c, rows)
	j := &Compared{ComparedHead: newComparedHead(c, &t.Before, &t.After, t.Spread), Frames: frames.rows, More: more,
		Unchanged: t.Unchanged()}
	j.Rows = Rows[ComparedRow]{len(rows), func(i int) ComparedRow {
		r := &rows[i]
		return ComparedRow{r.Status.String(), newGroup(r.Source, &r.Group, frames.of[r.Source]),
			newValues(&t.Before, &r.Total.Before), newValues(&t.After, &r.Total.After),
			newValues(&t.Before, &r.Self.Before), newValues(&t.After, &r.Self.After), Extents{&t.After, r.Spread}}
	}}
	return j
}

// runFrames are the frames of the call stacks of several recordings, one table after the other.
type runFrames struct {
	of   map[*query.Source]*frameTable
	rows []Frame
}

// newRunFrames takes the call stacks of rows. Their numbers are those of the run that names a row.
func newRunFrames(c *diff.Comparison, rows []diff.Row) *runFrames {
	stacks := make(map[*query.Source][]uint32)
	for i := range rows {
		s := rows[i].Source
		stacks[s] = stacksOf(stacks[s], 1, func(int) *query.Group { return &rows[i].Group })
	}
	f := &runFrames{of: make(map[*query.Source]*frameTable)}
	for _, side := range slices.Concat(c.Before, c.After) {
		s := side.Source
		if f.of[s] != nil {
			continue
		}
		f.of[s] = newFrameTable(side.Query.Shown(s), stacks[s])
		f.of[s].startAt(len(f.rows))
		f.rows = append(f.rows, f.of[s].rows()...)
	}
	return f
}

// ComparedTree is a call tree with the values of each node on both sides. Parents come before their children.
type ComparedTree struct {
	ComparedHead
	Nodes []ComparedNode `json:"nodes"`
}

// ComparedNode is a node of both call trees.
type ComparedNode struct {
	Parent     int    `json:"parent"` // number of its parent in the list; -1: none
	Group      *Group `json:"group"`  // null: of the root, unless the tree is below a path
	Before     Values `json:"before"`
	After      Values `json:"after"`
	SelfBefore Values `json:"self_before"`
	SelfAfter  Values `json:"self_after"`
	Folded     int    `json:"folded"` // children that are not in the list
}

// NewComparedTree makes the answer. Nodes of one group share it.
func NewComparedTree(c *diff.Comparison, t *diff.Tree) *ComparedTree {
	j := &ComparedTree{ComparedHead: newComparedHead(c, &t.Before, &t.After, nil), Nodes: []ComparedNode{}}
	type named struct {
		query.Group
		source *query.Source
	}
	known := make(map[named]*Group)
	t.Walk(func(n *diff.Node, parent int) {
		node := ComparedNode{Parent: parent, Before: newValues(&t.Before, &n.Total.Before),
			After: newValues(&t.After, &n.Total.After), SelfBefore: newValues(&t.Before, &n.Self.Before),
			SelfAfter: newValues(&t.After, &n.Self.After), Folded: n.Folded}
		if n.Source != nil {
			name := named{n.Group, n.Source}
			if node.Group = known[name]; node.Group == nil {
				g := newGroup(n.Source, &n.Group, nil)
				node.Group = &g
				known[name] = &g
			}
		}
		j.Nodes = append(j.Nodes, node)
	})
	return j
}
