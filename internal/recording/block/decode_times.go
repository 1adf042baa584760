package block

import (
	"math"
	"sort"

	"github.com/heaptap/heaptap/internal/recording/column"
)

// Moments are when the events of a block were, in units since the block began.
type Moments struct {
	short []uint32 // if they fit
	long  []uint64 // else
}

// Size returns how many bytes of memory the times take.
func (t *Moments) Size() int64 { return 4*int64(cap(t.short)) + 8*int64(cap(t.long)) }

// At returns the time of event n.
func (t *Moments) At(n int) uint64 {
	if t.long != nil {
		return t.long[n]
	}
	return uint64(t.short[n])
}

// UpTo returns how many events are not later than a time.
func (t *Moments) UpTo(time uint64) int {
	return sort.Search(len(t.short)+len(t.long), func(n int) bool { return t.At(n) > time })
}

// Moments returns the times of the block that was opened last. It unpacks only the columns that it needs.
func (x *Decoder) Moments() (*Moments, error) {
	err := x.threadTable(func(id column.ID) bool { return id == colClass || id == colLongRun })
	if err != nil {
		return nil, err
	}
	if err := x.clock(); err != nil {
		return nil, err
	}
	t := &Moments{}
	if h := &x.Head; h.End-h.Begin > math.MaxUint32 {
		t.long = make([]uint64, h.Events)
	} else {
		t.short = make([]uint32, h.Events)
	}
	_, err = x.eachRun(func(c *threadCursors, events uint64) (more, ok bool) {
		for last := x.number + events; x.number < last; {
			if c.allocs|c.others == 0 && !c.turn() {
				return true, false
			}
			for class, left := range [...]*uint64{classAlloc: &c.allocs, classFree: &c.others} {
				n := min(last-x.number, *left)
				*left -= n
				ok := false
				if end := x.number + n; t.long != nil {
					ok = tick(x, &x.times[class], t.long[x.number:end])
				} else {
					ok = tick(x, &x.times[class], t.short[x.number:end])
				}
				if !ok {
					return true, false
				}
				x.number += n
			}
		}
		return true, true
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// tick reads the times of the next events, which are of one class. It reports whether they are valid.
func tick[T uint32 | uint64](x *Decoder, times *column.NibbleReader, to []T) bool {
	h, now, end := *times, x.now-x.Head.Begin, x.Head.End-x.Head.Begin
	for i := range to {
		d := h.Next()
		if d >= column.MaxNibble && !x.longTime(&d) || d > end-now {
			return false
		}
		now += d
		to[i] = T(now)
	}
	*times, x.now = h, now+x.Head.Begin
	return true
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
