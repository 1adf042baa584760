package block

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/grow"
	"github.com/heaptap/heaptap/internal/recording/column"
	"github.com/heaptap/heaptap/internal/tally"
)

// Change is what a run of events changed at one call stack. Deallocations count at the stack of the allocation that
// they end.
type Change struct {
	Stack      uint32
	Allocs     uint64
	Bytes      uint64 // requested by them
	Frees      uint64
	FreedBytes uint64
	Temporary  uint64 // how many of the deallocations end temporary allocations
	// Top is the largest value that Bytes minus FreedBytes had within the run, at least 0: the stack's own peak within
	// it is what was live before it plus Top.
	Top uint64
}

// Net is by how many bytes the run changed what is live.
func (c *Change) Net() int64 { return int64(c.Bytes - c.FreedBytes) }

// then adds the changes of the next run.
func (c *Change) then(n *Change) {
	if top := c.Net() + int64(n.Top); top > int64(c.Top) {
		c.Top = uint64(top)
	}
	c.Allocs += n.Allocs
	c.Bytes += n.Bytes
	c.Frees += n.Frees
	c.FreedBytes += n.FreedBytes
	c.Temporary += n.Temporary
}

// Columns of changes, in an events block (in the order of its dictionary of stacks) and in a summary block (in the
// order of the stacks' ids, which have a column there).
const (
	colChangeStacks column.ID = 1  // of a summary block: zigzag differences
	colChangeAllocs column.ID = 8  // varint
	colChangeFrees  column.ID = 9  // zigzag Allocs minus Frees
	colChangeBytes  column.ID = 10 // varint
	colChangeFreed  column.ID = 11 // zigzag Bytes minus FreedBytes, minus what is guessed
	colChangeTop    column.ID = 12 // zigzag Top minus what is guessed
	colChangeTemp   column.ID = 13 // varint
)

// guessNet returns what Bytes minus FreedBytes would be if all blocks had the same size.
func guessNet(allocs, frees, bytes uint64) uint64 {
	if allocs == 0 {
		return 0
	}
	return bytes / allocs * (allocs - frees)
}

// guessTop returns what Top would be if every block was freed at once, or none was.
func guessTop(allocs, bytes, freed uint64) uint64 {
	if allocs == 0 {
		return 0
	}
	return uint64(max(int64(bytes/allocs), int64(bytes-freed)))
}

// summaryRatio is how many events a stack must have on average for changes to be stored: with fewer, reading the events
// takes no longer.
const summaryRatio = 3

// changeColumns builds the columns of changes.
type changeColumns struct {
	stacks, allocs, frees, bytes, freed, top, temp []byte
	last                                           uint32
}

func (c *changeColumns) reset() {
	c.stacks, c.allocs, c.frees, c.bytes = c.stacks[:0], c.allocs[:0], c.frees[:0], c.bytes[:0]
	c.freed, c.top, c.temp, c.last = c.freed[:0], c.top[:0], c.temp[:0], 0
}

func (c *changeColumns) add(allocs, frees, bytes, freed, top, temp uint64) {
	c.allocs = column.AppendUint(c.allocs, allocs)
	c.frees = column.AppendUint(c.frees, column.Zigzag(int64(allocs-frees)))
	c.bytes = binary.AppendUvarint(c.bytes, bytes)
	c.freed = column.AppendUint(c.freed, column.Zigzag(int64(bytes-freed-guessNet(allocs, frees, bytes))))
	c.top = column.AppendUint(c.top, column.Zigzag(int64(top-guessTop(allocs, bytes, freed))))
	c.temp = column.AppendUint(c.temp, temp)
}

func (c *changeColumns) write(p *column.Payload) {
	p.Column(colChangeAllocs, c.allocs)
	p.Column(colChangeFrees, c.frees)
	p.Column(colChangeBytes, c.bytes)
	p.Column(colChangeFreed, c.freed)
	p.Column(colChangeTop, c.top)
	p.Column(colChangeTemp, c.temp)
}

