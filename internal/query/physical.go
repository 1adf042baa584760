package query

import (
	"math"
	"sort"

	"github.com/heaptap/heaptap/internal/event"
)

// Physical says how densely live blocks fill the pages that were in memory when the recorder looked. Mappings count
// only if blocks are in them, or once were: those of the allocator.
type Physical struct {
	Time     int64     // of the reading, ns: the latest one before the next event, or the one nearest to the moment
	Exact    bool      // the blocks that were live at the moment were live when the pages were read
	Pages    Occupancy // of all pages in memory there, also those without a live block
	Empty    uint64    // pages in memory without a live block
	Absent   uint64    // bytes of live blocks on pages that are not in memory
	Unknown  uint64    // bytes of live blocks at which nobody looked
	Readings uint64    // of the whole run
	Period   int64     // mean time between two of them, ns; 0: there is one
	Cost     int64     // mean time of a processor that one took, ns
}

// physical measures the pages in memory, if they were recorded. The blocks are sorted by address.
func (c *compactness) physical() error {
	readings := c.Reader.PageReadings()
	until, err := c.nextTime(c.At, c.out.AtTime)
	if err != nil {
		return err
	}
	r := readings.During(c.out.AtTime, until)
	if r == nil {
		return nil
	}
	sum := readings.Summary()
	p := &Physical{Time: r.Time, Exact: c.out.AtTime <= r.Time && r.Time <= until,
		Pages: Occupancy{Size: r.PageSize}, Readings: sum.Readings, Cost: sum.Took / int64(sum.Readings)}
	if sum.Readings > 1 {
		p.Period = (sum.Last - sum.First) / int64(sum.Readings-1)
	}
	c.out.Physical = p
	runs := c.pages.runs()
	live := c.live
	looked := uint64(0)
	for _, area := range r.Areas {
		for len(live) > 0 && live[0].end() <= area.Start {
			live = live[1:]
		}
		bytes, blocks := uint64(0), live
		for len(blocks) > 0 && blocks[0].addr < area.End {
			bytes += min(blocks[0].end(), area.End) - max(blocks[0].addr, area.Start)
			blocks = blocks[1:]
		}
		looked += bytes
		for len(runs) > 0 && runs[0].to <= area.Start {
			runs = runs[1:]
		}
		if once := len(runs) > 0 && runs[0].from < area.End; once || bytes > 0 {
			p.area(area, r.Resident, live)
		}
	}
	p.Absent = looked - min(p.Pages.Bytes, looked)
	for i := range c.live {
		p.Unknown += c.live[i].size
	}
	p.Unknown -= looked
	c.stepsInMemory()
	return c.ctx.Err()
}

// stepsInMemory says of each step how many of the allocator's pages were in memory. At the last one, that is what
// Physical says.
func (c *compactness) stepsInMemory() {
	if len(c.out.Steps) == 0 {
		return
	}
	last := len(c.out.Steps) - 1
	list, next := c.out.Steps[:last], 0
	runs := c.pages.runs()
	var latest *event.PageReading
	until := func(time int64) {
		for ; next < len(list) && list[next].Time < time; next++ {
			if latest != nil {
				n := c.inMemory(latest, runs)
				list[next].InMemory = &n
			}
		}
	}
	c.Reader.PageReadings().All(func(r *event.PageReading) bool {
		until(r.Time)
		latest = r
		return next < len(list) && c.ctx.Err() == nil
	})
	until(math.MaxInt64)
	c.out.Steps[last].InMemory = &c.out.Physical.Pages.InUse
}

// inMemory counts the pages in memory of areas in which blocks are at the cut, or once were.
func (c *compactness) inMemory(r *event.PageReading, runs []addressRun) (pages uint64) {
	live, in := c.live, r.Resident
	for _, area := range r.Areas {
		for len(live) > 0 && live[0].end() <= area.Start {
			live = live[1:]
		}
		for len(runs) > 0 && runs[0].to <= area.Start {
			runs = runs[1:]
		}
		for len(in) > 0 && in[0].End <= area.Start {
			in = in[1:]
		}
		if (len(live) == 0 || live[0].addr >= area.End) && (len(runs) == 0 || runs[0].from >= area.End) {
			continue
		}
		for k := 0; k < len(in) && in[k].Start < area.End; k++ {
			pages += (min(in[k].End, area.End) - max(in[k].Start, area.Start)) / r.PageSize
		}
	}
	return pages
}

// nextTime returns when the event after a cut is, not before the cut's own time; the end of the recording if there is
// none.
func (a *ask) nextTime(cut uint64, at int64) (int64, error) {
	if cut >= a.last {
		return max(at, a.Profile.Duration), nil
	}
	t, err := a.Reader.TimeAt(cut + 1)
	return max(at, t), err
}

// area counts the pages of an area that are in memory, given the live blocks from its start on.
func (p *Physical) area(area event.AddrRange, resident []event.AddrRange, live []placed) {
	size := p.Pages.Size
	i := sort.Search(len(resident), func(i int) bool { return resident[i].End > area.Start })
	for ; i < len(resident) && resident[i].Start < area.End; i++ {
		at, end := max(resident[i].Start, area.Start), min(resident[i].End, area.End)
		for at < end {
			for len(live) > 0 && live[0].end() <= at {
				live = live[1:]
			}
			next := end // where the first block is on a page
			if len(live) > 0 {
				next = min(end, live[0].addr/size*size)
			}
			switch {
			case next > at: // none is
				p.Empty += (next - at) / size
				p.Pages.count(0, (next-at)/size)
				at = next
			case live[0].addr <= at && live[0].end()-at >= size: // it fills pages
				n := (min(live[0].end(), end) - at) / size
				p.Pages.count(size, n)
				at += n * size
			default:
				sum := uint64(0)
				for k := 0; k < len(live) && live[k].addr < at+size; k++ {
					sum += min(live[k].end(), at+size) - max(live[k].addr, at)
				}
				p.Pages.count(sum, 1)
				at += size
			}
		}
	}
}
