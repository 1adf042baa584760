package insight

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

const (
	// leastFree is the least free memory that stands out: allocators keep a few MB on purpose, for each thread's arena.
	leastFree = 8 << 20
	// freeShare is the least share of the resident set: below that, something else is what makes it large.
	// It is more than what is live, too: a heap that is half full is usual while blocks come and go.
	freeShare = .25
	// blockTables is what an allocator needs for a block besides its bytes: a header, and rounding up to 16 bytes. A
	// heap of many small blocks has no free memory because of it.
	blockTables = 16
	// leastStay is the least share of the run for which it stays. What is freed when the program ends does not count.
	leastStay = .2
	// shutDown is the share of the run at its end in which a program may free everything, and the allocator return it.
	shutDown = .06
	// leastPinned is the least memory on nearly empty pages of which it is worth saying whose blocks keep them in use.
	leastPinned = 1 << 20
	// freedPart is the least share of it that one function must have freed, so that a fix there would help.
	freedPart = .5
)

// unreturned finds free memory that the allocator keeps after the peak: the resident set stays far above what is live.
// Who freed it is told by what was live at the peak and no longer is; whose blocks the free memory was, nobody records.
func (f *finder) unreturned() error {
	if f.p.Sampled() {
		return nil // live blocks are not known one by one, so that free memory is not, either
	}
	peak := f.p.Totals.Peak.Time
	kept := f.stays(peak)
	if !kept.enough(0) {
		return nil
	}
	cuts := make([]uint64, 2)
	for i, t := range []int64{peak, kept.at.Time} {
		cut, err := f.s.Reader.CutAt(t)
		if err != nil {
			return err
		}
		cuts[i] = max(cut, cuts[0])
	}
	m, err := query.MomentsAt(f.ctx, f.s, cuts, func(uint32) bool { return true })
	if err != nil {
		return err
	}
	type before struct{ peak, live, blocks uint64 }
	list := newGroups[before](f)
	for i := range f.p.Stacks { // in the order of call stacks, so that the answer is always the same
		id := f.p.Stacks[i].ID
		levels := m.Stacks[id]
		if levels == nil {
			continue
		}
		b := list.add(id, float64(levels[0].Bytes))
		b.peak, b.live, b.blocks = b.peak+levels[0].Bytes, b.live+levels[1].Bytes, b.blocks+levels[1].Blocks
	}
	all := uint64(0)
	for _, levels := range m.Stacks {
		all += levels[1].Blocks
	}
	if !kept.enough(all) {
		return nil
	}
	freed := func(b *before) uint64 { return b.peak - min(b.live, b.peak) }
	var most *group[before]
	for _, g := range list.list {
		if most == nil || freed(&g.of) > freed(&most.of) {
			most = g
		}
	}
	if most == nil || float64(freed(&most.of)) < freedPart*float64(kept.free) {
		return nil
	}
	x := most.finding(Unreturned)
	x.Saves, x.Unit = float64(min(kept.free, freed(&most.of))), query.ByteCount
	x.Share, x.Confidence = x.Saves/f.fullest(), .5
	x.Says = says(" freed ", value(float64(freed(&most.of)), Bytes), " of ", value(float64(most.of.peak), Bytes),
		" after ", f.moment(peak), ", but the memory stays resident: from ", f.moment(kept.first.Time), " on, the ",
		"allocator keeps ", value(float64(kept.free), Bytes), " free, ", value(kept.share, Share),
		" of the resident set, beside ", value(float64(kept.live), Bytes), " of live blocks.")
	pins, err := f.pins(kept.last)
	if err != nil {
		return err
	}
	switch {
	case pins != nil:
		x.Says = says(x.Says, pins)
		x.Confidence = .8
	case most.of.blocks > 0:
		x.Says = says(x.Says, " ", value(float64(most.of.live), Bytes), " in ", blocks(most.of.blocks),
			" of the function's are still live: if they lie in between, the memory cannot be returned.")
	}
	x.Basis = says("free memory is measured, at ", readings(kept.readings),
		"; that it was this function's is an estimate: nothing freed more since the peak")
	x.Show = Question{Page: "flame", Metric: query.Live.String(), From: peak, To: kept.at.Time, Focus: most.focus()}
	f.list = append(f.list, x)
	return nil
}

// readings is a number of readings with its noun.
func readings(n int) []Part {
	if n == 1 {
		return says("1 reading")
	}
	return says(value(float64(n), Count), " readings")
}

// mostPinEvents bounds of how many events is asked which blocks keep pages in use: that takes about 40 ns for each.
const mostPinEvents = 20_000_000

