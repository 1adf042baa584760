package block

import (
	"math"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// Level is how much is live at a cut within a block, and what happened before it in the block.
type Level struct {
	Number      uint64 // events of the block before the cut
	Time, Next  uint64 // of the events before and after the cut, in units; at an end of the block both are the same
	Live        int64  // bytes, beyond Head.Live
	Most, Least int64  // of Live since the Level before, which is included
	Allocs      uint64 // since the block's beginning, as are the others
	Bytes       uint64
	Frees       uint64
}

// Stops says where Levels wants the next Level: before the first event with this number in the block, or with a later
// time than this.
type Stops func(*Level) (number, time uint64)

// levelColumns are the columns that Levels reads, among those that have a part for each thread.
var levelColumns = [256]bool{colClass: true, colLongRun: true, colStack0: true, colStack1: true, colStack2: true,
	colSize: true, colShape: true, colFreeShape: true, colRef: true, colFarRef: true, colFar0: true, colFar1: true,
	colFar2: true, colFarSize: true}

// Levels passes the levels of the block that was opened last to at: one at its beginning, one at each stop that at then
// returns, and one at its end. It reads only what sizes and times need, which takes two thirds of the time of Decode.
func (x *Decoder) Levels(at Stops) error {
	if err := x.dictionaries(); err != nil {
		return err
	}
	l := &leveler{Decoder: x, at: at, level: Level{Time: x.Head.Begin, Next: x.Head.Begin}}
	l.stop()
	err := x.levels(l)
	if err != nil {
		return err
	}
	l.level.Time, l.level.Next = x.Head.End, x.Head.End
	l.stop()
	return nil
}

func (x *Decoder) levels(l *leveler) (err error) {
	if x.sampled {
		return x.weighedLevels(l)
	}
	if err := x.threadTable(func(id column.ID) bool { return levelColumns[id] }); err != nil {
		return err
	}
	if err := x.clock(); err != nil {
		return err
	}
	if x.sparse, err = x.column(colSparse); err != nil {
		return err
	}
	x.nextSparse, x.newShape = math.MaxUint64, x.shapes[0]
	if x.sparse.Left() > 0 {
		x.nextSparse = x.sparse.Uint()
	}
	// Each allocation has a byte in this column: a forged head cannot claim more room.
	room := min(x.Head.Allocs, x.cols.Raw(colStack0))
	if x.sizes = x.sizes[:0]; uint64(cap(x.sizes)) < room {
		x.sizes = make([]uint64, 0, room)
	}
	_, err = x.eachRun(func(t *threadCursors, events uint64) (more, ok bool) { return true, l.run(t, events) })
	return err
}

// weighedLevels are the levels of a block with samples, which stand for more than themselves.
func (x *Decoder) weighedLevels(l *leveler) error {
	x.Wanted = Times | Sizes
	_, err := x.Decode(func(b *Batch) bool {
		for i := range b.Events {
			l.add(&b.Events[i], uint64(b.Events[i].Time/x.Quantum))
		}
		return true
	})
	return err
}

// leveler follows the level through a block.
type leveler struct {
	*Decoder
	at     Stops
	level  Level
	number uint64 // where the next stop is
	time   uint64
	others uint64 // events so far that neither allocate nor free
}

// stop passes on the level, and begins the next one.
func (l *leveler) stop() {
	l.number, l.time = l.at(&l.level)
	l.level.Most, l.level.Least = l.level.Live, l.level.Live
}

// add follows the level over an event, whose time in units is given.
func (l *leveler) add(e *event.Event, units uint64) {
	v := &l.level
	if v.Number > 0 && (v.Number >= l.number || units > l.time) {
		v.Next = units
		l.stop()
	}
	v.Number++
	v.Time = units
	switch n, bytes := e.Weight(); e.Kind {
	case event.Alloc:
		v.Allocs += n
		v.Bytes += bytes
		v.Live += int64(bytes)
	case event.Free:
		v.Frees += n
		v.Live -= int64(bytes)
	}
	v.Most, v.Least = max(v.Most, v.Live), min(v.Least, v.Live)
}

// sums are the sums of a Level while a run of events is followed.
type sums struct {
	number, bytes, others uint64
	live, most, least     int64
}

// stopBefore passes on the level before an event at time next, if there is one before it.
func (l *leveler) stopBefore(v sums, last, next uint64) sums {
	if v.number > 0 {
		l.keep(v, last)
		l.level.Next = next
		l.stop()
		v.most, v.least = v.live, v.live
	}
	return v
}

// keep keeps sums, of which the latest event was at time last.
func (l *leveler) keep(v sums, last uint64) {
	allocs := uint64(len(l.sizes))
	l.others = v.others
	l.level.Number, l.level.Time, l.level.Live, l.level.Most, l.level.Least = v.number, last, v.live, v.most, v.least
	l.level.Allocs, l.level.Bytes, l.level.Frees = allocs, v.bytes, v.number-allocs-v.others
}

// run follows the next events, which are all of one thread. It does what fill does, for sizes and times only.
func (l *leveler) run(t *threadCursors, events uint64) (ok bool) {
	x, c := l.Decoder, &t.cols
	stack0, stack1 := c[colStack0-perThread].Data, c[colStack1-perThread].Data
	stack0 = stack0[:min(len(stack0), len(stack1))]
	stack1 = stack1[:len(stack0)]
	sizes, refs := c[colSize-perThread].Data, c[colRef-perThread].Data
	at, sizeAt, refAt := c[colStack0-perThread].At, c[colSize-perThread].At, c[colRef-perThread].At
	third := c[colStack2-perThread].Left() > 0
	allocTimes, freeTimes := x.times[classAlloc], x.times[classFree]
	stacks, news, now := x.stacks, x.sizes, x.now
	firstAlloc, end := x.Head.FirstAlloc, x.Head.End
	v := sums{l.level.Number, l.level.Bytes, l.others, l.level.Live, l.level.Most, l.level.Least}
	for last := v.number + events; v.number < last; {
		if t.allocs|t.others == 0 && !t.turn() {
			return false
		}
		stop := v.number + min(last-v.number, t.allocs)
		t.allocs -= stop - v.number
		for ; v.number < stop; v.number++ {
			d := allocTimes.Next()
			if d >= column.MaxNibble && !x.longTime(&d) || d > end-now {
				return false
			}
			if now += d; v.number >= l.number || now > l.time {
				x.sizes = news
				v = l.stopBefore(v, now-d, now)
			}
			if uint(at) >= uint(len(stack0)) {
				return false
			}
			local := uint32(stack0[at]) | uint32(stack1[at])<<8
			at++
			if third {
				local |= uint32(c[colStack2-perThread].Lazy()) << 16
			}
			if uint(local) >= uint(len(stacks)) {
				return false
			}
			s := &stacks[local]
			var token uint64
			if w := column.TwoBytes(sizes, sizeAt); w&0x8080 != 0x8080 {
				more := w >> 7 & 1
				sizeAt += 1 + int(more)
				token = w&0x7f | w>>1&0x3f80&-more
			} else {
				long := column.Cursor{Data: sizes, At: sizeAt}
				if token = long.UintSlow(); long.Bad {
					return false
				}
				sizeAt = long.At
			}
			size := s.size
			// token - 1 if there is one, without a branch
			size ^= (size ^ (token - 1)) & uint64(int64(token|-token)>>63)
			s.size = size
			if t.shapes.Zeros > 0 {
				t.shapes.Zeros--
			} else if shape := t.shapes.Value(&c[colShape-perThread]); shape != 0 {
				s.shape, x.newShape = x.shapes[shape], x.shapes[shape]
			}
			if s.shape.class != classAlloc && !x.appear(s) {
				return false
			}
			if v.number == x.nextSparse && !x.rareSize(v.number, &size) {
				return false
			}
			if s.shape.kind != event.Alloc {
				v.others++
				continue
			}
			n := len(news)
			if n == cap(news) || uint64(n) == x.Head.Allocs {
				return false
			}
			news = news[:n+1]
			news[n] = size
			v.bytes += size
			v.live += int64(size)
			v.most, v.least = max(v.most, v.live), min(v.least, v.live) // impossible sizes overflow
		}
		stop = v.number + min(last-v.number, t.others)
		t.others -= stop - v.number
		for ; v.number < stop; v.number++ {
			d := freeTimes.Next()
			if d >= column.MaxNibble && !x.longTime(&d) || d > end-now {
				return false
			}
			if now += d; v.number >= l.number || now > l.time {
				x.sizes = news
				v = l.stopBefore(v, now-d, now)
			}
			if t.frees.Zeros > 0 {
				t.frees.Zeros--
			} else if shape := t.frees.Value(&c[colFreeShape-perThread]); shape != 0 {
				t.shape = x.shapes[shape]
			}
			size := uint64(0)
			switch t.shape.class {
			case classFree:
				if uint(refAt) >= uint(len(refs)) {
					return false
				}
				back := refs[refAt]
				refAt++
				ref := firstAlloc + uint64(len(news)) - 1 - uint64(back)
				if back >= farRef {
					f := &c[colFarRef-perThread]
					t.lastRef += uint64(f.Int())
					if ref = t.lastRef; f.Bad {
						return false
					}
				}
				if i := ref - firstAlloc; i < uint64(len(news)) {
					size = news[i]
				} else if !x.farSize(t, &size) {
					return false
				}
			case classOther:
				v.others++
			default:
				return false
			}
			if v.number == x.nextSparse && !x.rareSize(v.number, &size) {
				return false
			}
			if t.shape.class == classFree {
				v.live -= int64(size)
				v.most, v.least = max(v.most, v.live), min(v.least, v.live)
			}
		}
	}
	c[colStack0-perThread].At, c[colSize-perThread].At, c[colRef-perThread].At = at, sizeAt, refAt
	x.sizes, x.now = news, now
	x.times[classAlloc].At, x.times[classFree].At = allocTimes.At, freeTimes.At
	l.keep(v, now)
	return true
}

// farSize reads the size of a block that was allocated in an earlier block of events.
func (x *Decoder) farSize(t *threadCursors, size *uint64) bool {
	s := x.stack(t, colFar0)
	if s == nil {
		return false
	}
	c := &t.cols[colFarSize-perThread]
	if token := c.Uint(); token != 0 {
		s.size = token - 1
	}
	*size = s.size
	return !c.Bad
}

// rareSize reads the rare fields of the event with that number, which may have its size.
func (x *Decoder) rareSize(number uint64, size *uint64) bool {
	e := event.Event{Kind: event.Fail, Size: *size}
	for number == x.nextSparse {
		if !x.rare(&e) {
			return false
		}
		x.nextSparse = math.MaxUint64
		if x.sparse.Left() > 0 {
			x.nextSparse = number + x.sparse.Uint()
		}
	}
	*size = e.Size
	return true
}
