package replay

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// Pages says of how much the recording tells which pages were in memory, in bytes of blocks that have a page of their
// own. Of all others, all pages are touched.
type Pages struct {
	Measured   uint64 `json:"measured_bytes"`
	Unmeasured uint64 `json:"unmeasured_bytes"` // they ended before anybody looked, or lay where nobody did
}

// pageRun are pages of a block, counting from that of its first byte.
type pageRun struct{ first, pages uint32 }

const (
	pageSize = 4096
	// Blocks of this size have a page of their own.
	pagedBlock = 2 * pageSize
	// maxPageRuns bounds the runs of a block. One with more is divided into so many parts, in each of which the right
	// number of pages is touched, from its beginning on.
	maxPageRuns = 500
)

// pagedLive is a live block of which it is to be known which pages are in memory.
type pagedLive struct {
	ref, addr, size uint64
	ended           bool
	measured        bool
	inMemory        uint64    // pages, in the reading in which most were
	runs            []pageRun // those, if they are not all
}

func (b *pagedLive) pages() uint64 { return (b.addr%pageSize + b.size + pageSize - 1) / pageSize }

// pageFinder follows live blocks from one reading to the next.
type pageFinder struct {
	p      *planner
	live   map[uint64]*pagedLive
	sorted []*pagedLive // by address
	fresh  []*pagedLive // that were allocated since
}

// findPages reads the events, and finds out which pages of each block were in memory when most of them were. Pages that
// a program touches later than when it allocates the block are touched early: what is in memory at the peak is the
// same, before it there may be more.
func (p *planner) findPages(ctx context.Context, from, to uint64) error {
	p.touched, p.plan.recorded = make(map[uint64][]pageRun), true
	f := &pageFinder{p: p, live: make(map[uint64]*pagedLive)}
	next, stop := iter.Pull(p.r.PageReadings().All)
	defer stop()
	reading, more := next()
	err := p.walk(ctx, from, to, func(_, ref uint64, e *event.Event) error {
		for ; more && reading.Time < e.Time; reading, more = next() {
			f.look(reading)
		}
		switch e.Kind {
		case event.Alloc:
			if e.Size >= pagedBlock && e.Size <= 1<<43 && e.Addr > 0 && e.Addr < 1<<57 {
				b := &pagedLive{ref: ref, addr: e.Addr, size: e.Size}
				f.live[ref], f.fresh = b, append(f.fresh, b)
			}
		case event.Free:
			f.end(e.Ref)
		}
		return nil
	})
	if _, last := p.r.Cuts(); to == last {
		for ; more; reading, more = next() {
			f.look(reading)
		}
	}
	for ref := range f.live {
		f.end(ref)
	}
	return err
}

// end notes what is known of a block that has ended.
func (f *pageFinder) end(ref uint64) {
	b := f.live[ref]
	if b == nil {
		return
	}
	delete(f.live, ref)
	b.ended = true
	switch {
	case !b.measured:
		f.p.plan.Pages.Unmeasured += b.size
		return
	case b.inMemory < b.pages():
		f.p.touched[ref] = b.runs
	}
	f.p.plan.Pages.Measured += b.size
	if len(f.fresh) > 2*len(f.live)+1024 {
		f.fresh = slices.DeleteFunc(f.fresh, func(b *pagedLive) bool { return b.ended })
	}
}

// look notes which pages of the live blocks are in memory.
func (f *pageFinder) look(r *event.PageReading) {
	f.sorted = slices.DeleteFunc(append(f.sorted, f.fresh...), func(b *pagedLive) bool { return b.ended })
	f.fresh = f.fresh[:0]
	slices.SortFunc(f.sorted, func(a, b *pagedLive) int { return cmp.Compare(a.addr, b.addr) })
	areas, resident := r.Areas, r.Resident
	end := uint64(0)
	for _, b := range f.sorted {
		if b.addr < end {
			continue // no two blocks overlap, except in forged recordings
		}
		end = b.addr + b.size
		for len(areas) > 0 && areas[0].End <= b.addr {
			areas = areas[1:]
		}
		for len(resident) > 0 && resident[0].End <= b.addr {
			resident = resident[1:]
		}
		if !covered(areas, b.addr, end) {
			continue
		}
		base := b.addr / pageSize
		var runs []pageRun
		inMemory := uint64(0)
		for _, run := range resident {
			if run.Start >= end {
				break
			}
			from := max(run.Start/pageSize, base)
			n := min((run.End+pageSize-1)/pageSize, (end+pageSize-1)/pageSize) - from
			runs = append(runs, pageRun{uint32(from - base), uint32(n)})
			inMemory += n
		}
		if !b.measured || inMemory > b.inMemory {
			b.measured, b.inMemory, b.runs = true, inMemory, fewer(runs, b.pages())
		}
	}
}

// covered reports whether areas, the first of which does not end before from, have all addresses up to another one.
func covered(areas []event.AddrRange, from, to uint64) bool {
	for _, a := range areas {
		if a.Start > from {
			return false
		}
		if from = a.End; from >= to {
			return true
		}
	}
	return false
}

// fewer returns runs of as many pages, at about the same places, but not more than maxPageRuns.
func fewer(runs []pageRun, pages uint64) []pageRun {
	if len(runs) <= maxPageRuns {
		return runs
	}
	part := (pages + maxPageRuns - 1) / maxPageRuns
	var out []pageRun
	for _, r := range runs {
		for r.pages > 0 {
			at := uint64(r.first) / part
			n := min(uint64(r.pages), (at+1)*part-uint64(r.first))
			if k := len(out); k > 0 && uint64(out[k-1].first) == at*part {
				out[k-1].pages += uint32(n)
			} else {
				out = append(out, pageRun{uint32(at * part), uint32(n)})
			}
			r.first, r.pages = r.first+uint32(n), r.pages-uint32(n)
		}
	}
	return out
}

// touch plans which pages of the block are touched that the next operation allocates.
func (p *planner) touch(s *stream, ref uint64) error {
	runs, known := p.touched[ref]
	if !known {
		return nil
	}
	words := make([]uint32, 0, 2*len(runs))
	for _, r := range runs {
		words = append(words, r.first, r.pages)
	}
	return p.file.add(s, opTouch, uint32(len(runs)), words...)
}

// HasPages reports whether a recording says which pages were in memory. The error says what to do if it does not.
func HasPages(r *recording.Reader) error {
	if r.PageReadings().Summary().Readings > 0 {
		return nil
	}
	return fmt.Errorf("%s does not say which pages were in memory: record with heaptap run --residency", r.Name())
}