// locals adds the changes of an events block.
func (c *changeColumns) locals(list []tally.Local) {
	for i := range list {
		l := &list[i]
		c.add(l.Allocs, l.Frees, l.Bytes, l.FreedBytes, uint64(l.Top), uint64(l.Temporary))
	}
}

var errChanges = errors.New("its summary is invalid")

// decodeChanges returns n changes, whose stacks stack names. The columns may unpack to room bytes.
func decodeChanges(s *column.Set, n uint64, room int64, stack func(i int) uint32) ([]Change, error) {
	var c [colChangeTemp + 1]column.Cursor
	for id := colChangeAllocs; id <= colChangeTemp; id++ {
		room -= int64(s.Raw(id))
	}
	if room < 0 {
		return nil, errors.New("its summary would unpack to more than that of any recording of this size")
	}
	for id := colChangeAllocs; id <= colChangeTemp; id++ {
		b, err := s.Unpack(id, nil)
		if err != nil {
			return nil, err
		}
		if uint64(len(b)) < n { // each has at least a byte
			return nil, errChanges
		}
		c[id] = column.Cursor{Data: b}
	}
	dst := make([]Change, 0, n)
	for i := range int(n) {
		d := Change{Stack: stack(i), Allocs: c[colChangeAllocs].Uint(), Bytes: c[colChangeBytes].Uint()}
		d.Frees = d.Allocs - uint64(c[colChangeFrees].Int())
		d.FreedBytes = d.Bytes - uint64(c[colChangeFreed].Int()) - guessNet(d.Allocs, d.Frees, d.Bytes)
		d.Top = uint64(c[colChangeTop].Int()) + guessTop(d.Allocs, d.Bytes, d.FreedBytes)
		d.Temporary = c[colChangeTemp].Uint()
		dst = append(dst, d)
	}
	for id := colChangeAllocs; id <= colChangeTemp; id++ {
		if c[id].Bad {
			return nil, errChanges
		}
	}
	return dst, nil
}

// Changes adds up changes, stack by stack. The zero value is empty.
type Changes struct {
	at   numbering // in list, by stack id
	list []Change
}

// List returns the changes, in no particular order; it is valid until the next Add.
func (s *Changes) List() []Change { return s.list }

// Grow makes room for n stacks more.
func (s *Changes) Grow(n int) { s.list = slices.Grow(s.list, n) }

// Of returns the changes at a stack.
func (s *Changes) Of(stack uint32) Change {
	if i, ok := s.at.of(stack); ok && len(s.list) > 0 {
		return s.list[i]
	}
	return Change{Stack: stack}
}

// At returns the entry of a stack, to be changed; it is valid until the next call.
func (s *Changes) At(stack uint32) *Change {
	if len(s.list) == 0 {
		s.at.forget()
	}
	i, ok := s.at.of(stack)
	if !ok {
		i = uint32(len(s.list))
		s.at.set(stack, i)
		if len(s.list) == cap(s.list) {
			s.list = grow.For(s.list, 64)
		}
		s.list = append(s.list, Change{Stack: stack})
	}
	return &s.list[i]
}

// Add adds the next changes at a stack.
func (s *Changes) Add(c *Change) { s.At(c.Stack).then(c) }

// Reset empties it and keeps its memory.
func (s *Changes) Reset() { s.list = s.list[:0] }

// AddEvent adds an event.
func (s *Changes) AddEvent(e *event.Event) {
	switch e.Kind {
	case event.Alloc:
		c := s.At(e.Stack)
		n, bytes := e.Weight()
		c.Allocs += n
		c.Bytes += bytes
		if net := c.Net(); net > int64(c.Top) {
			c.Top = uint64(net)
		}
	case event.Free:
		c := s.At(e.Stack)
		n, bytes := e.Weight()
		c.Frees += n
		c.FreedBytes += bytes
		if e.Flags&event.Temporary != 0 {
			c.Temporary++
		}
	}
}

// Delta returns by how many bytes an event changes what is live.
func Delta(e *event.Event) int64 {
	_, bytes := e.Weight()
	switch e.Kind {
	case event.Alloc:
		return int64(bytes)
	case event.Free:
		return -int64(bytes)
	}
	return 0
}
