package query

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// count turns events into cells.
type count struct {
	*ask
	c          *cells
	begin, end uint64 // cuts between which there is something to count

	// Whether these are requested. They need events outside of the range, or fields that are not always read.
	live, peak, leaked, keeps, copied, time bool
	sumsOnly                                bool // none of them is, and no own peaks are

	refFrom, refTo uint64 // allocations of the range

	began    bool  // the range has begun; own peaks are followed from there
	all      level // of all that is selected
	runtimes stackSet
	timer    *timer
	reallocs reallocs

	taken func(s *blockCount) // takes the sums of each block of events instead of add; nil: add does
}

// fromEvents counts the events one by one.
func (a *ask) fromEvents(c *cells) error {
	k, err := a.newCount(c)
	if err == nil {
		err = a.prepare(k.begin, k.end)
	}
	if err == nil {
		err = a.scan(k.begin, k.end, k.fields(), k.collect)
	}
	k.finish()
	return err
}

// newCount determines what has to be counted, and between which cuts.
func (a *ask) newCount(c *cells) (*count, error) {
	k := &count{ask: a, c: c, begin: a.From, end: a.To, live: a.perBlock && a.q.wants(Live, LiveBlocks),
		peak:   a.perBlock && a.q.wants(Peak, PeakBlocks),
		leaked: a.q.wants(leakedMetrics...) && !a.hasSums(a.last), keeps: a.q.wants(keptMetrics...) && !a.hasSums(a.At),
		copied: a.q.wants(Copied), time: a.q.wants(Time), timer: newTimer(a), reallocs: make(reallocs),
		runtimes: a.runtimes()}
	k.sumsOnly = !k.live && !k.peak && !k.leaked && !k.keeps && !k.copied && !k.time && !a.ownPeaks
	if k.live {
		k.begin, k.end = a.first, max(k.end, a.At)
	}
	if k.peak {
		k.begin, k.end = a.first, max(k.end, a.PeakAt)
	}
	if k.sumsOnly && a.q.By == ByAllocation && a.From == a.first {
		a.joined = &joinedFuncs{}
	}
	var err error
	if k.keeps {
		k.end = max(k.end, a.At)
	}
	if k.leaked {
		k.end = a.last
	}
	if k.leaked || k.keeps {
		if k.refFrom, err = a.Reader.AllocsBefore(a.From); err != nil {
			return k, err
		}
		if k.refTo, err = a.Reader.AllocsBefore(a.To); err != nil {
			return k, err
		}
	}
	switch {
	case a.ownPeaks && a.perBlock:
		k.begin = a.first
	case a.ownPeaks:
		if err := k.openLive(); err != nil {
			return k, err
		}
	}
	if k.copied && k.begin > a.first {
		err = a.scanAll(a.first, k.begin, recording.Sizes, k.reallocs.collect)
	}
	return k, err
}

// fields returns the fields that the metrics need.
func (k *count) fields() (f recording.Fields) {
	if k.q.wants(Time, MinLifetime, MeanLifetime, MaxLifetime) {
		f |= recording.Times
	}
	if k.q.wants(Slack) {
		f |= recording.Usable
	}
	return f
}

// openLive creates the cells of what is live when the range begins: it counts in own peaks even if nothing happens to
// it.
func (k *count) openLive() error {
	list, err := timetravel.LiveAt(k.ctx, k.Reader, k.From)
	for _, l := range list {
		k.c.at(l.Stack, 0).now = int64(l.Bytes)
		if k.stacks.keep(l.Stack) {
			k.all.now += int64(l.Bytes)
		}
	}
	return err
}

// blockCount counts one block of events. Its levels begin at 0.
type blockCount struct {
	*count
	c      *cells
	before bool // some of its events precede the range
	began  bool
	all    level
	own    Values // what the runtime keeps
	times  blockTimes
	copies blockReallocs
	// If stacks do not matter: by label, the index of its cell plus 1.
	byLabel [128]uint32
	funcs   blockFuncs
}

// collect is a collector.
func (k *count) collect(b recording.Stretch) (observer, func()) {
	s := &blockCount{count: k, c: cellsPool.Get().(*cells), before: b.First < k.From && k.begin < k.From}
	s.began = !s.before
	var label labeler
	if k.joined != nil {
		s.funcs = blockFuncs{newNearFuncs(b), b.FirstAlloc, waitingPool.Get().(*[]waiting)}
		label = s.funcs.labeler
	} else {
		label = k.labeler(b)
	}
	if s.times.timer = k.timer; k.time {
		s.times.allocs = *timedPool.Get().(*[]timed)
	}
	var last, at uint32 // the label of the previous event, if stacks do not matter; the index of its cell plus 1
	var labels []uint32
	observe := func(b *recording.Batch, counts []bool) {
		labels = label(b, labels)
		if k.sumsOnly {
			s.sums(b, counts, labels)
			return
		}
		for i := range b.Events {
			n, ref, e := b.First+uint64(i), b.Refs[i], &b.Events[i]
			in := k.From <= n && n < k.To
			if e.Kind > event.Free {
				if k.time && in {
					s.times.observe(e, 0)
				}
				continue
			}
			l := labels[i]
			if n < k.begin {
				continue
			}
			number := uint32(0) // index of the cell in which the event counts, plus 1
			if counts[i] {
				if number = at; at == 0 || l != last || !k.noStacks {
					number = s.cell(e, l) + 1
					last, at = l, number
				}
				s.add(s.c.get(int(number-1)), n, ref, e, in)
			}
			if !in {
				number = 0
			}
			if k.copied {
				s.copies.observe(e, number, s.c)
			}
			if k.time && in {
				s.times.observe(e, number)
			}
		}
	}
	return observe, func() {
		if k.taken != nil {
			k.taken(s)
			s.c.reset()
			cellsPool.Put(s.c)
			return
		}
		k.add(s, b.First+b.Events > k.From)
	}
}

