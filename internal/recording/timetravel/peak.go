package timetravel

import (
	"context"
	"math"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/block"
)

// PeakBetween returns the most bytes that were live at any cut between two, these included, and the first such cut.
// Each of the two may also be an end of any block of events that was folded. If the peak is within such a block, and is
// not the peak of the whole recording, the bytes come with the cut at the block's end and a *recording.FoldedError.
func PeakBetween(ctx context.Context, r *recording.Reader, from, to uint64) (bytes, cut uint64, err error) {
	if err := r.NeedEvents(); err != nil {
		return 0, 0, err
	}
	blocks := r.EventBlocks()
	if i := blocks.At(from); from >= to && (i == blocks.Len() || blocks.Head(i).FirstEvent >= from) {
		if i < blocks.Len() {
			return uint64(max(blocks.Head(i).Live, 0)), from, nil
		}
		sum, err := r.Tally()
		if err != nil {
			return 0, 0, err
		}
		return sum.Totals.LiveBytes, from, nil
	}
	best, at := int64(-1), uint64(0)
	exact := true
	where := 0
	for i := blocks.At(from); i < blocks.Len() && blocks.Head(i).FirstEvent < to; i++ {
		h := blocks.Head(i)
		if from <= h.FirstEvent && h.FirstEvent+h.Events <= to {
			// The whole block: its head has the peak. When that was matters only if no other block has a larger one.
			if h.Live > best {
				best, at, exact = h.Live, h.FirstEvent, true
			}
			if h.Peak > best {
				best, where, exact = h.Peak, i, false
			}
			continue
		}
		live, n := h.Live, h.FirstEvent
		if n >= from && live > best {
			best, at, exact = live, n, true
		}
		err = eachDelta(blocks, i, func(delta int64) bool {
			n++
			live += delta
			if n >= from && live > best {
				best, at, exact = live, n, true
			}
			return n < to
		})
		if err != nil {
			return 0, 0, err
		}
		if err = ctx.Err(); err != nil {
			return 0, 0, err
		}
	}
	if sum := r.StoredTally(); !exact && sum != nil {
		// The statistics know the peak of the whole recording.
		if p := &sum.Totals.Peak; p.Bytes == uint64(best) && from <= p.Event && p.Event <= to {
			return p.Bytes, p.Event, nil
		}
	}
	if !exact {
		h := blocks.Head(where)
		if blocks.Folded(where) {
			return uint64(best), blocks.Cut(where), blocks.FoldedError(math.MaxUint64)
		}
		live, n := h.Live, h.FirstEvent
		err = eachDelta(blocks, where, func(delta int64) bool {
			n++
			live += delta
			at = n
			return live < best
		})
	}
	return uint64(max(best, 0)), at, err
}

// eachDelta yields by how many bytes each event of a block changes what is live, until yield returns false.
func eachDelta(blocks *recording.EventBlocks, i int, yield func(delta int64) bool) error {
	if m, err := blocks.Moves(i); m != nil && err == nil {
		for k := range m.Len() {
			if !yield(m.Delta(k)) {
				break
			}
		}
		return nil
	}
	return blocks.Decode(i, recording.Sizes, func(_, _ uint64, e *event.Event) bool { return yield(block.Delta(e)) })
}
