package api

import (
	"context"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
)

// filmCells is how many cells a film has at most: as many as can be told apart on a screen, and can be sent for each
// moment.
const filmCells = 12 << 10

// frames answers how the heap looked at some moments; with rough, at one, and at once; with filters, what the selected
// blocks have of each cell at one.
func frames(ctx context.Context, c *call, q *query.Query) (any, error) {
	want := query.HeapWish{Moments: max(c.frames, 1), Cells: filmCells, Ages: true, Group: c.s.Profile.ChangeableName}
	want.Color, _ = query.ParseHeapColor(c.color) // the parameter allows no other names
	if want.Rough = c.rough != ""; want.Rough || c.At != "" {
		want.Moments = 1
	}
	if want.Selected = q.Selects(); want.Selected {
		want.Color, want.Ages = query.ColorOccupancy, false
	}
	f, err := query.Film(ctx, c.s, q, want)
	if err != nil {
		return nil, err
	}
	return answer.NewHeapFilm(c.s, f, nil), nil
}
