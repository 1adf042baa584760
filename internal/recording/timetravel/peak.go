package timetravel

import (
	"context"
	"math"
	"slices"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/inorder"
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
	inside := mostInside(blocks, from, to)
	if err := decodeEnds(ctx, blocks, from, to, inside); err != nil {
		return 0, 0, err
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
		if isBelow(blocks, i, from, inside) {
			continue
		}
		live, n := h.Live, h.FirstEvent
		if n >= from && live > best {
			best, at, exact = live, n, true
		}
		most, n, err := mostLive(blocks, i, live, max(from, n)-n, min(to-n, h.Events))
		if err != nil {
			return 0, 0, err
		}
		if most > best {
			best, at, exact = most, h.FirstEvent+n, true
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
		_, n, failed := mostLive(blocks, where, h.Live, 0, h.Events)
		at, err = h.FirstEvent+n, failed
	}
	return uint64(max(best, 0)), at, err
}

// mostInside returns the most bytes that were live in the blocks that are wholly between two cuts; -1 if there is none.
func mostInside(blocks *recording.EventBlocks, from, to uint64) int64 {
	most := int64(-1)
	for i := blocks.At(from); i < blocks.Len() && blocks.Cut(i) <= to; i++ {
		if h := blocks.Head(i); from <= h.FirstEvent {
			most = max(most, h.Live, h.Peak)
		}
	}
	return most
}

// isBelow reports whether a block at an end of what is between two cuts need not be read: less was live in it than
// inside, at any time, or, if it comes after that, not more.
func isBelow(blocks *recording.EventBlocks, i int, from uint64, inside int64) bool {
	h := blocks.Head(i)
	most := max(h.Live, h.Peak)
	return !blocks.Folded(i) && (most < inside || most == inside && from <= h.FirstEvent)
}

// decodeEnds decodes the blocks in which two cuts are at the same time, unless they are below what was live between
// them. They are kept for who asks for them next.
func decodeEnds(ctx context.Context, blocks *recording.EventBlocks, from, to uint64, inside int64) error {
	var ends []int
	for _, cut := range []uint64{from, to} {
		i := blocks.At(cut)
		if i < blocks.Len() && blocks.Head(i).FirstEvent < cut && !blocks.Folded(i) &&
			!isBelow(blocks, i, from, inside) && !slices.Contains(ends, i) {
			ends = append(ends, i)
		}
	}
	return inorder.Do(ctx, len(ends), func(i int, _ *atomic.Bool) (func(), error) {
		_, _ = blocks.Moves(ends[i]) // who asks next gets the error
		return nil, nil
	})
}

// mostLive returns the most bytes that were live after any of a block's first to events, but not before the first from
// of them, and how many events that first was after; live is what was before the block. If there is no such moment, the
// bytes are -1.
func mostLive(blocks *recording.EventBlocks, i int, live int64, from, to uint64) (most int64, n uint64, err error) {
	if m, err := blocks.Moves(i); m != nil && err == nil {
		most, n = m.MostLive(live, from, to)
		return most, n, nil
	}
	most = -1
	k := uint64(0)
	err = blocks.Decode(i, recording.Sizes, func(_, _ uint64, e *event.Event) bool {
		k++
		live += block.Delta(e)
		if k >= from && live > most {
			most, n = live, k
		}
		return k < to
	})
	return most, n, err
}
