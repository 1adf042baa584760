package api

import (
	"context"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
)

// generations answers how much of what each part of a range allocated is live later.
func generations(ctx context.Context, c *call, q *query.Query) (any, error) {
	if err := question.CheckMarks(c.s, "mark", c.mark); err != nil {
		return nil, err
	}
	g, err := query.Generate(ctx, c.s, q, query.Triangle{Rows: c.rows, Columns: c.columns,
		Marks: c.marks || c.mark != nil, Names: c.mark})
	if err != nil {
		return nil, err
	}
	return answer.NewGenerations(c.s, g), nil
}
