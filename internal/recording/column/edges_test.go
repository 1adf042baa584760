package column_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/heaptap/heaptap/internal/recording/column"
)

// TestUint32: a number of more than 32 bits is bad, and no number of 32 bits is.
func TestUint32(t *testing.T) {
	t.Parallel()
	for v, good := range map[uint64]bool{0: true, math.MaxUint32: true, 1 << 32: false, math.MaxUint64: false} {
		c := column.Cursor{Data: binary.AppendUvarint(nil, v)}
		if got := c.Uint32(); c.Bad == good || good && uint64(got) != v {
			t.Errorf("%d: read %d, bad: %v", v, got, c.Bad)
		}
	}
}

// TestForgedGap: whatever number of zeros a column claims, a reader may add a number of events to it.
func TestForgedGap(t *testing.T) {
	t.Parallel()
	c := column.Cursor{Data: binary.AppendUvarint(nil, math.MaxUint64)}
	var r column.GapReader
	r.Open(&c)
	if events := uint64(1) << 40; r.Zeros < events || r.Zeros+events < events {
		t.Errorf("%d zeros", r.Zeros)
	}
}

// TestNibblesEnd: what is read past the end of a column is not a number that one could hold.
func TestNibblesEnd(t *testing.T) {
	t.Parallel()
	var n column.Nibbles
	n.Grow(2)
	n.Append(3)
	n.Append(column.MaxNibble)
	r := column.NibbleReader{Data: n.Bytes()}
	if a, b, end := r.Next(), r.Next(), r.Next(); a != 3 || b != column.MaxNibble || end <= column.MaxNibble {
		t.Errorf("%d, %d, and then %d", a, b, end)
	}
}

// TestForgedLength: a packed column of a few bytes cannot claim that it unpacks to megabytes.
func TestForgedLength(t *testing.T) {
	t.Parallel()
	payload := func(claim uint64) []byte {
		stored := make([]byte, 20)
		b := append([]byte{0, 1}, 7, 1) // an empty head; one column: number 7, packed
		b = binary.AppendUvarint(b, claim)
		b = binary.AppendUvarint(b, uint64(len(stored)))
		return append(b, stored...)
	}
	var s column.Set
	if err := s.Parse(payload(1000)); err != nil {
		t.Errorf("1000 bytes from 20: %v", err)
	}
	if err := s.Parse(payload(column.MaxLength)); err == nil {
		t.Errorf("%d bytes from 20 are believed", column.MaxLength)
	}
}
