package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// Sizes of pages, and what counts as what.
const (
	PageSize     = 4 << 10
	HugePageSize = 2 << 20 // of transparent huge pages

	// MostMoments is the largest number of steps of Compactness.
	MostMoments = 1000

	mostLive   = 1 << 26 // live blocks, 32 bytes each
	headerMost = 32      // a gap of so many bytes between two blocks is the allocator's header
)

// Compactness says how densely live blocks fill the pages that they lie on, at the query's cut. All blocks of the
// process count; the query selects those that are named in Pins.
type Compactness struct {
	Answer
	AtTime int64 // time of the cut, ns
	AtPeak bool  // the cut is the run's peak

	Live      Amount // of all blocks: requested
	Slack     uint64 // bytes beyond what was requested, as far as the allocator told
	Headers   uint64 // derived: gaps between blocks that are too short for a block
	Pages     Occupancy
	HugePages Occupancy
	Classes   []SizeAmount // by size, without empty ones
	Holes     []SizeAmount // derived: free runs by size, on pages that blocks were once on
	Largest   uint64       // the largest hole
	Empty     uint64       // derived: pages that blocks were once on, and none is
	HighLive  HighWater    // when most bytes were live, up to the cut
	HighPages HighWater    // when most pages were in use
	Pins      []Pin        // those with most empty bytes first
	Steps     []PageMoment // over time, up to the cut
	Physical  *Physical    // nil: it was not recorded which pages are in memory
}

// Occupancy says how many bytes live blocks have of each page that they are on.
type Occupancy struct {
	Size     uint64 // of a page
	InUse    uint64 // pages with at least a byte of a live block
	Min, Max uint64 // bytes
	Bytes    uint64 // of all pages together
	Tenths   [10]uint64
}

// SizeAmount is what there is of the sizes from 2^(Class-1) on and below 2^Class. Class 0 is size 0.
type SizeAmount struct {
	Class uint8
	Amount
	Slack uint64
}

// HighWater is a moment at which something was at its most.
type HighWater struct {
	Time   int64
	Live   uint64 // bytes
	InUse  uint64 // pages
	before uint64 // what is compared
}

// PageMoment is how many pages are in use at a moment.
type PageMoment struct {
	Time             int64
	Cut              uint64
	Live             Amount
	InUse, HugeInUse uint64
	InMemory         *uint64 // pages, of the latest reading until then, as in Physical; nil: there is none
}

// Pin is a call stack whose blocks keep nearly empty pages in use.
type Pin struct {
	Group
	Small, Huge Pinned
	Blocks      uint64 // on pages of 4 KiB that it pins
	Bytes       uint64 // of these blocks, on these pages
	AgeSum      uint64 // ns, of these blocks together
	Oldest      uint64 // ns
}

// Pinned is what a call stack pins, in pages of one size.
type Pinned struct {
	Pages    uint64 // that it keeps in use
	Released uint64 // bytes of those pages on which no other blocks are
	Empty    uint64 // of these bytes, those on which no block is
}

// checkAddresses returns why compactness is not known; nil: it is.
func (s *Source) checkAddresses() error {
	if s.Profile.Merged != nil || s.Profile.Folded.Cut > 0 {
		return errors.New("this recording has sums instead of its first events, so it does not say where all blocks " +
			"are: record with heaptap run --addresses, without --keep and --max-size")
	}
	if s.Profile.Sampled() {
		return errors.New("allocations of this recording were chosen at random, so it does not say where all blocks " +
			"are: record with heaptap run --addresses, without --mode sampled")
	}
	if err := s.Reader.NeedEvents(); err != nil {
		return err
	}
	if !s.HasAddresses() {
		return errNoAddresses
	}
	return nil
}

