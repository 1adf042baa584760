package column

import "math"

// Gaps builds a column in which most elements are 0. It stores the others: the number of zeros before each, and its
// value.
type Gaps struct {
	N    int // elements so far
	Last int // the element after the latest that is not 0
}

// Append appends an element that is not 0.
func (g *Gaps) Append(col []byte, v byte) []byte {
	col = AppendUint(col, uint64(g.N-g.Last))
	g.Last = g.N + 1
	return append(col, v)
}

// GapReader reads a column of Gaps.
type GapReader struct {
	Zeros uint64 // before the next element that is not 0
}

// Open reads how many zeros come next.
func (r *GapReader) Open(c *Cursor) {
	r.Zeros = math.MaxUint64 / 2 // so many that it never ends, and so few that nothing added makes it overflow
	if c.Left() > 0 {
		r.Zeros = min(c.Uint(), r.Zeros)
	}
}

// Next returns the next element.
func (r *GapReader) Next(c *Cursor) uint8 {
	if r.Zeros > 0 {
		r.Zeros--
		return 0
	}
	return r.Value(c)
}

// Value returns the next element if Zeros is 0: then the element is not.
func (r *GapReader) Value(c *Cursor) uint8 {
	v := c.Byte()
	r.Open(c)
	return v
}

// AppendLazy stores v as element n of a lazy column: zeros are not written until something follows them.
func AppendLazy(col []byte, n int, v byte) []byte {
	for len(col) < n {
		col = append(col, 0)
	}
	return append(col, v)
}

// Lazy reads the next byte of a lazy column: zeros at its end are not stored.
func (c *Cursor) Lazy() uint8 {
	if c.At < len(c.Data) {
		v := c.Data[c.At]
		c.At++
		return v
	}
	return 0
}
