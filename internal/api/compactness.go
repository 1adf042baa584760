package api

import (
	"context"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
)

// compactness answers how full the pages are on which blocks lie, and who keeps empty ones in use.
func compactness(ctx context.Context, c *call, q *query.Query) (any, error) {
	x, err := query.Compact(ctx, c.s, q, c.steps)
	if err != nil {
		return nil, err
	}
	return answer.NewCompactness(c.s, x, c.Page), nil
}
