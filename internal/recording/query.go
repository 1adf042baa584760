package recording

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sort"

	"github.com/heaptap/heaptap/internal/event"
)

// Moments of a recording are cuts: a cut is a number of events, and what it separates are the events before it from those
// after it. Cut 0 is the start; the peak of a Tally is reached at the cut Peak.Event. Questions between two cuts read a few
// summaries and decode two blocks of events at most, however long the recording is.

//
// About events that were folded there are answers at the cuts that Around tells, and what is more is said where it is told.
// Where there is no answer, the error is a *FoldedError.

// Cuts returns the cuts at which the recording's events begin and end. The first is above 0 if what was at the start is
// damaged.
func (r *Reader) Cuts() (first, last uint64) {
	if len(r.events) == 0 {
		return 0, 0
	}
	h := &r.events[len(r.events)-1].head
	return r.events[0].head.firstEvent, h.firstEvent + h.events
}

// CutAt returns the cut after all events up to and including time t, in ns. Where a block of events that was folded begins at that
// very unit of time, it is the cut before the block. With a *FoldedError comes a cut near it at which there are answers.
func (r *Reader) CutAt(t int64) (uint64, error) {
	if t < 0 || len(r.events) == 0 {
		return 0, nil
	}
	u := uint64(t) / uint64(r.header.quantum)
	// The first block that ends later than t.
	i := sort.Search(len(r.events), func(i int) bool { return r.events[i].head.end > u })
	if i == len(r.events) {
		_, last := r.Cuts()
		return last, nil
	}
	h := &r.events[i].head
	if h.begin > u {
		return h.firstEvent, nil
	}
	if r.folded(&r.events[i]) {
		if h.begin == u {
			return h.firstEvent, nil
		}
		in := h.firstEvent + h.events/2
		before, _ := r.Around(in)
		return before, r.foldedError(in)
	}
	n := uint64(0)
	err := r.decodeBlock(i, func(e *event.Event) bool {
		if uint64(e.Time)/uint64(r.header.quantum) > u {
			return false
		}
		n++
		return true
	})
	return h.firstEvent + n, err
}

// TimeAt returns the time of the last event before a cut, in ns; 0 if there is none.
func (r *Reader) TimeAt(cut uint64) (int64, error) {
	i := r.blockOf(cut)
	if cut == 0 || len(r.events) == 0 {
		return 0, nil
	}
	if sum, ok := r.peakAt(cut); ok {
		return sum.Totals.Peak.Time, nil
	}
	if i < len(r.events) && r.events[i].head.firstEvent < cut {
		left := cut - r.events[i].head.firstEvent
		var t int64
		err := r.decodeBlock(i, func(e *event.Event) bool {
			t = e.Time
			left--
			return left > 0
		})
		return t, err
	}
	return r.endBefore(cut), nil
}

// blockOf returns the first events block that ends after a cut: the cut is in it or before it.
func (r *Reader) blockOf(cut uint64) int {
	return sort.Search(len(r.events), func(i int) bool {
		return r.events[i].head.firstEvent+r.events[i].head.events > cut
	})
}

// decodeBlock yields the events of one block until yield returns false.
func (r *Reader) decodeBlock(i int, yield func(*event.Event) bool) error {
	d := r.decoder()
	defer r.decoders.Put(d)
	return r.decodeWith(d, i, yield)
}

