package api

import (
	"context"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
)

// blocks answers which blocks are live at a moment, or what became of one.
func blocks(ctx context.Context, c *call, q *query.Query) (any, error) {
	choice, number, err := question.Blocks(c.Sort, c.block, c.address)
	if err != nil {
		return nil, err
	}
	if number != nil {
		b, err := query.Tell(ctx, c.s, q, *number)
		if err != nil {
			return nil, err
		}
		return answer.NewBiography(c.s, b), nil
	}
	if choice.Most = c.Skip + c.Limit; c.Limit == 0 {
		choice.Most = query.MostBlocks
	}
	b, err := query.FindBlocks(ctx, c.s, q, choice)
	if err != nil {
		return nil, err
	}
	return answer.NewBlocks(c.s, b, c.Page), nil
}
