package block

import (
	"errors"
	"fmt"
	"math"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// freeThreads is how many threads a block may name that are not in the recording's table, which may be damaged.
const freeThreads = 1 << 16

// Changes returns the changes that the block that was opened last has stored. Their columns may unpack to room bytes.
func (x *Decoder) Changes(room int64) ([]Change, error) {
	if err := x.dictionaries(); err != nil {
		return nil, err
	}
	return decodeChanges(&x.cols, x.Head.Stacks, room, func(i int) uint32 { return x.stacks[i].id })
}

// Open opens the block with this payload; Decode then yields its events.
func (x *Decoder) Open(p []byte) error {
	if err := x.cols.Parse(p); err != nil {
		return err
	}
	h := &x.Head
	x.cols.Head.Fields(h.Fields)
	if x.cols.Head.Bad || h.Events == 0 || h.Events > 4*MaxEvents || h.Allocs > h.Events ||
		h.Threads > min(h.Events, max(freeThreads, uint64(x.ThreadCount))) ||
		h.Stacks > 2*h.Events || h.shapes > maxShapes+1 || h.End < h.Begin || h.End > x.MaxTime {
		return errors.New("its head is invalid")
	}
	if h.flags&^(headAddresses|headChanges) != 0 {
		return fmt.Errorf("it uses features that this heaptap does not know (flags %#x); update heaptap", h.flags)
	}
	return nil
}

func (x *Decoder) column(id column.ID) (column.Cursor, error) {
	b, err := x.cols.UnpackInto(id, &x.bufs[id])
	return column.Cursor{Data: b}, err
}

func (x *Decoder) dictionaries() error {
	h := &x.Head
	c, err := x.column(colStacks)
	if err != nil {
		return err
	}
	x.stacks = x.stacks[:0]
	last := int64(0)
	for range h.Stacks {
		last += c.Int()
		if c.Bad || last < 0 || last > math.MaxUint32 {
			return errors.New("its list of stacks is invalid")
		}
		id := uint32(last)
		if x.Known != nil && !x.Known(id) {
			id = 0
		}
		x.stacks = append(x.stacks, stackAt{id: id, shape: shapeAt{class: newClass}})
	}
	if c, err = x.column(colShapes); err != nil {
		return err
	}
	for i := range x.shapes {
		x.shapes[i].class = noClass
	}
	x.sampled = false
	for i := range h.shapes {
		k, f, fl := c.Byte(), c.Byte(), c.Byte()
		if c.Bad || k >= uint8(event.KindCount) || f >= 1<<FuncBits || fl >= 1<<FlagBits {
			return errors.New("its list of kinds of events is invalid")
		}
		s := &x.shapes[i+1] // they count from 1
		*s = shapeAt{class: classOf[k], kind: event.Kind(k), fn: event.Func(f), flags: event.Flags(fl),
			counted: counted[f]}
		x.sampled = x.sampled || event.Flags(fl)&event.Sampled != 0
	}
	return nil
}
