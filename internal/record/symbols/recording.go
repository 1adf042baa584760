package symbols

import (
	"context"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/symbolize"
)

// OfRecording finds the frames of all program counters of a recording, by their indexes, as a recorder would have when
// the process ended.
func OfRecording(r *recording.Reader) map[uint32][]event.Frame {
	ids, pcs := make([]uint32, 0, r.PCs().Len()), make([]event.PC, 0, r.PCs().Len())
	r.PCs().All(func(id uint32, p event.PC) bool {
		ids, pcs = append(ids, id), append(pcs, p)
		return true
	})
	found, _ := symbolize.New(symbolize.Options{}).Resolve(context.Background(), r.Modules(), pcs)
	frames := make(map[uint32][]event.Frame, len(ids))
	for i, f := range found {
		if len(f) > 0 {
			frames[ids[i]] = f
		}
	}
	return frames
}
