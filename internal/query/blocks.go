package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// MostBlocks is the largest number of blocks in an answer.
const MostBlocks = 10_000

// BlockOrder says which blocks come first.
type BlockOrder uint8

// The orders. Of blocks of one size, the oldest comes first.
const (
	Largest BlockOrder = iota
	Oldest
	Newest
	ByLocation // in memory: the lowest address first
	orderCount
)

var orderNames = [orderCount]string{"size", "age", "newest", "address"}

func (o BlockOrder) String() string {
	if o < orderCount {
		return orderNames[o]
	}
	return fmt.Sprintf("BlockOrder(%d)", uint8(o))
}

// ParseBlockOrder returns the order of that name.
func ParseBlockOrder(name string) (BlockOrder, bool) {
	i := slices.Index(orderNames[:], name)
	return BlockOrder(max(i, 0)), i >= 0
}

// BlockOrders returns the names of all orders.
func BlockOrders() []string { return slices.Clone(orderNames[:]) }

// BlockChoice says which of the live blocks are wanted.
type BlockChoice struct {
	Order BlockOrder
	Most  int     // how many; at most MostBlocks
	Addr  *uint64 // those that hold this address, or another one up to AddrTo; nil: all
	// AddrTo counts if it is above Addr.
	AddrTo uint64

	// Only the next block below this address, and the next one from it on; 0: all.
	beside uint64
}

// Block is a block that is live at some moment.
type Block struct {
	event.Block
	Event     uint64 // number of its allocation among all events
	Usable    uint64 // usable bytes, if HasUsable
	HasUsable bool
}

// Blocks are blocks that were allocated in the range and are live at the query's cut. Total has what all of them
// together keep.
type Blocks struct {
	Answer
	AtTime int64 // time of the cut, ns
	AtPeak bool  // the cut is the run's peak
	List   []Block
}

// After returns how many blocks come after a page of the list; 0 if that is not known, because blocks were sampled.
func (b *Blocks) After(skip, shown int) uint64 {
	if b.Sampled {
		return 0
	}
	return b.Total.KeptBlocks - min(b.Total.KeptBlocks, uint64(skip+shown))
}

// errNoAddresses says why a question about addresses has no answer.
var errNoAddresses = errors.New("this recording does not say where blocks were: record with heaptap run --addresses")

// HasAddresses reports whether the recording says where blocks were.
func (s *Source) HasAddresses() bool {
	blocks := s.Reader.EventBlocks()
	n := blocks.Len()
	return n > 0 && blocks.Head(n-1).HasAddresses()
}

// FindBlocks answers with the blocks that were allocated in the range, are selected, and are live at the query's cut:
// those that come first. If the query has neither a range nor a cut, that is the run's peak. It reads the events from
// the range's beginning to the cut twice, and remembers one bit for each allocation of the range.
func FindBlocks(ctx context.Context, s *Source, q *Query, want BlockChoice) (*Blocks, error) {
	one := *q
	one.By, one.Metrics, one.Rough = ByStack, []Metric{Kept, KeptBlocks}, 0
	a, err := newAsk(ctx, s, &one)
	if err == nil {
		err = s.Reader.NeedEvents()
	}
	if err == nil && (want.Addr != nil || want.Order == ByLocation) && !s.HasAddresses() {
		err = errNoAddresses
	}
	if err != nil {
		return nil, err
	}
	a.Plan = FromEvents
	if q.At == nil && a.whole {
		if a.At, err = a.peakCut(); err != nil {
			return nil, err
		}
	}
	l := &liveBlocks{a: a, want: want}
	l.want.Most = min(max(want.Most, 0), MostBlocks)
	if err := l.find(); err != nil {
		return nil, err
	}
	l.cut(l.want.Most)
	out := &Blocks{List: l.list, AtPeak: q.At == nil && a.whole}
	if out.AtTime, err = s.Reader.TimeAt(a.At); err != nil {
		return nil, err
	}
	a.Total.KeptBytes, a.Total.KeptBlocks = l.sum.Bytes, l.sum.Blocks
	out.Answer = a.Answer
	return out, nil
}

// liveBlocks are being collected.
type liveBlocks struct {
	a     *ask
	want  BlockChoice
	ended bitset // allocations of blocks that end before the cut
	sum   Amount
	list  []Block
	// The last of the wanted ones, once there are that many: what comes after it is not wanted. Parts begin with it.
	last atomic.Pointer[Block]
}

// find reads the events twice: first for which blocks end, then for the others.
func (l *liveBlocks) find() error {
	a := l.a
	to := min(a.To, a.At)
	if a.From >= to {
		return nil
	}
	first, err := a.Reader.AllocsBefore(a.From)
	if err != nil {
		return err
	}
	end, err := a.Reader.AllocsBefore(to)
	if err != nil {
		return err
	}
	if err := a.prepare(a.From, to); err != nil {
		return err
	}
	if l.want.Addr != nil {
		return l.findHolders(to)
	}
	if err := a.scanAll(a.From, a.At, 0, func(recording.Stretch) (observer, func()) {
		part := &bitset{}
		return func(b *recording.Batch, _ []bool) {
			for i := range b.Events {
				n, ref := b.First+uint64(i), b.Refs[i]
				if b.Events[i].Kind == event.Free && n < a.At && first <= ref && ref < end {
					part.set(ref)
				}
			}
		}, func() { l.ended.add(part) }
	}); err != nil {
		return err
	}
	return a.scan(a.From, to, recording.Times|recording.Usable|recording.Addresses, l.collect)
}

