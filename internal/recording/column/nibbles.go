package column

// MaxNibble is the largest number in half a byte. It stands for that or more: the rest is a varint in another column.
const MaxNibble = 15

// Nibbles builds a column of numbers of half a byte each, the first one in the low half of its byte.
type Nibbles struct {
	data []byte // zero beyond the numbers so far
	n    uint   // numbers so far
}

// Bytes returns the column.
func (n *Nibbles) Bytes() []byte { return n.data[:(n.n+1)/2] }

// Append appends a number of at most MaxNibble. There must be room.
func (n *Nibbles) Append(v uint64) {
	n.data[n.n/2] |= byte(v) << (n.n & 1 * 4)
	n.n++
}

// Grow makes room for so many more numbers.
func (n *Nibbles) Grow(more int) {
	if need := (int(n.n) + more + 1) / 2; need > len(n.data) {
		data := make([]byte, max(need, 2*len(n.data)))
		copy(data, n.Bytes())
		n.data = data
	}
}

// Reset empties the column and keeps its memory.
func (n *Nibbles) Reset() {
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
