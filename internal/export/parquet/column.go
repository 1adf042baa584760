package parquet

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strings"

	"github.com/heaptap/heaptap/internal/export/intern"
	"github.com/heaptap/heaptap/internal/export/table"
)

// Physical types, encodings and such, as parquet.thrift numbers them.
const (
	typeBool, typeInt64, typeDouble, typeBytes = 0, 2, 5, 6
	encodingPlain, encodingRLE                 = 0, 3
	encodingDelta, encodingDict                = 5, 8
	convertedText, convertedUint, convertedInt = 0, 14, 18
)

// column collects the values of a column in a group of rows.
type column struct {
	table.Column
	present []uint64             // 1 where there is a value, of columns that may have none
	numbers []uint64             // values, but those of texts and flags; of floats their bits
	indexes []uint64             // of texts: into texts; of flags: themselves
	texts   intern.Table[string] // the different ones
	length  int                  // of these
	falls   bool                 // a number is less than the one before
	stats   stats
	rows    int
}

// stats are the least and the largest number of a column.
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

// size is about how much memory the column takes.
func (c *column) size() int { return c.length + 8*(len(c.numbers)+len(c.indexes)+len(c.present)) }

// reset begins the next group.
func (c *column) reset() {
	*c = column{Column: c.Column, present: c.present[:0], numbers: c.numbers[:0], indexes: c.indexes[:0]}
}

// dictionary is the page of the different texts.
func (c *column) dictionary() []byte {
	var b []byte
	for _, s := range c.texts.List() {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	return b
}

// data is the page of the values, after what says where there are none.
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

// encoding of the values. Numbers that only rise are small as differences; of others, compression finds more in the plain ones.
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