// findHolders reads the events once: few blocks hold the wanted addresses at a time, so they can be followed.
func (l *liveBlocks) findHolders(to uint64) error {
	type weighed struct {
		Block
		Amount
	}
	live := make(map[uint64]weighed)
	fields := recording.Times | recording.Usable | recording.Addresses | recording.Sizes
	err := l.a.scan(l.a.From, l.a.At, fields, func(recording.Stretch) (observer, func()) {
		born := make(map[uint64]weighed)
		var ended []uint64 // of those that are not among born
		observe := func(b *recording.Batch, counts []bool) {
			for i := range b.Events {
				n, ref, e := b.First+uint64(i), b.Refs[i], &b.Events[i]
				switch {
				case n >= l.a.At || n < l.a.From || e.Kind > event.Free || !l.want.at(e):
				case e.Kind == event.Free:
					if _, here := born[ref]; !here {
						ended = append(ended, ref)
					}
					delete(born, ref)
				case counts[i] && n < to:
					blocks, bytes := e.Weight()
					born[ref] = weighed{newBlock(n, ref, e), Amount{bytes, blocks}}
				}
			}
		}
		return observe, func() {
			for _, ref := range ended {
				delete(live, ref)
			}
			maps.Copy(live, born)
		}
	})
	for _, b := range live {
		l.sum.add(b.Amount)
		l.list = append(l.list, b.Block)
	}
	return err
}

// collect is a collector.
func (l *liveBlocks) collect(recording.Stretch) (observer, func()) {
	from, to := l.a.From, min(l.a.To, l.a.At)
	part := &liveBlocks{a: l.a, want: l.want}
	part.last.Store(l.last.Load())
	ended := l.ended.shared()
	observe := func(b *recording.Batch, counts []bool) {
		for i := range b.Events {
			n, e := b.First+uint64(i), &b.Events[i]
			if counts[i] && e.Kind == event.Alloc && from <= n && n < to && !ended.has(b.Refs[i]) && l.want.at(e) {
				part.add(n, b.Refs[i], e)
			}
		}
	}
	return observe, func() {
		l.sum.add(part.sum)
		for i := range part.list {
			l.keep(&part.list[i])
		}
	}
}

// at reports whether a block holds a wanted address.
func (w *BlockChoice) at(e *event.Event) bool {
	return w.Addr == nil || *w.Addr-e.Addr < max(e.Size, e.Usable, 1) ||
		*w.Addr < e.Addr && e.Addr <= w.AddrTo
}

func (l *liveBlocks) add(n, ref uint64, e *event.Event) {
	blocks, bytes := e.Weight()
	l.sum.add(Amount{bytes, blocks})
	b := newBlock(n, ref, e)
	l.keep(&b)
}

// keep adds a block to the list, if it can be wanted.
func (l *liveBlocks) keep(b *Block) {
	if last := l.last.Load(); last != nil && l.compare(b, last) > 0 {
		return
	}
	l.list = append(l.list, *b)
	switch x := l.want.beside; {
	case x != 0 && len(l.list) > 64:
		l.list = nextTo(l.list, x)
	case x == 0 && len(l.list) > 2*l.want.Most+64:
		l.cut(l.want.Most)
		if n := len(l.list); n > 0 {
			last := l.list[n-1]
			l.last.Store(&last)
		}
	}
}

func newBlock(n, ref uint64, e *event.Event) Block {
	return Block{
		Block: event.Block{Addr: e.Addr, Size: e.Size, Stack: e.Stack, Thread: e.Thread, Ref: ref, Born: e.Time,
			Sampled: e.Flags&event.Sampled != 0, Func: e.Func},
		Event: n, Usable: e.Usable, HasUsable: e.Flags&event.HasUsable != 0,
	}
}

// nextTo returns the next block below an address, if there is one, and the next one from it on.
func nextTo(list []Block, addr uint64) []Block {
	var below, above *Block
	for i := range list {
		b := &list[i]
		switch {
		case b.Addr < addr && (below == nil || below.Addr < b.Addr):
			below = b
		case b.Addr >= addr && (above == nil || b.Addr < above.Addr):
			above = b
		}
	}
	var out []Block
	for _, b := range []*Block{below, above} {
		if b != nil {
			out = append(out, *b)
		}
	}
	return out
}

// cut sorts the list and drops what comes after the first most.
func (l *liveBlocks) cut(most int) {
	slices.SortFunc(l.list, func(a, b Block) int { return l.compare(&a, &b) })
	l.list = l.list[:min(most, len(l.list))]
}

// compare is negative if a comes before b.
func (l *liveBlocks) compare(a, b *Block) int {
	switch l.want.Order {
	case Oldest:
		return cmp.Compare(a.Ref, b.Ref)
	case Newest:
		return cmp.Compare(b.Ref, a.Ref)
	case ByLocation:
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Ref, b.Ref))
	}
	return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.Ref, b.Ref))
}