// pins says whose blocks keep nearly empty pages in use at a moment, if the recording says where blocks are; nil: it
// does not, or nobody's do.
func (f *finder) pins(at int64) ([]Part, error) {
	cut, err := f.s.Reader.CutAt(at)
	if first, _ := f.s.Reader.Cuts(); err != nil || !f.s.HasAddresses() || cut-first > mostPinEvents {
		return nil, err
	}
	c, err := query.Compact(f.ctx, f.s, &query.Query{At: &cut}, 0)
	if err != nil {
		return nil, err
	}
	type pinned struct {
		pages, released, blocks, ages uint64
	}
	list := newGroups[pinned](f)
	for i := range c.Pins {
		p := &c.Pins[i]
		g := list.add(p.Stack, float64(p.Small.Released))
		g.pages, g.released = g.pages+p.Small.Pages, g.released+p.Small.Released
		g.blocks, g.ages = g.blocks+p.Blocks, g.ages+p.AgeSum
	}
	var most *group[pinned]
	for _, g := range list.list {
		if most == nil || g.of.released > most.of.released {
			most = g
		}
	}
	if most == nil || most.of.released < leastPinned {
		return nil, nil
	}
	of := &most.of
	return says(" After ", f.moment(at), ", ", blocks(of.blocks), " of ", most.Name, ", ",
		value(float64(of.ages/max(of.blocks, 1)), Time), " old on average, keep ", value(float64(of.pages), Count),
		" nearly empty pages in use: without them, at least ", value(float64(of.released), Bytes),
		" could be released."), nil
}

// keptFree is free memory that stays resident.
type keptFree struct {
	first, at  *profile.ResidentSet // since when, and a reading from which on it stays long enough; nil: there is none
	free, live uint64               // the least that was free from the first reading to the last; what was live at
	share      float64              // of the resident set at
	readings   int                  // from the first to the last
	last       int64                // time of the last one
}

// stays returns how much free memory stays resident after a moment, for leastStay of the run and to its last reading.
func (f *finder) stays(after int64) (kept keptFree) {
	p, sets := f.p, f.p.ResidentSets
	for len(sets) > 0 && sets[0].Time < after {
		sets = sets[1:]
	}
	ended := false // a reading was made while the program ended: what the one before says held until then
	for n := len(sets); n > 0 && float64(sets[n-1].Time) > (1-shutDown)*float64(p.Duration); n-- {
		sets, ended = sets[:n-1], true
	}
	if len(sets) > 0 {
		last := &sets[len(sets)-1]
		kept.last = last.Time
		ended = ended || f.idles(last)
	}
	least, level := ^uint64(0), uint64(0) // free from a reading to the last; the same from kept.at on
	for i := len(sets) - 1; i >= 0; i-- {
		s := &sets[i]
		free, _ := s.Sum(event.ResidentSlack)
		least = min(least, free)
		left := p.Duration - s.Time
		switch {
		case i == len(sets)-1 && !ended || float64(left) < leastStay*float64(p.Duration):
			continue // too late, or nothing says that it stays
		case kept.at == nil:
			kept.at, level = s, least
		case float64(least) < .9*float64(level):
			return kept
		}
		kept.first, kept.free, kept.readings = s, least, len(sets)-i
	}
	return kept
}

// idles reports whether a reading holds for long, as the program does nothing: then there is no other one.
func (f *finder) idles(s *profile.ResidentSet) bool {
	const same, fewEvents = .95, 1000
	until := s.Time
	for i := range f.p.Samples {
		switch x := &f.p.Samples[i]; {
		case x.Time <= s.Time || x.RSS < 0:
		case float64(x.RSS) < same*float64(s.Bytes):
			return false
		default:
			until = x.Time
		}
	}
	from, err := f.s.Reader.CutAt(s.Time)
	if err != nil || float64(until-s.Time) < leastStay*float64(f.p.Duration) {
		return false
	}
	to, err := f.s.Reader.CutAt(until)
	return err == nil && to-from <= fewEvents
}

// enough reports whether so much of the resident set is free that it stands out.
func (k *keptFree) enough(blocks uint64) bool {
	if k.at == nil {
		return false
	}
	k.live, _ = k.at.Sum(event.ResidentLive)
	own, _ := k.at.Sum(event.ResidentAgent)
	k.share = float64(k.free) / float64(max(k.at.Bytes-own, 1))
	tables := blockTables * blocks
	return k.free >= leastFree+tables && k.free >= k.live+tables && k.share >= freeShare
}
