package recording

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// Page readings are stored as what differs from the reading before, since most pages stay as they are. Now and then one
// is whole, so that any of them can be found without those before it.
const (
	wholeEvery = 64      // readings from one that is whole to the next
	pageUnit   = 4 << 10 // bytes in which addresses are stored: every page is a multiple

	// MaxPageRanges bounds the areas and runs of pages of one reading.
	MaxPageRanges = 1 << 19
	// maxPageRoom bounds those of a block, as what differs: a row may differ in all of two readings.
	maxPageRoom = 4 * MaxPageRanges
)

// pageChange is what differs between two page readings.
type pageChange struct {
	number       uint64 // of the reading in the recording, from 0
	whole        bool   // it differs from nothing
	time, took   int64
	size         uint64 // of a page
	areas, pages []event.AddrRange
}

func (c *pageChange) ranges() int { return len(c.areas) + len(c.pages) }

// pageHead is the head of a block of page readings, behind their number.
type pageHead struct {
	first     uint64 // number of the first reading
	continues uint64 // 1: the first differs from the reading before it, 0: from nothing
	begin     uint64 // time of the first, ns
	span      uint64 // time of the last minus that
	took      uint64 // ns, of all
	size      uint64 // of a page
}

func (h *pageHead) fields() []*uint64 {
	return []*uint64{&h.first, &h.continues, &h.begin, &h.span, &h.took, &h.size}
}

var errPages = errors.New("its areas or pages are impossible")

var pageTable = column.Table[pageChange]{Err: errPages, Fields: func(r *column.Row, x, before *pageChange) {
	r.Delta(1, &x.time, before.time)
	r.Int(1, &x.took)
	at := uint64(0)
	for i := range column.List(r, 2, &x.areas, 3) {
		a := &x.areas[i]
		start, pages := a.Start/pageUnit, (a.End-a.Start)/pageUnit
		r.DeltaUint(3, &start, at)
		r.Uint(3, &pages)
		if !pageRange(r, a, start, pages) {
			return
		}
		// By start and then by end; a longer one may begin where a shorter one does.
		r.Check(i == 0 || a.Start > x.areas[i-1].Start ||
			a.Start == x.areas[i-1].Start && a.End > x.areas[i-1].End, errPages)
		at = start
	}
	at = 0
	for i := range column.List(r, 2, &x.pages, 4) {
		a := &x.pages[i]
		start, pages := a.Start/pageUnit, (a.End-a.Start)/pageUnit
		r.Offset(4, &start, at)
		r.Uint(4, &pages)
		if !pageRange(r, a, start, pages) {
			return
		}
		at = start + pages
	}
	r.Check(x.time >= 0 && x.took >= 0, errPages)
}}

// pageRange sets a range that is read. It returns false if that is impossible.
func pageRange(r *column.Row, a *event.AddrRange, start, pages uint64) bool {
	const most = 1 << 51 // pages of the address space; no sum of two overflows
	if !r.Reading() {
		return true
	}
	if r.Bad() || start >= most || pages == 0 || pages >= most {
		r.Fail(errPages)
		return false
	}
	a.Start, a.End = start*pageUnit, (start+pages)*pageUnit
	return true
}

// pageWriter turns page readings into what differs from one to the next.
type pageWriter struct {
	number uint64
	latest event.PageReading
}

// PageReading adds which pages were in memory at a moment, not before that of the reading before. The lists must stay
// as they are. If they are longer than MaxPageRanges, it adds nothing.
func (w *Writer) PageReading(p event.PageReading) {
	if len(p.Areas) > MaxPageRanges || len(p.Resident) > MaxPageRanges {
		return
	}
	p.Time = max(p.Time, w.pages.latest.Time)
	from := &w.pages.latest
	c := pageChange{number: w.pages.number, time: p.Time, took: p.Took, size: p.PageSize}
	if c.whole = c.number%wholeEvery == 0 || p.PageSize != from.PageSize; c.whole {
		from = &event.PageReading{}
	}
	c.areas, c.pages = event.ToggleAreas(p.Areas, from.Areas), event.TogglePages(p.Resident, from.Resident)
	w.pages.number++
	w.pages.latest = p
	w.pending.pages = append(w.pending.pages, c)
}

