package timetravel

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/heaptap/heaptap/internal/recording"
)

// errLevels says that what should be levels is something else.
var errLevels = errors.New("its levels are invalid")

// Append appends the levels that the timeline knows of a recording to a file's contents; Restore reads them. Of blocks
// with dense levels, it appends as many as of others.
func (l *Timeline) Append(out []byte, r *recording.Reader) []byte {
	blocks := r.EventBlocks()
	left := keptLevels(blocks)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range blocks.Len() {
		b := l.known[blocks.Head(i).FirstEvent]
		if b == nil || b.list == nil {
			out = binary.AppendUvarint(out, 0)
			continue
		}
		if b.dense {
			b = b.thin(left)
		}
		for _, v := range [...]uint64{uint64(len(b.list)), b.allocs, b.bytes, b.frees} {
			out = binary.AppendUvarint(out, v)
		}
		out = binary.AppendVarint(out, b.least)
		var last recording.Level
		for _, v := range b.list {
			for _, d := range [...]uint64{v.Number - last.Number, v.Time - last.Next, v.Next - v.Time,
				v.Allocs - last.Allocs, v.Bytes - last.Bytes, v.Frees - last.Frees} {
				out = binary.AppendUvarint(out, d)
			}
			for _, d := range [...]int64{v.Live - last.Live, v.Most - v.Live, v.Live - v.Least} {
				out = binary.AppendVarint(out, d)
			}
			last = v
		}
	}
	return out
}

// keptLevels returns about how many levels are kept of each block.
func keptLevels(blocks *recording.EventBlocks) int {
	return min(max(levelRoom/max(blocks.Len(), 1), fewestLevels), mostLevels)
}

// Restore reads the levels of a recording that Append wrote.
func (l *Timeline) Restore(in []byte, r *recording.Reader) error {
	blocks := r.EventBlocks()
	c := varints{in: in}
	left := keptLevels(blocks)
	for i := range blocks.Len() {
		n := c.uint()
		if n > 2*mostLevels { // fewer levels than lines of a grid
			return errLevels
		}
		if n == 0 {
			continue
		}
		h := blocks.Head(i)
		b := blockLevels{allocs: c.uint(), bytes: c.uint(), frees: c.uint(), least: c.int()}
		b.list = make([]recording.Level, n)
		var last recording.Level
		for k := range b.list {
			v := recording.Level{Number: last.Number + c.uint()}
			v.Time = last.Next + c.uint()
			v.Next = v.Time + c.uint()
			v.Allocs, v.Bytes, v.Frees = last.Allocs+c.uint(), last.Bytes+c.uint(), last.Frees+c.uint()
			v.Live = last.Live + c.int()
			v.Most = v.Live + c.int()
			v.Least = v.Live - c.int()
			if v.Number <= last.Number || v.Time < last.Time || v.Next < v.Time || v.Next > math.MaxInt64 {
				return errLevels
			}
			b.list[k], last = v, v
		}
		if c.bad || last.Number != h.Events || b.allocs != last.Allocs ||
			b.bytes != last.Bytes || b.frees != last.Frees {
			return errLevels
		}
		l.learn(h.FirstEvent, b, left)
	}
	if c.bad || len(c.in) > 0 {
		return errLevels
	}
	return nil
}

// varints reads numbers; after the last one come zeros.
type varints struct {
	in  []byte
	bad bool
}

func (c *varints) uint() uint64 {
	v, n := binary.Uvarint(c.in)
	if n <= 0 {
		c.bad, c.in = true, nil
		return 0
	}
	c.in = c.in[n:]
	return v
}

func (c *varints) int() int64 {
	v, n := binary.Varint(c.in)
	if n <= 0 {
		c.bad, c.in = true, nil
		return 0
	}
	c.in = c.in[n:]
	return v
}