func (r *Reader) decodeWith(d *eventDecoder, i int, yield func(*event.Event) bool) error {
	b := &r.events[i]
	if r.folded(b) {
		return r.foldedError(math.MaxUint64)
	}
	p, err := r.payload(b.block, d.buf)
	if err == nil {
		d.buf = p
		if err = d.open(p); err == nil {
			if d.head != b.head {
				err = errors.New("its head is not the one that the index has")
			} else {
				_, err = d.decode(yield)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("%s: the block of events at offset %d: %w", r.name, b.offset, err)
	}
	return nil
}

func (r *Reader) decoder() *eventDecoder {
	d, ok := r.decoders.Get().(*eventDecoder)
	if !ok {
		d = &eventDecoder{quantum: int64(r.header.quantum), known: r.known}
	}
	d.threadCount = len(r.threads)
	return d
}

// EventsBetween yields the events between two cuts, in order, with their numbers, counting from 0, until yield returns
// false. The event that yield gets is used again for the next one. A block that is damaged ends it.
func (r *Reader) EventsBetween(ctx context.Context, from, to uint64, yield func(n uint64, e *event.Event) bool) error {
	d := r.decoder()
	defer r.decoders.Put(d)
	for i := r.blockOf(from); i < len(r.events) && r.events[i].head.firstEvent < to; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := r.events[i].head.firstEvent
		more := true
		err := r.decodeWith(d, i, func(e *event.Event) bool {
			n++
			if n > to {
				more = false
			} else if n > from {
				more = yield(n-1, e)
			}
			return more
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// part is a stretch of a recording whose changes are had in one go.
type part struct {
	summary  *indexEntry // or
	block    int         // number in r.events,
	from, to uint64      // of which these events, counting from the block's first
	whole    bool
}

// parts divides what lies between two cuts into as few parts as possible, in order.
func (r *Reader) parts(from, to uint64) (list []part) {
	i := r.blockOf(from)
	for i < len(r.events) && r.events[i].head.firstEvent < to {
		h := &r.events[i].head
		if from <= h.firstEvent {
			if s := r.largest(i, to); s != nil {
				list = append(list, part{summary: s})
				i += int(s.sum.blocks)
				continue
			}
		}
		p := part{block: i, to: h.events}
		if from > h.firstEvent {
			p.from = from - h.firstEvent
		}
		if to < h.firstEvent+h.events {
			p.to = to - h.firstEvent
		}
		p.whole = p.from == 0 && p.to == h.events
		list = append(list, p)
		i++
	}
	return list
}

// above returns the summaries that begin with events block i and end at or before a cut.
func (r *Reader) above(i int, to uint64) (list []*indexEntry) {
	for _, s := range r.sums[r.events[i].head.firstEvent] {
		end := i + int(s.sum.blocks)
		if s.sum.firstEvent+s.sum.events > to || end > len(r.events) || r.folded(s) {
			continue
		}
		if last := &r.events[end-1].head; last.firstEvent+last.events == s.sum.firstEvent+s.sum.events {
			list = append(list, s)
		}
	}
	return list
}

// largest returns the largest of those; nil if there is none.
func (r *Reader) largest(i int, to uint64) (best *indexEntry) {
	for _, s := range r.above(i, to) {
		if best == nil || s.sum.blocks >= best.sum.blocks {
			best = s
		}
	}
	return best
}

// changes returns what happened in a part.
func (r *Reader) changes(p part) ([]Change, error) {
	switch {
	case p.summary != nil:
		return r.summaryChanges(p.summary)
	case p.whole && r.events[p.block].head.flags&headChanges != 0 && !r.folded(&r.events[p.block]):
		return r.blockChanges(p.block)
	}
	var sum Changes
	n := uint64(0)
	err := r.decodeBlock(p.block, func(e *event.Event) bool {
		if n++; n <= p.from {
			return true
		}
		if n <= p.to {
			sum.event(e)
		}
		return n < p.to
	})
	return sum.list, err
}

// event adds an event.
func (s *Changes) event(e *event.Event) {
	switch e.Kind {
	case event.Alloc:
		c := s.At(e.Stack)
		c.Allocs++
		c.Bytes += e.Size
		if net := c.Net(); net > int64(c.Top) {
			c.Top = uint64(net)
		}
	case event.Free:
		c := s.At(e.Stack)
		c.Frees++
		c.FreedBytes += e.Size
		if e.Flags&event.Temporary != 0 {
			c.Temporary++
		}
	}
}

func (r *Reader) summaryChanges(e *indexEntry) ([]Change, error) {
	fail := func(err error) ([]Change, error) {
		return nil, fmt.Errorf("%s: the summary at offset %d: %w", r.name, e.offset, err)
	}
	b, err := r.payload(e.block, nil)
	if err != nil {
		return fail(err)
	}
	var s columns
	if err := s.parse(b); err != nil {
		return fail(err)
	}
	var h summaryHead
	h.decode(&s.head)
	if s.head.bad || h != e.sum {
		return fail(errChanges)
	}
	ids, err := s.unpack(colChangeStacks, nil)
	if err != nil {
		return fail(err)
	}
	c := cursor{b: ids}
	last := int64(-1)
	list, err := decodeChanges(&s, h.changes, r.room(), func(int) uint32 {
		id := max(last, 0) + c.int()
		if id <= last || id > 1<<32-1 || !r.known(uint32(id)) {
			c.bad = true
			return 0
		}
		last = id
		return uint32(id)
	})
	if err == nil && c.bad {
		err = errChanges
	}
	if err != nil {
		return fail(err)
	}
	return list, nil
}

func (r *Reader) blockChanges(i int) ([]Change, error) {
	e := &r.events[i]
	fail := func(err error) ([]Change, error) {
		return nil, fmt.Errorf("%s: the block of events at offset %d: %w", r.name, e.offset, err)
	}
	d := r.decoder()
	defer r.decoders.Put(d)
	b, err := r.payload(e.block, d.buf)
	if err != nil {
		return fail(err)
	}
	d.buf = b
	if err := d.open(b); err != nil {
		return fail(err)
	}
	if d.head != e.head {
		return fail(errors.New("its head is not the one that the index has"))
	}
	if err := d.dictionaries(); err != nil {
		return fail(err)
	}
	list, err := decodeChanges(&d.cols, d.head.stacks, r.room(), func(i int) uint32 { return d.stacks[i].id })
	if err != nil {
		return fail(err)
	}
	return list, nil
}

// Changes returns what happened between two cuts at each call stack. The zero Changes, and all that could be read, come with
// an error.
func (r *Reader) Changes(ctx context.Context, from, to uint64) (*Changes, error) {
	sum := &Changes{}
	if err := r.answers(from, to); err != nil {
		return sum, err
	}
	err := r.collect(ctx, r.parts(from, to), func(_ part, list []Change) {
		for i := range list {
			sum.Add(&list[i])
		}
	})
	return sum, err
}

// collect gets the changes of the parts, several at a time, and hands them over in order.
func (r *Reader) collect(ctx context.Context, parts []part, take func(part, []Change)) error {
	type result struct {
		list []Change
		err  error
	}
	workers := min(runtime.GOMAXPROCS(0), 8)
	next := make([]chan result, len(parts))
	tokens := make(chan struct{}, workers+1)
	stop := make(chan struct{})
	defer close(stop)
	for i := range next {
		next[i] = make(chan result, 1)
	}
	go func() {
		for i := range parts {
			select {
			case tokens <- struct{}{}:
			case <-stop:
				return
			}
			go func() {
				list, err := r.changes(parts[i])
				next[i] <- result{list, err}
			}()
		}
	}()
	for i := range parts {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case got := <-next[i]:
			<-tokens
			if got.err != nil {
				return got.err
			}
			take(parts[i], got.list)
		}
	}
	return nil
}

// Live is what is live at a call stack.
type Live struct {
	Stack         uint32
	Blocks, Bytes uint64
}

// LiveAt returns what is live at a cut, for the stacks that have anything live, in no particular order.
func (r *Reader) LiveAt(ctx context.Context, cut uint64) ([]Live, error) {
	first, last := r.Cuts()
	sum, err := r.Tally()
	if err != nil {
		return nil, err
	}
	var list []Live
	if peak, ok := r.peakAt(cut); ok {
		for i := range peak.Stacks {
			if s := &peak.Stacks[i]; s.LiveAtPeakBlocks|s.LiveAtPeakBytes != 0 {
				list = append(list, Live{s.ID, s.LiveAtPeakBlocks, s.LiveAtPeakBytes})
			}
		}
		return list, nil
	}
	// From the end, where the whole recording's counts tell what is live, if that is nearer.
	if r.Complete() && first == 0 && cut > last/2 && r.ending.Health.LostEvents == 0 && sum.Totals.Events == last {
		after, err := r.Changes(ctx, cut, last)
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
	before, err := r.Changes(ctx, 0, cut)
	for _, c := range before.list {
		if c.Allocs != c.Frees || c.Bytes != c.FreedBytes {
			list = append(list, Live{c.Stack, c.Allocs - c.Frees, c.Bytes - c.FreedBytes})
		}
	}
	return list, err
}

// BlocksAt yields all blocks that are live at a cut, in the order of their allocation, with times in ns. It decodes all events
// before the cut; memory grows with the number of live blocks.
func (r *Reader) BlocksAt(ctx context.Context, cut uint64, yield func(*event.Block) bool) error {
	live := make(map[uint64]event.Block)
	next := uint64(0)
	err := r.EventsBetween(ctx, 0, cut, func(_ uint64, e *event.Event) bool {
		switch e.Kind {
		case event.Alloc:
			live[next] = event.Block{Addr: e.Addr, Size: e.Size, Stack: e.Stack, Thread: e.Thread, Ref: next, Born: e.Time}
			next++
		case event.Free:
			delete(live, e.Ref)
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

// History returns the allocation with that number and the event that ended it, with their numbers among all events; nil if the
// recording has none.
func (r *Reader) History(ctx context.Context, ref uint64) (born, died *event.Event, bornAt, diedAt uint64, err error) {
	i := sort.Search(len(r.events), func(i int) bool { return r.events[i].head.firstAlloc+r.events[i].head.allocs > ref })
	if i == len(r.events) || r.events[i].head.firstAlloc > ref {
		return nil, nil, 0, 0, nil
	}
	at := r.events[i].head.firstAlloc
	_, last := r.Cuts()
	err = r.EventsBetween(ctx, r.events[i].head.firstEvent, last, func(n uint64, e *event.Event) bool {
		switch {
		case e.Kind == event.Alloc:
			if at == ref {
				v := *e
				born, bornAt = &v, n
			}
			at++
		case e.Kind == event.Free && e.Ref == ref:
			v := *e
			died, diedAt = &v, n
		}
		return died == nil
	})
	return born, died, bornAt, diedAt, err
}

// PeakBetween returns the largest number of bytes that were live at any moment between two cuts, the ends included, and the
// first cut at which they were. The cuts may be at the ends of any block of events that was folded. If the moment is in such a
// block, and is not the peak of the whole recording, the bytes come with the cut at the block's end and a *FoldedError.
func (r *Reader) PeakBetween(ctx context.Context, from, to uint64) (bytes, cut uint64, err error) {
	best, at := int64(-1), uint64(0)
	exact := true
	where := 0
	for i := r.blockOf(from); i < len(r.events) && r.events[i].head.firstEvent < to; i++ {
		h := &r.events[i].head
		if from <= h.firstEvent && h.firstEvent+h.events <= to {
			// Whole: its head knows the peak, and only if it is the largest is the moment looked for.
			if h.live > best {
				best, at, exact = h.live, h.firstEvent, true
			}
			if h.peak > best {
				best, where, exact = h.peak, i, false
			}
			continue
		}
		live, n := h.live, h.firstEvent
		if n >= from && live > best {
			best, at, exact = live, n, true
		}
		err = r.decodeBlock(i, func(e *event.Event) bool {
			n++
			live += delta(e)
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
	if !exact && r.stored != nil {
		// What the whole recording's peak is, its statistics know.
		if p := &r.stored.Totals.Peak; p.Bytes == uint64(best) && from <= p.Event && p.Event <= to {
			return p.Bytes, p.Event, nil
		}
	}
	if !exact {
		h := &r.events[where].head
		if r.folded(&r.events[where]) {
			cut := h.firstEvent + h.events
			return uint64(best), cut, r.foldedError(math.MaxUint64)
		}
		live, n := h.live, h.firstEvent
		err = r.decodeBlock(where, func(e *event.Event) bool {
			n++
			live += delta(e)
			at = n
			return live < best
		})
	}
	return uint64(max(best, 0)), at, err
}

func delta(e *event.Event) int64 {
	switch e.Kind {
	case event.Alloc:
		return int64(e.Size)
	case event.Free:
		return -int64(e.Size)
	}
	return 0
}

// Level is what was live around a moment.
type Level struct {
	Cut    uint64 // at its end
	Time   int64  // of the last event before the cut, ns
	Bytes  uint64 // live at the cut
	Blocks uint64
	Top    uint64 // most bytes that were live since the Level before
}

// Levels tells how what is live developed between two cuts, in about n steps, as many events in each. If there are enough
// blocks of events, their heads tell and nothing is decoded; then the steps are blocks or several of them. Of events that
// were folded, the heads tell always.
func (r *Reader) Levels(ctx context.Context, from, to uint64, n int) ([]Level, error) {
	first, end := r.blockOf(from), r.blockOf(to)
	var list []Level
	if end-first >= n {
		step := max(1, (end-first)/max(n, 1))
		for i := first; i < end; i += step {
			list = append(list, r.level(i, min(i+step, end)))
		}
		return list, nil
	}
	for ; first < end && r.folded(&r.events[first]); first++ {
		list = append(list, r.level(first, first+1))
		from = list[len(list)-1].Cut
	}
	if from >= to || first == len(r.events) || r.folded(&r.events[first]) {
		return list, nil
	}
	step := max(1, (to-from+uint64(max(n, 1))-1)/uint64(max(n, 1)))
	h := &r.events[first].head
	live, count := h.live, h.liveCount
	l := Level{}
	err := r.EventsBetween(ctx, h.firstEvent, to, func(k uint64, e *event.Event) bool {
		switch e.Kind {
		case event.Alloc:
			live += int64(e.Size)
			count++
		case event.Free:
			live -= int64(e.Size)
			count--
		}
		if k < from {
			return true
		}
		l.Top = max(l.Top, uint64(live))
		l.Cut, l.Time, l.Bytes, l.Blocks = k+1, e.Time, uint64(live), uint64(count)
		if (k+1-from)%step == 0 || k+1 == to {
			list = append(list, l)
			l = Level{}
		}
		return true
	})
	if l.Cut != 0 {
		list = append(list, l)
	}
	return list, err
}

// level tells of the blocks of events from one up to another.
func (r *Reader) level(i, end int) (l Level) {
	for ; i < end; i++ {
		h := &r.events[i].head
		l.Top = max(l.Top, uint64(max(h.peak, h.live)))
		l.Cut, l.Time = h.firstEvent+h.events, int64(h.end)*int64(r.header.quantum)
	}
	if i < len(r.events) {
		l.Bytes, l.Blocks = uint64(r.events[i].head.live), uint64(r.events[i].head.liveCount)
	} else if sum, err := r.Tally(); err == nil {
		l.Bytes, l.Blocks = sum.Totals.LiveBytes, sum.Totals.LiveBlocks
	}
	return l
}

// Series tells how what is live at each stack developed between two cuts: take gets, about n times, a cut, and what
// happened since the one before; first, at from, what is live there. It reads summaries where there are enough of them, else
// events.
func (r *Reader) Series(ctx context.Context, from, to uint64, n int, take func(cut uint64, list []Change)) error {
	before, err := r.Changes(ctx, 0, from)
	if err != nil {
		return err
	}
	if err := r.answers(to); err != nil {
		return err
	}
	take(from, before.list)
	first, end := r.blockOf(from), r.blockOf(to)
	n = max(n, 1)
	if end-first >= n {
		// The coarsest parts of which there are enough.
		fan := 1
		for (end-first)/(fan*summaryFan) >= n {
			fan *= summaryFan
		}
		return r.seriesOfParts(ctx, from, to, fan, take)
	}
	if detail, _ := r.DetailFrom(); from < detail {
		detail = min(detail, to)
		if err := r.seriesOfParts(ctx, from, detail, 1, take); err != nil {
			return err
		}
		from = detail
	}
	var sum Changes
	step := max(1, (to-from+uint64(n)-1)/uint64(n))
	return r.EventsBetween(ctx, from, to, func(k uint64, e *event.Event) bool {
		sum.event(e)
		if (k+1-from)%step == 0 || k+1 == to {
			take(k+1, sum.list)
			sum.reset()
		}
		return true
	})
}

// seriesOfParts is Series in steps of as many blocks of events as fan says, or of as many as were folded into one summary.
func (r *Reader) seriesOfParts(ctx context.Context, from, to uint64, fan int, take func(cut uint64, list []Change)) error {
	var list []part
	var stops []uint64
	for at := from; at < to; {
		i := r.blockOf(at)
		stop := to
		if j := (i/fan + 1) * fan; j < len(r.events) {
			_, stop = r.Around(min(stop, r.events[j].head.firstEvent))
		}
		if stop <= at {
			break
		}
		list = append(list, r.parts(at, stop)...)
		stops = append(stops, stop)
		at = stop
	}
	var sum Changes
	return r.collect(ctx, list, func(p part, changes []Change) {
		for i := range changes {
			sum.Add(&changes[i])
		}
		var cut uint64
		if p.summary != nil {
			cut = p.summary.sum.firstEvent + p.summary.sum.events
		} else {
			cut = r.events[p.block].head.firstEvent + p.to
		}
		if cut >= stops[0] {
			take(cut, sum.list)
			sum.reset()
			stops = stops[1:]
		}
	})
}
