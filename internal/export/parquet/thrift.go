package parquet

import "encoding/binary"

// Types of Apache Thrift's compact protocol, which encodes headers and the footer.
const (
	thriftTrue, thriftFalse                = 1, 2
	thriftByte, thriftInt32, thriftInt64   = 3, 5, 6
	thriftBinary, thriftList, thriftStruct = 8, 9, 12
)

// thrift builds a struct. Fields must be added in ascending order.
type thrift struct {
	b    []byte
	last int
}

func (t *thrift) field(id, typ int) {
	t.b = append(t.b, byte((id-t.last)<<4|typ)) // no field number is more than 15 above the one before
	t.last = id
}

func (t *thrift) int32(id int, v int64) {
	t.field(id, thriftInt32)
	t.b = binary.AppendVarint(t.b, v) // zigzag
}

func (t *thrift) int64(id int, v int64) {
	t.field(id, thriftInt64)
	t.b = binary.AppendVarint(t.b, v)
}

func (t *thrift) int8(id int, v int8) {
	t.field(id, thriftByte)
	t.b = append(t.b, byte(v))
}

func (t *thrift) bool(id int, v bool) {
	if v {
		t.field(id, thriftTrue)
	} else {
		t.field(id, thriftFalse)
	}
}

func (t *thrift) binary(id int, v []byte) {
	t.field(id, thriftBinary)
	t.b = append(binary.AppendUvarint(t.b, uint64(len(v))), v...)
}

func (t *thrift) text(id int, v string) { t.binary(id, []byte(v)) }

func (t *thrift) structure(id int, fill func(t *thrift)) {
	t.field(id, thriftStruct)
	t.element(fill)
}

// element adds a struct without a field header: an element of a list.
func (t *thrift) element(fill func(t *thrift)) {
	in := thrift{b: t.b}
	fill(&in)
	t.b = append(in.b, 0)
}

func (t *thrift) list(id, typ, n int) {
	t.field(id, thriftList)
	if n < 15 {
		t.b = append(t.b, byte(n<<4|typ))
		return
	}
	t.b = binary.AppendUvarint(append(t.b, byte(0xF0|typ)), uint64(n))
}

func (t *thrift) structures(id, n int, fill func(i int, t *thrift)) {
	t.list(id, thriftStruct, n)
	for i := range n {
		t.element(func(t *thrift) { fill(i, t) })
	}
}
