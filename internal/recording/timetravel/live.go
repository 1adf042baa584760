package timetravel

import (
	"context"
	"sort"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// Live is what is live at a call stack.
type Live struct {
	Stack         uint32
	Blocks, Bytes uint64
}

// LiveAt returns what is live at a cut at each call stack that has live blocks, in no particular order.
func LiveAt(ctx context.Context, r *recording.Reader, cut uint64) ([]Live, error) {
	if err := r.NeedEvents(); err != nil {
		return nil, err
	}
	first, last := r.Cuts()
	sum, err := r.Tally()
	if err != nil {
		return nil, err
	}
	var list []Live
	if peak := r.StoredTally(); peak != nil && cut != 0 && peak.Totals.Peak.Event == cut {
		for i := range peak.Stacks {
			if s := &peak.Stacks[i]; s.LiveAtPeakBlocks|s.LiveAtPeakBytes != 0 {
				list = append(list, Live{s.ID, s.LiveAtPeakBlocks, s.LiveAtPeakBytes})
			}
		}
		return list, nil
	}
	// If the end is nearer, count back from it: there the statistics of the whole recording say what is live.
	if r.Complete() && first == 0 && cut > last/2 && r.Health().LostEvents == 0 && sum.Totals.Events == last {
		after, err := Changes(ctx, r, cut, last)
		defer Release(after)
		if err != nil {
			return nil, err
		}
		for i := range sum.Stacks {
			s := &sum.Stacks[i]
			c := after.Of(s.ID)
			l := Live{s.ID, s.LeakedBlocks() - c.Allocs + c.Frees, s.LeakedBytes() - c.Bytes + c.FreedBytes}
			if l.Blocks != 0 || l.Bytes != 0 {
				list = append(list, l)
			}
		}
		return list, nil
	}
	before, err := Changes(ctx, r, 0, cut)
	defer Release(before)
	for _, c := range before.List() {
		if c.Allocs != c.Frees || c.Bytes != c.FreedBytes {
			list = append(list, Live{c.Stack, c.Allocs - c.Frees, c.Bytes - c.FreedBytes})
		}
	}
	return list, err
}

// BlocksAt yields all blocks that are live at a cut, in the order of their allocation, with times in ns. It decodes all
// events before the cut; memory grows with the number of live blocks.
func BlocksAt(ctx context.Context, r *recording.Reader, cut uint64, yield func(*event.Block) bool) error {
	if err := r.NeedEvents(); err != nil {
		return err
	}
	live := make(map[uint64]event.Block)
	err := r.EventsBetween(ctx, 0, cut, func(_, ref uint64, e *event.Event) bool {
		switch e.Kind {
		case event.Alloc:
			live[ref] = event.Block{Addr: e.Addr, Size: e.Size, Stack: e.Stack, Thread: e.Thread, Ref: ref,
				Born: e.Time, Sampled: e.Flags&event.Sampled != 0}
		case event.Free:
			delete(live, ref)
		}
		return true
	})
	if err != nil {
		return err
	}
	refs := make([]uint64, 0, len(live))
	for ref := range live {
		refs = append(refs, ref)
	}
	sort.Slice(refs, func(i, j int) bool { return refs[i] < refs[j] })
	for _, ref := range refs {
		b := live[ref]
		if !yield(&b) {
			break
		}
	}
	return nil
}

// History returns the allocation with that number and the event that ended its block, with their numbers among all
// events. An event that the recording does not have is nil.
func History(ctx context.Context, r *recording.Reader, ref uint64) (born, died *event.Event, bornAt, diedAt uint64,
	err error) {
	i, ok := r.EventBlocks().OfAlloc(ref)
	if !ok {
		return nil, nil, 0, 0, nil
	}
	_, last := r.Cuts()
	err = r.EventsBetween(ctx, r.EventBlocks().Head(i).FirstEvent, last, func(n, about uint64, e *event.Event) bool {
		if about == ref {
			v := *e
			switch e.Kind {
			case event.Alloc:
				born, bornAt = &v, n
			case event.Free:
				died, diedAt = &v, n
			}
		}
		return died == nil
	})
	return born, died, bornAt, diedAt, err
}

// LevelAt returns what is live at a cut in all.
func LevelAt(r *recording.Reader, cut uint64) (bytes, count uint64, err error) {
	if err := haveAnswers(r, cut); err != nil {
		return 0, 0, err
	}
	blocks := r.EventBlocks()
	i := min(blocks.At(cut), blocks.Len()-1)
	if i < 0 {
		return 0, 0, nil
	}
	h := blocks.Head(i)
	bytes, count = uint64(h.Live), uint64(h.LiveCount)
	if cut <= h.FirstEvent {
		return bytes, count, nil
	}
	p := part{block: i, to: min(cut-h.FirstEvent, h.Events)}
	p.whole = p.to == h.Events
	list, err := p.changes(blocks)
	for _, c := range list {
		bytes += c.Bytes - c.FreedBytes
		count += c.Allocs - c.Frees
	}
	return bytes, count, err
}