// Compact answers how compact live blocks are at the query's cut, and at so many moments up to it. If the query has
// neither a range nor a cut, that is the run's peak. It reads the events up to the cut twice: first in order, for the
// pages in use; then on all cores, for the blocks that are live.
func Compact(ctx context.Context, s *Source, q *Query, steps int) (*Compactness, error) {
	one := *q
	one.By, one.Metrics, one.Rough = ByStack, []Metric{Kept, KeptBlocks}, 0
	a, err := newAsk(ctx, s, &one)
	if err == nil {
		err = s.checkAddresses()
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
	c := &compactness{ask: a}
	c.out.AtPeak = q.At == nil && a.whole
	if c.out.AtTime, err = s.Reader.TimeAt(a.At); err != nil {
		return nil, err
	}
	if err := c.moments(min(steps, MostMoments)); err != nil {
		return nil, err
	}
	if err := c.walk(); err != nil {
		return nil, err
	}
	if err := c.collectLive(); err != nil {
		return nil, err
	}
	c.measure()
	if err := c.physical(); err != nil {
		return nil, err
	}
	c.out.Answer = a.Answer
	return &c.out, nil
}

// compactness is being measured.
type compactness struct {
	*ask
	out   Compactness
	pages pageMap
	ended bitset // allocations of blocks that end before the cut
	live  []placed
	total Amount // of the blocks that the query selects
}

// placed is a live block. There may be very many.
type placed struct {
	addr, size uint64
	born       int64
	stack      uint32
	slack      uint32 // bytes, with the flag selected
}

const selectedFlag = 1 << 31

func (p *placed) selected() bool    { return p.slack&selectedFlag != 0 }
func (p *placed) spare() uint64     { return uint64(p.slack &^ selectedFlag) }
func (p *placed) end() uint64       { return p.addr + p.size }
func (p *placed) usableEnd() uint64 { return p.end() + p.spare() }

// moments finds the cuts of the steps.
func (c *compactness) moments(steps int) error {
	if steps <= 0 {
		return nil
	}
	for i, t := range stepTimes(0, c.out.AtTime, steps) {
		m := PageMoment{Time: t, Cut: c.At}
		if i < steps {
			cut, err := c.Reader.CutAt(t)
			if err != nil {
				return err
			}
			m.Cut = min(cut, c.At)
		}
		c.out.Steps = append(c.out.Steps, m)
	}
	return nil
}

// walk follows the pages in use from the beginning to the cut.
func (c *compactness) walk() error {
	var live Amount
	next := 0
	snapshot := func(upTo uint64) {
		for ; next < len(c.out.Steps) && c.out.Steps[next].Cut <= upTo; next++ {
			m := &c.out.Steps[next]
			m.Live, m.InUse, m.HugeInUse = live, c.pages.inUse, c.pages.hugeInUse
		}
	}
	err := c.each(c.first, c.At, func(b *recording.Batch) error {
		for i := range b.Events {
			e := &b.Events[i]
			snapshot(b.First + uint64(i))
			switch e.Kind {
			case event.Alloc:
				live.add(Amount{e.Size, 1})
				if !c.pages.change(e.Addr, e.Size, true) {
					return c.spread()
				}
				c.out.HighLive.note(e.Time, live.Bytes, c.pages.inUse, live.Bytes)
				c.out.HighPages.note(e.Time, live.Bytes, c.pages.inUse, c.pages.inUse)
			case event.Free:
				live.subtract(Amount{e.Size, 1})
				c.pages.change(e.Addr, e.Size, false)
				c.ended.set(b.Refs[i])
			}
		}
		return nil
	})
	snapshot(c.At)
	switch {
	case err != nil:
		return err
	case live.Blocks > mostLive:
		return fmt.Errorf("%d blocks are live, and compactness can compare %d: give an earlier moment with --at",
			live.Blocks, mostLive)
	}
	c.live = make([]placed, 0, live.Blocks)
	return nil
}

func (c *compactness) spread() error {
	return fmt.Errorf("blocks of this recording are spread over more than %d GiB of addresses, which is more than "+
		"compactness follows", mostGroups*HugePageSize>>30)
}

// note notes a moment if the value is a new maximum.
func (h *HighWater) note(time int64, live, pages, value uint64) {
	if value > h.before {
		*h = HighWater{time, live, pages, value}
	}
}

// collectLive lists the blocks that are live at the cut, by address.
func (c *compactness) collectLive() error {
	if err := c.prepare(c.first, c.At); err != nil {
		return err
	}
	err := c.scan(c.first, c.At, recording.Times|recording.Usable|recording.Addresses,
		func(recording.Stretch) (observer, func()) {
			ended := c.ended.shared()
			var part []placed
			var total Amount
			observe := func(b *recording.Batch, counts []bool) {
				for i := range b.Events {
					n, e := b.First+uint64(i), &b.Events[i]
					if e.Kind != event.Alloc || n >= c.At || ended.has(b.Refs[i]) {
						continue
					}
					p := placed{addr: e.Addr, size: e.Size, born: e.Time, stack: e.Stack}
					if e.Flags&event.HasUsable != 0 && e.Usable > e.Size {
						p.slack = uint32(min(e.Usable-e.Size, selectedFlag-1))
					}
					if counts[i] && c.From <= n && n < c.To {
						p.slack |= selectedFlag
						total.add(Amount{e.Size, 1})
					}
					part = append(part, p)
				}
			}
			return observe, func() {
				c.live = append(c.live, part...)
				c.total.add(total)
			}
		})
	c.Total.KeptBytes, c.Total.KeptBlocks = c.total.Bytes, c.total.Blocks
	return err
}

// measure computes the answer from the live blocks.
func (c *compactness) measure() {
	var classes [65]SizeAmount
	for i := range c.live {
		p := &c.live[i]
		x := &classes[bits.Len64(p.size)]
		x.add(Amount{p.size, 1})
		x.Slack += p.spare()
		c.out.Live.add(Amount{p.size, 1})
		c.out.Slack += p.spare()
	}
	c.out.Classes = notEmpty(&classes)
	c.live = apart(c.live)
	pins := make(map[uint32]*Pin)
	c.sweep(PageSize, &c.out.Pages, pins)
	c.sweep(HugePageSize, &c.out.HugePages, pins)
	c.holes()
	for _, p := range pins {
		if p.Small.Empty > 0 || p.Huge.Empty > 0 {
			c.out.Pins = append(c.out.Pins, *p)
		}
	}
	slices.SortFunc(c.out.Pins, func(a, b Pin) int {
		return cmp.Or(cmp.Compare(b.Small.Empty, a.Small.Empty), cmp.Compare(b.Huge.Empty, a.Huge.Empty),
			cmp.Compare(a.Stack, b.Stack))
	})
}

func notEmpty(classes *[65]SizeAmount) (list []SizeAmount) {
	for i := range classes {
		if classes[i].Blocks > 0 {
			classes[i].Class = uint8(i)
			list = append(list, classes[i])
		}
	}
	return list
}

// apart sorts blocks by address and sees to it that none overlaps: what is in an earlier one is cut off. Blocks of
// recordings that heaptap made do not overlap, and have at least a byte here.
func apart(list []placed) []placed {
	slices.SortFunc(list, func(a, b placed) int { return cmp.Compare(a.addr, b.addr) })
	end, n := uint64(0), 0
	for _, p := range list {
		p.size = max(p.size, 1)
		if !fits(p.addr, p.size) || p.end() <= end {
			continue
		}
		if p.addr < end {
			p.size, p.addr = p.end()-end, end
		}
		end = p.end()
		list[n] = p
		n++
	}
	return list[:n]
}

// sweep looks at each page that blocks are on, the lowest address first.
func (c *compactness) sweep(size uint64, out *Occupancy, pins map[uint32]*Pin) {
	out.Size = size
	own := make(map[uint32]uint64)
	last := make(map[uint32]int) // the last block that was counted, and 1, by stack
	page := func(lo, hi int, from uint64) {
		clear(own)
		to, sum := from+size, uint64(0)
		for i := lo; i < hi; i++ {
			p := &c.live[i]
			n := min(p.end(), to) - max(p.addr, from)
			sum += n
			if p.selected() {
				own[p.stack] += n
			}
		}
		out.count(sum, 1)
		if 2*sum >= size {
			return
		}
		for stack, n := range own {
			if 10*(sum-n) >= size {
				continue
			}
			pin := pins[stack]
			if pin == nil {
				pin = &Pin{Group: Group{By: ByStack, Stack: stack, Unknown: stack == 0}}
				pins[stack] = pin
			}
			pinned := &pin.Small
			if size != PageSize {
				pinned = &pin.Huge
			}
			pinned.Pages++
			if n == sum {
				pinned.Released += size
				pinned.Empty += size - n
			}
			if size != PageSize {
				continue
			}
			pin.Bytes += n
			for i := max(lo, last[stack]); i < hi; i++ {
				if p := &c.live[i]; p.selected() && p.stack == stack {
					age := uint64(max(c.out.AtTime-p.born, 0))
					pin.Blocks++
					pin.AgeSum += age
					pin.Oldest = max(pin.Oldest, age)
				}
			}
			last[stack] = hi
		}
	}
	for i := 0; i < len(c.live); {
		// The blocks from i on that share the first one's last page, and pages before that are all its own.
		from := c.live[i].addr / size * size
		for lo := i; ; {
			hi := lo
			for hi < len(c.live) && c.live[hi].addr < from+size {
				hi++
			}
			page(lo, hi, from)
			if c.live[hi-1].end() <= from+size {
				i = hi
				break
			}
			tail := (c.live[hi-1].end() - 1) / size * size // the page where the last block ends
			if full := (tail - from - size) / size; full > 0 {
				out.count(size, full)
			}
			lo, from = hi-1, tail
		}
	}
}

// count counts pages with so many bytes of blocks.
func (o *Occupancy) count(bytes, pages uint64) {
	if o.InUse == 0 || bytes < o.Min {
		o.Min = bytes
	}
	o.Max = max(o.Max, bytes)
	o.InUse += pages
	o.Bytes += bytes * pages
	o.Tenths[min(10*bytes/o.Size, 9)] += pages
}

// holes finds what is free between blocks, on the pages that small blocks were once on.
func (c *compactness) holes() {
	var classes [65]SizeAmount
	i := 0
	for _, run := range c.pages.runs() {
		for i < len(c.live) && c.live[i].usableEnd() <= run.from {
			i++
		}
		at, after := run.from, false // after: a block ends here
		free := func(to uint64, before bool) {
			if to <= at {
				return
			}
			n := to - at
			if n <= headerMost && (after || before) {
				c.out.Headers += n
				return
			}
			classes[bits.Len64(n)].add(Amount{n, 1})
			c.out.Largest = max(c.out.Largest, n)
			if first, end := (at+PageSize-1)/PageSize, to/PageSize; first < end {
				c.out.Empty += end - first
			}
		}
		for ; i < len(c.live) && c.live[i].addr < run.to; i++ {
			free(c.live[i].addr, true)
			at, after = max(at, c.live[i].usableEnd()), true
			if at >= run.to {
				break
			}
		}
		free(run.to, false)
	}
	c.out.Holes = notEmpty(&classes)
}
