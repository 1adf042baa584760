package query

import (
	"math"

	"github.com/heaptap/heaptap/internal/event"
)

// resident says of each picture which pages are in memory, if that was recorded: those of the latest reading until then
// or, if there is none, of the first one. While a process is idle, there is none.
func (f *film) resident() error {
	readings := f.Reader.PageReadings()
	list := f.out.Pictures
	if len(list) == 1 {
		p := &list[0]
		until := max(p.Time, f.Profile.Duration)
		if f.to < f.last {
			next, err := f.Reader.TimeAt(f.to + 1)
			if err != nil {
				return err
			}
			until = max(p.Time, next)
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

// hold fills in what share of each cell's pages a reading has in memory.
func (f *film) hold(p *HeapPicture, r *event.PageReading) {
	p.Resident = make([]uint8, len(f.out.Capacity))
	pages := make([]uint64, len(f.out.Capacity))
	runs := f.out.runs
	for _, in := range r.Resident {
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
	for cell, n := range pages {
		if n > 0 {
			share := float64(n*PageSize) / float64(max(f.out.Capacity[cell], 1))
			p.Resident[cell] = uint8(min(math.Ceil(255*share), 255))
		}
	}
}