// pageReadings appends page readings, and leaves in list those that could not be written. A whole one begins a block.
func (a *appender) pageReadings(list *[]pageChange) {
	all := *list
	for len(all) > 0 && a.err == nil {
		n, ranges := 1, all[0].ranges()
		for n < len(all) && !all[n].whole && ranges+all[n].ranges() <= maxPageRoom {
			ranges += all[n].ranges()
			n++
		}
		a.encodePages(all[:n])
		for a.pay.TooLong() && n > 1 {
			n /= 2
			a.encodePages(all[:n])
		}
		if a.block(blockPages, a.pay.Bytes()) == nil {
			all = all[n:]
		}
	}
	*list = append((*list)[:0], all...)
}

func (a *appender) encodePages(list []pageChange) {
	h := pageHead{first: list[0].number, begin: uint64(list[0].time), size: list[0].size}
	h.span = uint64(list[len(list)-1].time) - h.begin
	if !list[0].whole {
		h.continues = 1
	}
	for i := range list {
		h.took += uint64(list[i].took)
	}
	var more []uint64
	for _, v := range h.fields() {
		more = append(more, *v)
	}
	pageTable.Encode(a.pay, list, more...)
}

// PageReadings are the readings of which pages were in memory. Only those that are asked for are decoded.
type PageReadings struct {
	file   *blockFile
	blocks []pageBlock
}

// pageBlock is a block of page readings.
type pageBlock struct {
	header
	count uint64
	head  pageHead
}

func (b *pageBlock) lastTime() int64 { return int64(b.head.begin + b.head.span) }

// PageReadings returns the readings of which pages were in memory.
func (r *Reader) PageReadings() *PageReadings { return &r.pages }

// add adds a block if it comes after those before it.
func (p *PageReadings) add(h header) {
	b := pageBlock{header: h}
	var buf [128]byte
	n, err := readFull(p.file.data, buf[:min(uint64(len(buf)), uint64(h.length))], h.offset+headerLength)
	c := column.Cursor{Data: buf[:n]}
	c = column.Cursor{Data: c.Bytes(c.Uint())}
	b.count = c.Uint()
	for _, v := range b.head.fields() {
		*v = c.Uint()
	}
	const most = math.MaxInt64 / 4
	bad := err != nil || c.Bad || b.count == 0 || b.count > tableRows || b.head.first > most || b.head.begin > most ||
		b.head.span > most || b.head.took > most || b.head.size == 0 || b.head.size%pageUnit != 0 || b.head.size > 1<<30
	if k := len(p.blocks); !bad && k > 0 {
		last := &p.blocks[k-1]
		bad = b.head.first < last.head.first+last.count || int64(b.head.begin) < last.lastTime()
	}
	if bad {
		p.file.damaged("the block of %s at offset %d: its head is invalid", h.typ, h.offset)
		return
	}
	p.blocks = append(p.blocks, b)
}

// PageSummary says how often a process's pages were read.
type PageSummary struct {
	Readings    uint64
	First, Last int64  // times, ns
	Took        int64  // ns of a processor's time, of all readings
	PageSize    uint64 // bytes
}

// Summary says how often pages were read; nothing is decoded for it.
func (p *PageReadings) Summary() (s PageSummary) {
	for i := range p.blocks {
		b := &p.blocks[i]
		if i == 0 {
			s.First = int64(b.head.begin)
		}
		s.Readings += b.count
		s.Last, s.PageSize = b.lastTime(), b.head.size
		s.Took = min(s.Took+int64(b.head.took), math.MaxInt64/2)
	}
	return s
}

// All calls yield for each reading, in the order of their times, until it returns false. Readings that are damaged, and
// those that only say what differs from these, are left out, and are part of the recording's damage.
func (p *PageReadings) All(yield func(*event.PageReading) bool) { p.walk(0, yield) }