// sums counts the events of a batch if all that is requested is what they did.
func (b *blockCount) sums(batch *recording.Batch, counts []bool, labels []uint32) {
	if batch.First+uint64(len(batch.Events)) <= b.From {
		return
	}
	from := max(b.From, batch.First) - batch.First
	to := min(b.To-batch.First, uint64(len(batch.Events)))
	for i := from; i < to; i++ {
		e := &batch.Events[i]
		if labels[i] == olderFunc && b.joined != nil && e.Kind == event.Free {
			*b.funcs.list = append(*b.funcs.list, waiting{*e, batch.Refs[i], counts[i]})
			continue
		}
		if !counts[i] {
			continue
		}
		c := b.c.get(int(b.cell(e, labels[i])))
		if e.Kind == event.Alloc {
			c.alloc(e)
			if b.depths != nil && b.noStacks {
				c.Depth = max(c.Depth, b.depths.Of(e.Stack))
			}
		} else {
			c.free(e)
		}
	}
}

// cell returns the index of an event's cell.
func (b *blockCount) cell(e *event.Event, label uint32) uint32 {
	if !b.noStacks || label >= uint32(len(b.byLabel)) {
		return b.c.number(b.stack(e), label)
	}
	if b.byLabel[label] == 0 {
		b.byLabel[label] = b.c.number(0, label) + 1
	}
	return b.byLabel[label] - 1
}

// add counts an event; in says whether it is in the range.
func (b *blockCount) add(c *cell, n, ref uint64, e *event.Event, in bool) {
	switch {
	case !in:
	case e.Kind == event.Alloc:
		c.alloc(e)
		if b.depths != nil && b.noStacks {
			c.Depth = max(c.Depth, b.depths.Of(e.Stack))
		}
	default:
		c.free(e)
	}
	if b.live && n < b.At {
		c.live(e)
	}
	if b.peak && n < b.PeakAt {
		c.peak(e)
	}
	if b.leaked && n >= b.From && b.refFrom <= ref && ref < b.refTo {
		if b.runtimes.has(e.Stack) {
			b.own.leaked(e)
		} else {
			c.leaked(e)
		}
	}
	if b.keeps && n >= b.From && n < b.At && b.refFrom <= ref && ref < b.refTo {
		c.keep(e)
	}
	if !b.ownPeaks || n >= b.To {
		return
	}
	if n >= b.From && !b.began {
		b.begin()
	}
	c.move(e, b.began)
	b.all.move(e, b.began)
}

// begin begins the range: maxima count from here.
func (b *blockCount) begin() {
	b.began = true
	b.c.begin()
	b.all.most = b.all.now
}

func (c *cells) begin() {
	for i := range c.len() {
		c.get(i).most = c.get(i).now
	}
}

// move applies an event to the level; counts says whether the result counts for the maximum.
func (l *level) move(e *event.Event, counts bool) {
	_, bytes := e.Weight()
	if e.Kind == event.Free {
		l.now -= int64(bytes)
		return
	}
	if l.now += int64(bytes); counts {
		l.most = max(l.most, l.now)
	}
}

// follow appends a level that begins where this one ends. counts says whether o counts for the maximum; fresh, that
// the maximum so far does not.
func (l *level) follow(o level, fresh, counts bool) {
	switch {
	case fresh && counts:
		l.most = l.now + o.most
	case counts:
		l.most = max(l.most, l.now+o.most)
	}
	l.now += o.now
}

// add adds the sums of the next block of events. within says whether the block has a part of the range.
func (k *count) add(s *blockCount, within bool) {
	if k.joined != nil {
		k.joined.resolve(&s.funcs, func(e *event.Event, of event.Func) { s.c.get(int(s.cell(e, uint32(of)))).free(e) })
	}
	if within && !s.began {
		s.begin()
	}
	if within && !k.began {
		k.start()
	}
	to := make([]uint32, s.c.len())
	for i := range s.c.len() {
		c := s.c.get(i)
		to[i] = k.c.number(c.stack, c.label)
		sum := k.c.get(int(to[i]))
		sum.Values.Add(&c.Values)
		sum.follow(c.level, s.before, within)
	}
	k.all.follow(s.all, s.before, within)
	k.Runtime.Add(profile.Leak{Bytes: s.own.LeakedBytes, Blocks: s.own.LeakedBlocks})
	if k.copied {
		k.reallocs.add(&s.copies, func(number uint32) *Values { return &k.c.get(int(to[number-1])).Values })
	}
	if k.time {
		s.times.add(func(number uint32) *Values { return &k.c.get(int(to[number-1])).Values })
	}
	s.c.reset()
	cellsPool.Put(s.c)
}

// start begins the range with what is live.
func (k *count) start() {
	k.began = true
	k.c.begin()
	k.all.most = k.all.now
}

// finish stores the own peaks.
func (k *count) finish() {
	if !k.ownPeaks {
		return
	}
	if !k.began {
		k.start()
	}
	for i := range k.c.len() {
		c := k.c.get(i)
		c.OwnPeak = uint64(max(c.most, 0))
	}
	k.peaksHeld, k.allPeak = true, uint64(max(k.all.most, 0))
}
