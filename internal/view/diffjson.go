package view

import (
	"io"

	"github.com/heaptap/heaptap/internal/diff"
	"github.com/heaptap/heaptap/internal/query"
)

// jsonDiff is what the JSON of a difference begins with; docs/queries.md describes it.
type jsonDiff struct {
	FormatVersion int          `json:"format_version"`
	By            string       `json:"by"`
	Metrics       []jsonMetric `json:"metrics"`
	Before        jsonAnswer   `json:"before"`
	After         jsonAnswer   `json:"after"`
	Total         jsonChanges  `json:"total"`
}

// jsonChanges are metrics by name.
type jsonChanges map[string]jsonChange

type jsonChange struct {
	Before  any      `json:"before"`
	After   any      `json:"after"`
	Change  any      `json:"change"`
	Percent *float64 `json:"percent"` // of what was before; null: that was nothing
}

type differ struct{ a, b *query.Answer }

func (d differ) changes(p *diff.Pair) jsonChanges {
	out := make(jsonChanges)
	for _, m := range d.b.Metrics {
		before, after := m.Of(&p.Before, d.a.Span), m.Of(&p.After, d.b.Span)
		c := jsonChange{Before: before, After: after, Change: after - before}
		if n, ok := m.Integer(&p.Before); ok {
			k, _ := m.Integer(&p.After)
			c = jsonChange{Before: n, After: k, Change: int64(k - n)}
		}
		if before != 0 {
			share := 100 * (after - before) / before
			c.Percent = &share
		}
		out[m.String()] = c
	}
	return out
}

func (d differ) head(before, after *query.Source, by query.By) jsonDiff {
	j := jsonDiff{FormatVersion: JSONVersion, By: by.String(), Before: newJSONAnswer(before, d.a), After: newJSONAnswer(after, d.b),
		Total: d.changes(&diff.Pair{Before: d.a.Total, After: d.b.Total})}
	j.Metrics = j.After.Metrics
	return j
}

type jsonDiffRow struct {
	Status string      `json:"status"`
	Group  jsonGroup   `json:"group"`
	Self   jsonChanges `json:"self"`
	Total  jsonChanges `json:"total"`
}

// DiffJSON writes a table as one JSON object; unchanged rows are only counted.
func DiffJSON(w io.Writer, before, after *query.Source, t *diff.Table, by query.By, o QueryOptions) error {
	d := differ{&t.Before, &t.After}
	rows, left := page(&o, changedRows(t.Rows))
	j := struct {
		jsonDiff
		Rows      []jsonDiffRow `json:"rows"`
		More      int           `json:"more"`
		Unchanged int           `json:"unchanged"`
	}{d.head(before, after, by), []jsonDiffRow{}, left, t.Unchanged()}
	for i := range rows {
		r := &rows[i]
		s := after
		if r.Status == diff.Gone {
			s = before
		}
		j.Rows = append(j.Rows, jsonDiffRow{r.Status.String(), groupJSON(s, &r.Group), d.changes(&r.Self), d.changes(&r.Total)})
	}
	return writeJSON(w, &j)
}

type jsonDiffNode struct {
	Parent int         `json:"parent"` // number of its parent in the list; -1: none
	Group  *jsonGroup  `json:"group"`  // null: of the root
	Self   jsonChanges `json:"self"`
	Total  jsonChanges `json:"total"`
	Moved  float64     `json:"moved"`
	Folded int         `json:"folded"` // children that are not in the list
}

// DiffTreeJSON writes a tree as one JSON object, parents before their children.
func DiffTreeJSON(w io.Writer, before, after *query.Source, t *diff.Tree, by query.By) error {
	d := differ{&t.Before, &t.After}
	j := struct {
		jsonDiff
		Nodes []jsonDiffNode `json:"nodes"`
	}{jsonDiff: d.head(before, after, by)}
	type work struct {
		n      *diff.Node
		parent int
	}
	todo := []work{{t.Root, -1}}
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		n := jsonDiffNode{Parent: w.parent, Self: d.changes(&w.n.Self), Total: d.changes(&w.n.Total), Moved: w.n.Moved, Folded: w.n.Folded}
		if w.parent >= 0 {
			g := groupJSON(after, &w.n.Group)
			n.Group = &g
		}
		j.Nodes = append(j.Nodes, n)
		for i := len(w.n.Children) - 1; i >= 0; i-- {
			todo = append(todo, work{w.n.Children[i], len(j.Nodes) - 1})
		}
	}
	return writeJSON(w, &j)
}
