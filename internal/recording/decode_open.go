package recording

import (
	"errors"
	"fmt"
	"math"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// freeThreads is how many threads a block may name that are not in the recording's table: their block may be damaged.
const freeThreads = 1 << 16

// open prepares a block; decode then yields its events.
func (x *eventDecoder) open(p []byte) error {
	if err := x.cols.Parse(p); err != nil {
		return err
	}
	h := &x.head
	x.cols.Head.Fields(h.fields)
	if x.cols.Head.Bad || h.events == 0 || h.events > 4*BlockEvents || h.allocs > h.events ||
		h.threads > min(h.events, max(freeThreads, uint64(x.threadCount))) ||
		h.stacks > 2*h.events || h.shapes > maxShapes+1 || h.end < h.begin || h.end > x.maxTime {
		return errors.New("its head is invalid")
	}
	if h.flags&^(headAddresses|headChanges) != 0 {
		return fmt.Errorf("it uses features that this heaptap does not know (flags %#x); update heaptap", h.flags)
	}
	return nil
}

func (x *eventDecoder) column(id column.ID) (column.Cursor, error) {
	b, err := x.cols.UnpackInto(id, &x.bufs[id])
	return column.Cursor{Data: b}, err
}

func (x *eventDecoder) dictionaries() error {
	h := &x.head
	c, err := x.column(colStacks)
	if err != nil {
		return err
	}
	x.stacks = x.stacks[:0]
	last := int64(0)
	for range h.stacks {
		last += c.Int()
		if c.Bad || last < 0 || last > math.MaxUint32 {
			return errors.New("its list of stacks is invalid")
		}
		id := uint32(last)
		if x.known != nil && !x.known(id) {
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
		if c.Bad || k >= uint8(event.KindCount) || f >= 1<<funcBits || fl >= 1<<flagBits {
			return errors.New("its list of kinds of events is invalid")
		}
		s := &x.shapes[i+1] // they count from 1
		*s = shapeAt{class: classOf[k], kind: event.Kind(k), fn: event.Func(f), flags: event.Flags(fl), counted: counted[f]}
		x.sampled = x.sampled || event.Flags(fl)&event.Sampled != 0
	}
	return nil
}