// During returns the latest reading between two times, or at one of them. If there is none, it returns the one that is
// nearest, of two the earlier one; nil if there are no readings.
func (p *PageReadings) During(from, to int64) *event.PageReading {
	i := sort.Search(len(p.blocks), func(i int) bool { return int64(p.blocks[i].head.begin) > to }) - 1
	var before, after *event.PageReading
	for ; before == nil && after == nil; i-- { // more than once if what follows is damaged
		for i = max(i, 0); i > 0 && p.blocks[i].head.continues != 0; i-- {
		}
		p.walk(i, func(r *event.PageReading) bool {
			if r.Time > to {
				after = r
				return false
			}
			before = r
			return true
		})
		if i == 0 {
			break
		}
	}
	if before == nil || after != nil && before.Time < from && after.Time-to < from-before.Time {
		return after
	}
	return before
}

// walk is All from a block on that does not continue the one before it.
func (p *PageReadings) walk(from int, yield func(*event.PageReading) bool) {
	var now *event.PageReading // nil: not known
	next := uint64(0)          // number of the reading after it
	for i := max(from, 0); i < len(p.blocks); i++ {
		b := &p.blocks[i]
		if b.head.continues != 0 && (now == nil || b.head.first != next) {
			now = nil
			p.file.damaged("the block of %s at offset %d: what it differs from is missing", b.typ, b.offset)
			continue
		}
		if b.head.continues == 0 {
			now = &event.PageReading{}
		}
		list, err := p.decode(b)
		for k := 0; k < len(list) && err == nil; k++ {
			c := &list[k]
			was := now
			now = &event.PageReading{Time: c.time, Took: c.took, PageSize: b.head.size,
				Areas:    event.ToggleAreas(was.Areas, c.areas),
				Resident: event.TogglePages(was.Resident, c.pages)}
			switch {
			case len(now.Areas) > MaxPageRanges || len(now.Resident) > MaxPageRanges:
				err = errors.New("it has more areas or pages than any recording")
			case c.time < was.Time || !possible(now):
				err = errPages
			case !yield(now):
				return
			}
		}
		if err != nil {
			now = nil
			p.file.damaged("the block of %s at offset %d: %v", b.typ, b.offset, err)
		}
		next = b.head.first + b.count
	}
}

// possible reports whether the areas of a reading are disjoint, though those that differ between two readings may
// overlap, and whether all pages are whole and lie within areas.
func possible(p *event.PageReading) bool {
	areas := p.Areas
	for i := 1; i < len(areas); i++ {
		if areas[i].Start < areas[i-1].End {
			return false
		}
	}
	for _, r := range p.Resident {
		if (r.Start|r.End)%p.PageSize != 0 {
			return false
		}
		for at := r.Start; at < r.End; at = areas[0].End { // a run may go on in the next area
			for len(areas) > 0 && areas[0].End <= at {
				areas = areas[1:]
			}
			if len(areas) == 0 || areas[0].Start > at {
				return false
			}
		}
	}
	return true
}

// decode returns what a block's readings differ in.
func (p *PageReadings) decode(b *pageBlock) ([]pageChange, error) {
	payload, err := p.file.payload(b.header, nil)
	if err != nil {
		return nil, err
	}
	var s column.Set
	if err := s.Parse(payload); err != nil {
		return nil, err
	}
	// A range takes two bytes, and 16 in memory.
	if s.Size() > p.file.room() || s.Raw(3)+s.Raw(4) > 20*2*maxPageRoom {
		return nil, errors.New("it would unpack to more than any recording of this size holds")
	}
	var h pageHead
	list, err := pageTable.Decode(&s, nil, h.fields()...)
	ranges := 0
	for i := range list {
		ranges += list[i].ranges()
	}
	switch {
	case err != nil:
		return nil, err
	case uint64(len(list)) != b.count || int64(b.head.begin) != list[0].time || b.lastTime() != list[len(list)-1].time:
		return nil, fmt.Errorf("it has %d readings, which are not those that its head says", len(list))
	case ranges > maxPageRoom:
		return nil, errors.New("it has more areas or pages than any block")
	}
	return list, nil
}
