package api

import (
	"context"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
)

// events answers with a part of the log.
func events(ctx context.Context, c *call, q *query.Query) (any, error) {
	choice, err := question.Log(c.s, c.event, c.At, c.before, c.kinds)
	if err != nil {
		return nil, err
	}
	choice.Most = min(c.Limit, query.MostLogged)
	q.At = nil
	l, err := query.ReadLog(ctx, c.s, q, choice)
	if err != nil {
		return nil, err
	}
	return answer.NewLog(c.s, l), nil
}
