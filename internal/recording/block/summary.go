package block

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/recording/column"
)

// SummaryHead is the head of a summary block, which sums up a run of events blocks.
type SummaryHead struct {
	Level      uint64 // it sums up Fan^Level events blocks
	FirstBlock uint64 // number of the first of them, counting events blocks from 0
	Blocks     uint64
	Changes    uint64 // stacks that changed
	FirstEvent uint64
	Events     uint64
	Begin, End uint64 // in units of time
	Live       int64  // before it
	LiveCount  int64
	Peak       int64 // largest number of live bytes within it, or before it
}

const (
	// Fan is how many events blocks a summary of level 1 sums up, or how many summaries of one level one of the next.
	Fan = 16
	// Levels is how many levels of summaries there are: 16^6 blocks are 4e12 events.
	Levels = 6
)

// Fields lists the fields of a head, which is in its block and in the index.
func (h *SummaryHead) Fields(r *column.Row, col column.ID) {
	for _, v := range [...]*uint64{&h.Level, &h.FirstBlock, &h.Blocks, &h.Changes, &h.FirstEvent, &h.Events, &h.Begin} {
		r.Uint(col, v)
	}
	r.Offset(col, &h.End, h.Begin)
	for _, v := range [...]*int64{&h.Live, &h.LiveCount, &h.Peak} {
		r.Int(col, v)
	}
}

func (h *SummaryHead) Valid() bool {
	return h.Level > 0 && h.Level <= Levels && h.Blocks > 0 && h.Blocks <= 1<<(4*h.Level) && h.End >= h.Begin &&
		h.FirstEvent <= math.MaxUint64-h.Events
}

// SummaryColumnNames are the names of the columns of a summary block.
var SummaryColumnNames = map[column.ID]string{
	colChangeStacks: "stacks", colChangeAllocs: "allocations", colChangeFrees: "deallocations", colChangeBytes: "bytes",
	colChangeFreed: "freed bytes", colChangeTop: "tops", colChangeTemp: "temporary",
}

// SummaryEncoder encodes summary blocks.
type SummaryEncoder struct{ cols changeColumns }

// Encode makes p the payload of a summary block. It sorts the list by stack.
func (x *SummaryEncoder) Encode(p *column.Payload, h *SummaryHead, list []Change) {
	c := &x.cols
	slices.SortFunc(list, func(a, b Change) int { return cmp.Compare(a.Stack, b.Stack) })
	c.reset()
	for i := range list {
		d := &list[i]
		c.stacks = binary.AppendUvarint(c.stacks, column.Zigzag(int64(d.Stack)-int64(c.last)))
		c.last = d.Stack
		c.add(d.Allocs, d.Frees, d.Bytes, d.FreedBytes, d.Top, d.Temporary)
	}
	p.Reset()
	p.Fields(h.Fields)
	p.Column(colChangeStacks, c.stacks)
	c.write(p)
}

// DecodeSummary returns the changes in a summary's payload, if its head is the expected one. Its columns may unpack to
// at most room bytes, and its stacks must be known.
func DecodeSummary(payload []byte, want *SummaryHead, room int64, known func(stack uint32) bool) ([]Change, error) {
	var s column.Set
	if err := s.Parse(payload); err != nil {
		return nil, err
	}
	var h SummaryHead
	s.Head.Fields(h.Fields)
	if s.Head.Bad || h != *want {
		return nil, errChanges
	}
	ids, err := s.Unpack(colChangeStacks, nil)
	if err != nil {
		return nil, err
	}
	c := column.Cursor{Data: ids}
	last := int64(-1)
	list, err := decodeChanges(&s, h.Changes, room, func(int) uint32 {
		id := max(last, 0) + c.Int()
		if id <= last || id > math.MaxUint32 || !known(uint32(id)) {
			c.Bad = true
			return 0
		}
		last = id
		return uint32(id)
	})
	if err == nil && c.Bad {
		err = errChanges
	}
	return list, err
}
