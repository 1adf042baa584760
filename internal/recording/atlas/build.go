package atlas

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// Options say how an atlas is built. The zero value suits.
type Options struct {
	Bytes int64 // memory that the atlas may take; 0: DefaultBytes. With less, it has fewer steps
	Steps int   // at most; 0: MaxSteps
	// Progress is called now and then with the number of events that were dealt with and of all; nil: not wanted. If
	// the atlas turns out too large, it is begun again with half as many steps, from 0.
	Progress func(done, total uint64)
}

// UnavailableError says why a recording has no atlas. Its questions are answered without one.
type UnavailableError struct {
	Name string
	Err  error // a *recording.MergedError, for example
}

func (e *UnavailableError) Error() string { return fmt.Sprintf("%s has no atlas: %v", e.Name, e.Err) }

func (e *UnavailableError) Unwrap() error { return e.Err }

// Build makes the atlas of a recording, which must not be refreshed meanwhile. It uses one processor. The error is that
// of ctx if it was cancelled, else an *UnavailableError.
func Build(ctx context.Context, r *recording.Reader, o Options) (*Atlas, error) {
	_, a, err := build(ctx, r, o)
	return a, err
}

// build makes an atlas, and the contents of its file.
func build(ctx context.Context, r *recording.Reader, o Options) (raw []byte, a *Atlas, err error) {
	if raw, err = pack(ctx, r, o); err == nil {
		a, err = unpack(raw, r.Nodes(), o.bytes())
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err != nil {
		return nil, nil, &UnavailableError{r.Name(), err}
	}
	return raw, a, nil
}

func (o *Options) bytes() int64 {
	if o.Bytes > 0 {
		return o.Bytes
	}
	return DefaultBytes
}

var errTooLarge = errors.New("it would take more memory than it may")

// pack makes the contents of a file.
func pack(ctx context.Context, r *recording.Reader, o Options) ([]byte, error) {
	steps := MaxSteps
	if o.Steps > 0 {
		steps = min(steps, o.Steps)
	}
	err := suits(r)
	for ; err == nil; steps /= 2 {
		b := newBuilder(ctx, r, &o, steps)
		if err = b.build(); err == nil {
			return b.packer.out, nil
		}
		if errors.Is(err, errTooLarge) && steps > 1 {
			err = nil
		}
	}
	return nil, err
}

// suits returns why a recording has no atlas.
func suits(r *recording.Reader) error {
	if err := r.NeedEvents(); err != nil {
		return err
	}
	blocks := r.EventBlocks()
	if blocks.Len() == 0 {
		return errors.New("it has no events")
	}
	for i, next := 0, uint64(0); i < blocks.Len(); i++ {
		if h := blocks.Head(i); h.FirstEvent != next {
			return fmt.Errorf("events %d to %d are missing", next, h.FirstEvent-1)
		}
		next = blocks.Cut(i)
	}
	return nil
}

// builder makes contents, step by step.
type builder struct {
	ctx    context.Context
	r      *recording.Reader
	o      *Options
	blocks *recording.EventBlocks
	bounds []timetravel.Bound // of the steps; the first one's beginning comes first
	packer packer
	sizes  map[uint32]*stackSize
	size   int64 // of the entries of all stacks, in memory

	step   int     // the current one, from 0
	pieces []piece // of it
	cut    uint64  // after the pieces
	last   int64   // time of the event before it
	live   int64   // at the latest moment, and the changes since
	sum    recording.Changes

	events  []moved           // memory of divide
	scratch recording.Changes // memory of sumUp
}

// stackSize is what a stack's entries take.
type stackSize struct {
	total   Sums
	entries int64
}

// piece is a part of a step: whole blocks of events, or a span.
type piece struct {
	first, end int // blocks
	span       *span
}

// span is some events of a block that are in the same step.
type span struct {
	step          int
	cut           uint64 // at its end
	last          int64  // time of its last event
	peak          int64  // the most bytes that were live, at any cut of it
	peakCut       uint64 // the first such cut
	peakLast      int64  // time of the event before it
	before, after []recording.Change
}

func newBuilder(ctx context.Context, r *recording.Reader, o *Options, steps int) *builder {
	b := &builder{ctx: ctx, r: r, o: o, blocks: r.EventBlocks(), sizes: make(map[uint32]*stackSize)}
	b.bounds = boundsOf(r, steps)
	return b
}

// boundsOf divides a run into steps of equal time, as far as there are answers where they end.
func boundsOf(r *recording.Reader, steps int) []timetravel.Bound {
	blocks := r.EventBlocks()
	n := blocks.Len()
	end := blocks.End(n - 1)
	if e, ok := r.Ending(); ok {
		end = max(end, e.End)
	}
	if n := len(r.Samples()); n > 0 && r.Live() {
		end = max(end, r.Samples()[n-1].Time)
	}
	list := make([]timetravel.Bound, steps+1)
	for i := range list {
		i, n := int64(i), int64(steps)
		list[i].Time = end/n*i + end%n*i/n
	}
	if n > steps {
		timetravel.Align(r, list)
	}
	detail, _ := r.DetailFrom()
	for i := range list[1:steps] {
		b := &list[1:steps][i]
		k := sort.Search(n, func(k int) bool { return blocks.End(k) >= b.Time })
		if k < n && blocks.Cut(k) <= detail {
			cut, _ := r.Around(blocks.Cut(k))
			*b = timetravel.Bound{Cut: cut}
			if k := blocks.At(cut); k > 0 {
				b.Time = blocks.End(k - 1)
			}
		}
	}
	return list
}

func (b *builder) build() error {
	if err := b.moment(Moment{End: true}); err != nil {
		return err
	}
	_, total := b.r.Cuts()
	for i := range b.blocks.Len() {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		if err := b.block(i); err != nil {
			return err
		}
		if b.o.Progress != nil {
			b.o.Progress(b.cut, total)
		}
	}
	return b.upTo(len(b.bounds) - 1)
}

// stepOf returns the step of an event, by its time and number.
func (b *builder) stepOf(time int64, n uint64) int {
	last := len(b.bounds) - 2
	return sort.Search(last, func(i int) bool { return !past(&b.bounds[i+1], time, n) })
}

// past reports whether an event is in a later step.
func past(b *timetravel.Bound, time int64, n uint64) bool {
	return time > b.Time || time == b.Time && b.Cut != 0 && n >= b.Cut
}

// block takes the next block of events.
func (b *builder) block(i int) error {
	first := b.stepOf(b.blocks.Begin(i), b.blocks.Head(i).FirstEvent)
	if first == b.stepOf(b.blocks.End(i), b.blocks.Cut(i)-1) {
		if err := b.upTo(first); err != nil {
			return err
		}
		if n := len(b.pieces); n > 0 && b.pieces[n-1].span == nil {
			b.pieces[n-1].end = i + 1
		} else {
			b.pieces = append(b.pieces, piece{first: i, end: i + 1})
		}
		b.cut, b.last = b.blocks.Cut(i), b.blocks.End(i)
		return nil
	}
	spans, err := b.divide(i, math.MaxInt64)
	if err != nil {
		return err
	}
	for _, s := range spans {
		if err := b.upTo(s.step); err != nil {
			return err
		}
		b.pieces = append(b.pieces, piece{span: s})
		b.cut, b.last = s.cut, s.last
	}
	return nil
}

// moved is what an event did to a stack.
type moved struct {
	stack         uint32
	free, temp    bool
	blocks, bytes uint64
}

// divide decodes a block, and divides it into spans. With enough, it stops at the first cut at which so many bytes were
// live.
func (b *builder) divide(i int, enough int64) (list []*span, err error) {
	if b.blocks.Folded(i) {
		return nil, b.blocks.FoldedError(b.blocks.Head(i).FirstEvent)
	}
	live := b.blocks.Head(i).Live
	last := int64(0) // time of the event before
	if i > 0 {
		last = b.blocks.End(i - 1)
	}
	var s *span
	peak := 0 // how many of the events of the span are before its peak
	done := func() {
		if s != nil {
			s.before, s.after = b.sumUp(b.events[:peak]), b.sumUp(b.events[peak:])
		}
		b.events, peak = b.events[:0], 0
	}
	err = b.blocks.DecodeBatches(i, recording.Times|recording.Sizes, func(batch *recording.Batch) bool {
		for k := range batch.Events {
			e, n := &batch.Events[k], batch.First+uint64(k)
			if s == nil || s.step < len(b.bounds)-2 && past(&b.bounds[s.step+1], e.Time, n) {
				done()
				s = &span{step: b.stepOf(e.Time, n), peak: live, peakCut: n, peakLast: last}
				list = append(list, s)
			}
			if e.Kind <= event.Free {
				m := moved{stack: e.Stack, free: e.Kind == event.Free, temp: e.Flags&event.Temporary != 0}
				m.blocks, m.bytes = e.Weight()
				b.events = append(b.events, m)
				if live += int64(m.bytes); m.free {
					live -= 2 * int64(m.bytes)
				}
			}
			last = e.Time
			if s.cut, s.last = n+1, last; live > s.peak {
				s.peak, s.peakCut, s.peakLast, peak = live, n+1, last, len(b.events)
				if live >= enough {
					return false
				}
			}
		}
		return true
	})
	done()
	return list, err
}

// sumUp returns what events changed at each stack.
func (b *builder) sumUp(events []moved) []recording.Change {
	sum := &b.scratch
	for i := range events {
		m := &events[i]
		c := sum.At(m.stack)
		if m.free {
			c.Frees += m.blocks
			c.FreedBytes += m.bytes
		} else {
			c.Allocs += m.blocks
			c.Bytes += m.bytes
		}
		if m.temp {
			c.Temporary++
		}
	}
	list := slices.Clone(sum.List())
	sum.Reset()
	return list
}

// upTo ends steps until one is the current step.
func (b *builder) upTo(step int) error {
	for ; b.step < step; b.step++ {
		if err := b.endStep(b.bounds[b.step+1].Time); err != nil {
			return err
		}
	}
	return nil
}

// endStep ends the current step. It adds a moment where the most was live, unless that is at an end of the step or not
// known, and one at the end.
func (b *builder) endStep(time int64) error {
	top, at := b.live, -1
	for i := range b.pieces {
		if peak := b.peakOf(&b.pieces[i]); peak > top {
			top, at = peak, i
		}
	}
	for i := range b.pieces {
		if err := b.piece(&b.pieces[i], i == at); err != nil {
			return err
		}
	}
	b.pieces = b.pieces[:0]
	return b.moment(Moment{Cut: b.cut, Time: time, Last: b.last, Top: uint64(max(top, 0)), End: true})
}

// peakOf returns the most bytes that were live at any cut of a piece.
func (b *builder) peakOf(p *piece) int64 {
	if p.span != nil {
		return p.span.peak
	}
	peak := int64(math.MinInt64)
	for i := p.first; i < p.end; i++ {
		peak = max(peak, b.blocks.Head(i).Live, b.blocks.Head(i).Peak)
	}
	return peak
}

// piece adds the changes of a piece. hasPeak says that its peak is the step's.
func (b *builder) piece(p *piece, hasPeak bool) error {
	switch {
	case p.span != nil:
		return b.span(p.span, hasPeak)
	case !hasPeak:
		return b.whole(p.first, p.end)
	}
	top := b.peakOf(p)
	at := p.first
	for b.blocks.Head(at).Live < top && b.blocks.Head(at).Peak < top {
		at++
	}
	if b.blocks.Folded(at) {
		return b.whole(p.first, p.end)
	}
	if err := b.whole(p.first, at); err != nil {
		return err
	}
	if err := b.peakBlock(at, top); err != nil {
		return err
	}
	return b.whole(at+1, p.end)
}

// peakBlock adds the changes of a block in which so many bytes were live, and a moment there. If the block stores its
// changes, only the events up to there are decoded.
func (b *builder) peakBlock(i int, top int64) error {
	enough := int64(math.MaxInt64)
	if b.blocks.HasChanges(i) {
		enough = top
	}
	spans, err := b.divide(i, enough)
	if err != nil {
		return err
	}
	for _, s := range spans {
		if s.cut < b.blocks.Cut(i) {
			all, err := b.blocks.Changes(i)
			if err != nil {
				return err
			}
			s.after = less(all, s.before)
		}
		if err := b.span(s, true); err != nil {
			return err
		}
	}
	return nil
}

// less returns changes without those of the events before.
func less(all, before []recording.Change) []recording.Change {
	var sum recording.Changes
	for i := range before {
		*sum.At(before[i].Stack) = before[i]
	}
	after := make([]recording.Change, 0, len(all))
	for _, c := range all {
		b := sum.Of(c.Stack)
		c.Allocs -= b.Allocs
		c.Bytes -= b.Bytes
		c.Frees -= b.Frees
		c.FreedBytes -= b.FreedBytes
		c.Temporary -= b.Temporary
		if c.Allocs|c.Frees != 0 {
			after = append(after, c)
		}
	}
	return after
}

// whole adds the changes of whole blocks.
func (b *builder) whole(first, end int) error {
	if first >= end {
		return nil
	}
	sum, err := timetravel.Changes(b.ctx, b.r, b.blocks.Head(first).FirstEvent, b.blocks.Cut(end-1))
	b.add(sum.List())
	return err
}

// span adds the changes of a span. If hasPeak, there is a moment at its peak.
func (b *builder) span(s *span, hasPeak bool) error {
	b.add(s.before)
	if hasPeak && s.peakCut > b.packer.latest.Cut && s.peakCut < b.cut {
		if err := b.moment(Moment{Cut: s.peakCut, Time: max(s.peakLast, b.packer.latest.Time), Last: s.peakLast,
			Top: uint64(max(s.peak, 0))}); err != nil {
			return err
		}
	}
	b.add(s.after)
	return nil
}

func (b *builder) add(list []recording.Change) {
	for i := range list {
		b.sum.Add(&list[i])
		b.live += list[i].Net()
	}
}

// moment adds a moment, up to which the changes have been added.
func (b *builder) moment(m Moment) error {
	m.Live = uint64(max(b.live, 0))
	m.Top = max(m.Top, m.Live)
	list := b.sum.List()
	for i := range list {
		b.measure(&list[i])
	}
	b.packer.add(m, list)
	b.sum.Reset()
	if b.size > b.o.bytes() || len(b.packer.out) > maxContents {
		return errTooLarge
	}
	return nil
}

// measure adds to the size what an entry takes. When a stack's sums need more room, all of its entries do.
func (b *builder) measure(c *recording.Change) {
	s := b.sizes[c.Stack]
	if s == nil {
		s = &stackSize{}
		b.sizes[c.Stack] = s
		b.size += stackBytes
	}
	old := entryBytes(widthOf(s.total.largest()))
	for k, n := range [columns]uint64{c.Allocs, c.Bytes, c.Frees, c.FreedBytes, c.Temporary} {
		s.total[k] += n
	}
	each := entryBytes(widthOf(s.total.largest()))
	b.size += s.entries*(each-old) + each
	s.entries++
}

// stackBytes is about what a stack takes without its entries: with nodes of the tree.
const stackBytes = 64
