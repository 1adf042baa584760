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
	BeforeRuns    int      `json:"before_runs,omitempty"` // if a side has several runs: how many; heads are of the last
	AfterRuns     int      `json:"after_runs,omitempty"`
	Scaled        bool     `json:"scaled,omitempty"` // before was multiplied, so that the totals are equal
	Total         Changes  `json:"total"`
	Frames        []Frame  `json:"frames,omitempty"` // of the call stacks of both recordings
}

// Changes are the changes of metrics, by name.
type Changes map[string]Change

// Change is the value of a metric on both sides.
type Change struct {
	Before  any        `json:"before"`
	After   any        `json:"after"`
	Change  any        `json:"change"`
	Percent *float64   `json:"percent"` // of the value before; null: that was 0
	Spread  *RunSpread `json:"spread,omitempty"`
}

// RunSpread has the least and the most that a metric was in the runs of each side. Before and After of a Change are the
// medians of these.
type RunSpread struct {
	BeforeLeast float64 `json:"before_least"`
	BeforeMost  float64 `json:"before_most"`
	AfterLeast  float64 `json:"after_least"`
	AfterMost   float64 `json:"after_most"`
}

// differ compares the values of two answers.
type differ struct{ a, b *query.Answer }

func (d differ) changes(p *diff.Pair, spread []diff.Spread) Changes {
	out := make(Changes)
	for i, m := range d.b.Metrics {
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
		if spread != nil {
			s := spread[i]
			c.Spread = &RunSpread{s.Before[0], s.Before[1], s.After[0], s.After[1]}
		}
		out[m.String()] = c
	}
	return out
}

func (d differ) head(c *diff.Comparison, spread []diff.Spread) DiffHead {
	before, after := c.Last()
	j := DiffHead{FormatVersion: Version, By: after.Query.By.String(), Before: newHead(before.Source, d.a),
		After: newHead(after.Source, d.b), Scaled: c.Scale,
		Total: d.changes(&diff.Pair{Before: d.a.Total, After: d.b.Total}, spread)}
	if len(c.Before) > 1 || len(c.After) > 1 {
		j.BeforeRuns, j.AfterRuns = len(c.Before), len(c.After)
	}
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

// Diff is a table of what has changed. Unchanged rows are only counted, unless all were asked for.
type Diff struct {
	DiffHead
	Rows      []DiffRow `json:"rows"`
	More      int       `json:"more"`
	Unchanged int       `json:"unchanged"`
}

// NewDiff makes the answer.
func NewDiff(c *diff.Comparison, t *diff.Table, page Page) *Diff {
	d := differ{&t.Before, &t.After}
	list := t.Changed()
	if c.All {
		list = t.Rows
	}
	rows, more := Cut(page, list)
	j := &Diff{d.head(c, t.Spread), []DiffRow{}, more, t.Unchanged()}
	frames := newRunFrames(c, rows)
	j.Frames = frames.rows
	for i := range rows {
		r := &rows[i]
		j.Rows = append(j.Rows, DiffRow{r.Status.String(), newGroup(r.Source, &r.Group, frames.of[r.Source]),
			d.changes(&r.Self, nil), d.changes(&r.Total, r.Spread)})
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
	Larger float64 `json:"larger"`
	Folded int     `json:"folded"` // children that are not in the list
}

// DiffTree is a call tree with the values of each node on both sides. Parents come before their children.
type DiffTree struct {
	DiffHead
	Nodes []DiffNode `json:"nodes"`
}

// NewDiffTree makes the answer.
func NewDiffTree(c *diff.Comparison, t *diff.Tree) *DiffTree {
	d := differ{&t.Before, &t.After}
	j := &DiffTree{DiffHead: d.head(c, nil)}
	t.Walk(func(n *diff.Node, parent int) {
		node := DiffNode{Parent: parent, Self: d.changes(&n.Self, nil), Total: d.changes(&n.Total, nil), Moved: n.Moved,
			Larger: n.Larger, Folded: n.Folded}
		if n.Source != nil {
			g := newGroup(n.Source, &n.Group, nil)
			node.Group = &g
		}
		j.Nodes = append(j.Nodes, node)
	})
	return j
}
