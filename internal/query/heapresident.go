package query

import "github.com/heaptap/heaptap/internal/event"

// resident says of each picture which pages are in memory, if that was recorded: those of the latest reading until then
// or, if there is none, of the first one. While a process is idle, there is none.
func (f *film) resident() error {
	readings := f.Reader.PageReadings()
	list := f.out.Pictures
	if len(list) == 1 {
		p := &list[0]
		until, err := f.nextTime(f.to, p.Time)
		if err != nil {
			return err
		}
		if r := readings.During(p.Time, until); r != nil {
			f.hold(p, r)
		}
		return nil
	}
	next := 0
	var latest *event.PageReading
	readings.All(func(r *event.PageReading) bool {
		for ; latest != nil && next < len(list) && list[next].Time < r.Time; next++ {
			f.hold(&list[next], latest)
		}
		latest = r
		return next < len(list) && f.ctx.Err() == nil
	})
	for ; latest != nil && next < len(list); next++ {
		f.hold(&list[next], latest)
	}
	return f.ctx.Err()
}

// hold fills in what share of each cell's pages a reading has in memory, and what share it has not.
func (f *film) hold(p *HeapPicture, r *event.PageReading) {
	in, looked := f.pagesIn(r.Resident), f.pagesIn(r.Areas)
	p.Resident, p.Absent = make([]uint8, len(in)), make([]uint8, len(in))
	for cell, n := range in {
		// In whole numbers, so that all pages are 255.
		capacity := max(f.out.Capacity[cell], 1)
		p.Resident[cell] = uint8(min((255*PageSize*n+capacity-1)/capacity, 255))
		p.Absent[cell] = uint8(min(255*PageSize*(max(looked[cell], n)-n)/capacity, 255))
	}
}

// pagesIn counts each cell's pages that are in ranges of addresses, which ascend.
func (f *film) pagesIn(ranges []event.AddrRange) []uint64 {
	pages := make([]uint64, len(f.out.Capacity))
	runs := f.out.runs
	for _, in := range ranges {
		from, to := in.Start/PageSize, in.End/PageSize
		for len(runs) > 0 && runs[0].To <= from {
			runs = runs[1:]
		}
		for k := 0; k < len(runs) && runs[k].From < to; k++ {
			run := runs[k]
			for page, end := max(from, run.From), min(to, run.To); page < end; {
				next := min(run.next(page), end)
				pages[run.cell(page)] += next - page
				page = next
			}
		}
	}
	return pages
}
