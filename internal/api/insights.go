package api

import (
	"context"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/insight"
	"github.com/heaptap/heaptap/internal/query"
)

// insights answers what stands out.
func insights(ctx context.Context, c *call) (any, error) {
	found, err := insight.Find(ctx, c.s)
	if err != nil {
		return nil, err
	}
	return answer.NewInsights(c.s, found), nil
}

// rise explains how live bytes changed.
func rise(ctx context.Context, c *call, q *query.Query) (any, error) {
	r, err := query.Explain(ctx, c.s, q, c.Limit)
	if err != nil {
		return nil, err
	}
	return answer.NewRise(c.s, r), nil
}
