package block

import "github.com/heaptap/heaptap/internal/recording/column"

// EventTimes yields the number and the time, in units, of each event of the block that was opened last, until yield
// returns false. It unpacks only the columns that it needs.
func (x *Decoder) EventTimes(yield func(n, time uint64) bool) error {
	err := x.threadTable(func(id column.ID) bool { return id == colClass || id == colLongRun })
	if err != nil {
		return err
	}
	if err := x.clock(); err != nil {
		return err
	}
	_, err = x.eachRun(func(t *threadCursors, events uint64) (more, ok bool) {
		for last := x.number + events; x.number < last; {
			if t.allocs|t.others == 0 && !t.turn() {
				return true, false
			}
			for class, left := range [...]*uint64{classAlloc: &t.allocs, classFree: &t.others} {
				n := min(last-x.number, *left)
				*left -= n
				if more, ok := x.tick(&x.times[class], n, yield); !more || !ok {
					return more, ok
				}
			}
		}
		return true, true
	})
	return err
}

// tick yields the times of the next events, which are of one class.
func (x *Decoder) tick(times *column.NibbleReader, events uint64, yield func(n, time uint64) bool) (more, ok bool) {
	h, now, end := *times, x.now, x.Head.End
	for n := x.number; n < x.number+events; n++ {
		d := h.Next()
		if d >= column.MaxNibble && !x.longTime(&d) || d > end-now {
			return true, false
		}
		now += d
		if !yield(x.Head.FirstEvent+n, now) {
			return false, true
		}
	}
	*times, x.now, x.number = h, now, x.number+events
	return true, true
}

// clock prepares to read times from the first event on.
func (x *Decoder) clock() (err error) {
	for class, id := range [...]column.ID{classAlloc: colTimes, classFree: colFreeTimes} {
		c, err := x.column(id)
		if err != nil {
			return err
		}
		x.times[class] = column.NibbleReader{Data: c.Data}
	}
	x.now, x.number = x.Head.Begin, 0
	x.long, err = x.column(colLongTimes)
	return err
}

// longTime adds to a difference of times the rest, which half a byte could not hold.
func (x *Decoder) longTime(d *uint64) bool {
	if *d > column.MaxNibble {
		return false
	}
	*d += x.long.Uint()
	return !x.long.Bad
}
