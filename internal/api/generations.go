package api

import (
	"context"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
)

// generations answers how much of what each part of a range allocated is live later.
func generations(ctx context.Context, c *call, q *query.Query) (any, error) {
	g, err := query.Generate(ctx, c.s, q, query.Triangle{Rows: c.rows, Columns: c.columns, Marks: c.marks})
	if err != nil {
		return nil, err
	}
	return answer.NewGenerations(c.s, g), nil
}
