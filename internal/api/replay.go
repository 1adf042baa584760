package api

import (
	"context"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/notes"
)

// Replayed is the saved replay of the recording. The server only reads it: it never runs an allocator.
type Replayed struct {
	Replay *answer.SavedReplay `json:"replay"` // null: none
	Why    string              `json:"why"`    // why what is saved is not shown, as a sentence; "": nothing is saved
}

func replayed(_ context.Context, c *call) (any, error) {
	text, err := notes.Replay.Read(c.rec.entry.set.address())
	if err != nil {
		return &Replayed{Why: err.Error()}, nil
	}
	if text == nil {
		return &Replayed{}, nil
	}
	saved, err := answer.ReadSavedReplay(c.s, text)
	if err != nil {
		return &Replayed{Why: err.Error()}, nil
	}
	return &Replayed{Replay: saved}, nil
}
