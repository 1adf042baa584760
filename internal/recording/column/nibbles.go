package column

// MaxNibble is the largest number in half a byte. It stands for that or more: the rest is a varint in another column.
const MaxNibble = 15

// Nibbles builds a column of numbers of half a byte each, the first one in the low half of its byte.
type Nibbles struct {
	data []byte // zero beyond the numbers so far
	n    int    // numbers so far
}

// Bytes returns the column.
func (n *Nibbles) Bytes() []byte { return n.data[:(n.n+1)/2] }

// Append appends a number of at most MaxNibble.
func (n *Nibbles) Append(v uint64) {
	n.data[n.n/2] |= byte(v) << (n.n & 1 * 4)
	n.n++
}

// Reset empties the column. At most room numbers may be appended, which must be the same each time.
func (n *Nibbles) Reset(room int) {
	if n.data == nil {
		n.data = make([]byte, (room+1)/2)
	}
	clear(n.Bytes())
	n.n = 0
}

// NibbleReader reads a column of Nibbles.
type NibbleReader struct {
	Data []byte
	At   int // number of the next one
}

// Next returns the next number, one above MaxNibble past the end.
func (r *NibbleReader) Next() uint64 {
	i := r.At >> 1
	if i >= len(r.Data) {
		return MaxNibble + 1
	}
	v := r.Data[i] >> (r.At & 1 * 4) & MaxNibble
	r.At++
	return uint64(v)
}
