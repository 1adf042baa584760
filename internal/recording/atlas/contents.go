package atlas

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// maxContents bounds the contents of a file. An entry takes 6 bytes at least there, and 12 in memory.
const maxContents = 96 << 20

var errContents = errors.New("its contents are invalid")

// packer appends moments to the contents of a file.
type packer struct {
	out    []byte
	latest Moment
}

// add appends a moment, and the changes since the one before. It sorts these. A stack at which nothing was allocated or
// freed is left out.
func (p *packer) add(m Moment, list []recording.Change) {
	for _, v := range [...]uint64{m.Cut - p.latest.Cut, uint64(m.Time - p.latest.Time), uint64(m.Last - p.latest.Last),
		m.Live, m.Top - m.Live} {
		p.out = binary.AppendUvarint(p.out, v)
	}
	end := byte(0)
	if m.End {
		end = 1
	}
	p.out = append(p.out, end)
	p.latest = m
	list = slices.DeleteFunc(list, func(c recording.Change) bool { return c.Allocs|c.Frees == 0 })
	slices.SortFunc(list, func(a, b recording.Change) int { return int(int64(a.Stack) - int64(b.Stack)) })
	p.out = binary.AppendUvarint(p.out, uint64(len(list)))
	last := uint32(0)
	for i := range list {
		c := &list[i]
		for _, v := range [...]uint64{uint64(c.Stack - last), c.Allocs, c.Bytes, c.Frees, c.FreedBytes, c.Temporary} {
			p.out = column.AppendUint(p.out, v)
		}
		last = c.Stack
	}
}

// contents are what a file holds, by stack.
type contents struct {
	raw     []byte
	moments []Moment
	stacks  []uint32 // in the order in which they appear
	index   []int32  // of each id: its place in stacks plus 1
	total   []Sums   // of each stack
	entries []uint32 // of each stack: how many there are
}

// readContents checks contents, and counts what each stack has.
func readContents(raw []byte, nodes *recording.Table[event.Node]) (*contents, error) {
	c := &contents{raw: raw}
	most := int64(max(1<<22, recording.MaxGap*nodes.Len()+4096)) // a recording.Reader has no larger ids
	ok := true
	d := column.Cursor{Data: raw}
	var m Moment
	for d.Left() > 0 && ok && !d.Bad {
		before := m
		m = readMoment(&d, m)
		ok = m.Cut >= before.Cut && m.Cut <= math.MaxInt64 && m.Time >= before.Time && m.Last >= before.Last &&
			m.Top >= m.Live && len(c.moments) <= 2*MaxSteps
		c.moments = append(c.moments, m)
		last := int64(-1)
		for n := d.Uint(); n > 0 && ok && !d.Bad; n-- {
			id := max(last, 0) + int64(d.Uint32())
			if ok = id > last && id < most; ok {
				c.count(uint32(id), &d)
			}
			last = id
		}
	}
	if !ok || d.Bad || len(c.moments) == 0 || !c.moments[0].End || !c.moments[len(c.moments)-1].End {
		return nil, errContents
	}
	return c, nil
}

func readMoment(d *column.Cursor, before Moment) Moment {
	m := Moment{Cut: before.Cut + d.Uint(), Time: before.Time + int64(d.Uint()), Last: before.Last + int64(d.Uint()),
		Live: d.Uint()}
	m.Top, m.End = m.Live+d.Uint(), d.Byte() != 0
	return m
}

// count counts an entry of a stack.
func (c *contents) count(id uint32, d *column.Cursor) {
	if int(id) >= len(c.index) {
		c.index = append(c.index, make([]int32, max(int(id)+1-len(c.index), len(c.index)))...)
	}
	if c.index[id] == 0 {
		c.stacks = append(c.stacks, id)
		c.total, c.entries = append(c.total, Sums{}), append(c.entries, 0)
		c.index[id] = int32(len(c.stacks))
	}
	i := c.index[id] - 1
	c.entries[i]++
	for k := range columns {
		c.total[i][k] += d.Uint()
	}
}

// place is where a stack's next entry goes.
type place struct {
	width int    // of the numbers of its table
	next  uint32 // entry of the table
	began bool   // there is an entry before
}

// size is how much memory the entries will take.
func (c *contents) size() (n int64) {
	for i := range c.total {
		n += int64(c.entries[i]) * entryBytes(widthOf(c.total[i].largest()))
	}
	return n
}

// largest returns the largest one. Running sums never fall: those of all events are the largest.
func (s *Sums) largest() uint64 { return slices.Max(s[:]) }

// fill fills the tables of an atlas, whose stacks are in order already.
func (c *contents) fill(a *Atlas) {
	places := make([]place, len(c.stacks))
	for rank, id := range a.stacks {
		i := c.index[id] - 1
		p := place{width: widthOf(c.total[i].largest())}
		switch p.width {
		case 2:
			p.next = a.small.begin(uint32(rank), c.entries[i])
		case 4:
			p.next = a.medium.begin(uint32(rank), c.entries[i])
		default:
			p.next = a.large.begin(uint32(rank), c.entries[i])
		}
		places[i] = p
	}
	a.small.make()
	a.medium.make()
	a.large.make()
	d := column.Cursor{Data: c.raw}
	var row Sums
	for m := range c.moments {
		readMoment(&d, Moment{})
		id := uint32(0)
		for n := d.Uint(); n > 0; n-- {
			id += d.Uint32()
			for k := range columns {
				row[k] = d.Uint()
			}
			p := &places[c.index[id]-1]
			switch p.width {
			case 2:
				a.small.put(p, uint16(m), &row)
			case 4:
				a.medium.put(p, uint16(m), &row)
			default:
				a.large.put(p, uint16(m), &row)
			}
		}
	}
}
