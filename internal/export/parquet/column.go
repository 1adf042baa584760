package parquet

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strings"

	"github.com/heaptap/heaptap/internal/export/intern"
	"github.com/heaptap/heaptap/internal/export/table"
)

// Constants of parquet.thrift.
const (
	typeBool, typeInt64, typeDouble, typeBytes = 0, 2, 5, 6
	encodingPlain, encodingRLE                 = 0, 3
	encodingDelta, encodingDict                = 5, 8
	convertedText, convertedUint, convertedInt = 0, 14, 18
)

// column collects the values of a column within a group of rows.
type column struct {
	table.Column
	present []uint64             // for columns that may have missing values: 1 where there is a value
	numbers []uint64             // values of columns that are neither texts nor flags; floats as their bits
	indexes []uint64             // of texts: indexes into texts; of flags: the values
	texts   intern.Table[string] // the distinct texts
	length  int                  // their total length, bytes
	falls   bool                 // some number is less than the one before
	stats   stats
	rows    int
}

// stats are the least and the greatest number of a column.
type stats struct {
	any       bool
	low, high table.Value
	nulls     int64
}

func (c *column) add(v *table.Value) {
	c.rows++
	if c.Null {
		if v.Null {
			c.present = append(c.present, 0)
			c.stats.nulls++
			return
		}
		c.present = append(c.present, 1)
	}
	switch c.Kind {
	case table.Uint:
		c.number(v.Uint, v)
	case table.Int:
		c.number(uint64(v.Int), v)
	case table.Float:
		c.numbers = append(c.numbers, math.Float64bits(v.Float))
	case table.Text:
		id, added := c.texts.Add(strings.ToValidUTF8(v.Text, "\uFFFD"))
		if added {
			c.length += len(v.Text) + 4
		}
		c.indexes = append(c.indexes, uint64(id))
	case table.Flag:
		c.indexes = append(c.indexes, v.Uint)
	}
}

func (c *column) number(n uint64, v *table.Value) {
	if len(c.numbers) > 0 && n < c.numbers[len(c.numbers)-1] {
		c.falls = true
	}
	c.numbers = append(c.numbers, n)
	c.stats.add(v)
}

func (s *stats) add(v *table.Value) {
	if !s.any {
		s.any, s.low, s.high = true, *v, *v
		return
	}
	s.low.Uint, s.high.Uint = min(s.low.Uint, v.Uint), max(s.high.Uint, v.Uint)
	s.low.Int, s.high.Int = min(s.low.Int, v.Int), max(s.high.Int, v.Int)
}

// size returns roughly how many bytes of memory the column takes.
func (c *column) size() int { return c.length + 8*(len(c.numbers)+len(c.indexes)+len(c.present)) }

// reset clears the column for the next group.
func (c *column) reset() {
	*c = column{Column: c.Column, present: c.present[:0], numbers: c.numbers[:0], indexes: c.indexes[:0]}
}

// dictionary returns the page of the distinct texts.
func (c *column) dictionary() []byte {
	var b []byte
	for _, s := range c.texts.List() {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	return b
}

// data returns the page of the values. Definition levels, if any, come before them.
func (c *column) data() []byte {
	var b []byte
	if c.Null {
		levels := appendHybrid(nil, c.present, 1)
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(levels))), levels...)
	}
	switch c.Kind {
	case table.Text:
		width := bits.Len(uint(max(len(c.texts.List())-1, 1)))
		return appendHybrid(append(b, byte(width)), c.indexes, width)
	case table.Flag:
		return appendPacked(b, c.indexes, 1)
	}
	if c.encoding() == encodingDelta {
		return appendDelta(b, c.numbers)
	}
	for _, n := range c.numbers {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

// encoding returns the encoding of the values. Rising numbers are small as differences; others compress better as plain
// numbers.
func (c *column) encoding() int64 {
	switch {
	case c.Kind == table.Text:
		return encodingDict
	case (c.Kind == table.Uint || c.Kind == table.Int) && !c.falls:
		return encodingDelta
	}
	return encodingPlain
}

func (c *column) physical() int64 {
	switch c.Kind {
	case table.Float:
		return typeDouble
	case table.Text:
		return typeBytes
	case table.Flag:
		return typeBool
	}
	return typeInt64
}
