package column

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// Table is a kind of block whose payload is rows. Its fields are listed once, for both directions: Fields says in which
// column each field is and how, and a Row writes it or reads it.
type Table[T any] struct {
	// Columns are those of the fields, in the order in which they are stored; nil: 1 to 4 and Texts.
	Columns []ID
	// Names says that column Texts has the texts that Row.Name numbers.
	Names bool
	// Fields calls r for each field of x, in the order of the format; before is the row before x in the block, or zero.
	// It does not change a row that is written.
	Fields func(r *Row, x, before *T)
	// Err is the error of rows that end too early, or have impossible numbers; nil: ErrTable.
	Err error
}

// Texts is the column of texts, in every table that has one.
const Texts ID = 9

var usual = []ID{1, 2, 3, 4, Texts}

func (t *Table[T]) columns() []ID {
	if t.Columns == nil {
		return usual
	}
	return t.Columns
}

// ErrTable says that a table's columns contradict each other.
var ErrTable = errors.New("its columns contradict each other")

// Encode makes p the payload of a block of these rows. Its head is their number, followed by the numbers in more.
func (t *Table[T]) Encode(p *Payload, rows []T, more ...uint64) {
	p.Reset()
	p.Uint(uint64(len(rows)))
	for _, v := range more {
		p.Uint(v)
	}
	r := p.writing(t.columns())
	if t.Names {
		r.numbers = map[string]uint64{"": 0}
	}
	// Fields may write into a row even if it is encoded: it gets a copy.
	row, before := new(T), new(T)
	for i := range rows {
		*row = rows[i]
		t.Fields(r, row, before)
		row, before = before, row
	}
	for _, id := range r.ids {
		p.Column(id, r.cols[id].Data)
	}
}

// Decode appends the rows of a block. With an error, it appends those before the first impossible one. It sets more to
// the further numbers of the head.
func (t *Table[T]) Decode(s *Set, rows []T, more ...*uint64) ([]T, error) {
	n := s.Head.Uint()
	if s.Head.Bad || n > MaxLength {
		return rows, errors.New("its head is invalid")
	}
	for _, v := range more {
		*v = s.Head.Uint()
	}
	r := &Row{reading: true, ids: t.columns()}
	for _, id := range r.ids {
		b, err := s.Unpack(id, nil)
		if err != nil {
			return rows, err
		}
		r.cols[id] = Cursor{Data: b}
	}
	if t.Names && !r.readNames() {
		return rows, ErrTable
	}
	// Mostly, each row has a field in the first column, and a field is a byte at least.
	rows = slices.Grow(rows, min(int(n), r.cols[r.ids[0]].Left()))
	x, before := new(T), new(T)
	for range n {
		var zero T
		*x = zero
		r.skipped = false
		t.Fields(r, x, before)
		switch {
		case r.err != nil:
			return rows, r.err
		case (r.Bad() || s.Head.Bad) && t.Err != nil:
			return rows, t.Err
		case r.Bad() || s.Head.Bad:
			return rows, ErrTable
		}
		if !r.skipped {
			rows = append(rows, *x)
		}
		x, before = before, x
	}
	return rows, nil
}

// Row writes or reads the fields of one row after another, each in a column of the table. Columns have the numbers of
// the specification; 0 is the payload's head. After the end of a column, its fields are read as zero, and Bad is true.
type Row struct {
	reading bool
	ids     []ID // the columns
	cols    [32]Cursor
	numbers map[string]uint64 // of the texts that were written
	names   []string          // the texts that can be read
	skipped bool
	err     error
}

// writing returns a row that writes, with the memory of the one before.
func (p *Payload) writing(ids []ID) *Row {
	if p.row == nil {
		p.row = new(Row)
	}
	r := p.row
	r.ids = ids
	for i := range r.cols {
		r.cols[i].Data = r.cols[i].Data[:0]
	}
	return r
}

// Fields appends fields to the head.
func (p *Payload) Fields(fields func(r *Row, head ID)) {
	r := p.writing(nil)
	fields(r, 0)
	p.Head = append(p.Head, r.cols[0].Data...)
}

// Fields reads fields that lie one after the other.
func (c *Cursor) Fields(fields func(r *Row, head ID)) {
	r := &Row{reading: true}
	r.cols[0] = *c
	fields(r, 0)
	*c = r.cols[0]
}

func (r *Row) readNames() bool {
	c := &r.cols[Texts]
	r.names = []string{""}
	for c.Left() > 0 {
		r.names = append(r.names, c.Text())
		if c.Bad {
			return false
		}
	}
	return true
}

// Reading reports whether fields are read.
func (r *Row) Reading() bool { return r.reading }

// Bad reports whether a column ended too early or has an impossible number.
func (r *Row) Bad() bool {
	for _, id := range r.ids {
		if r.cols[id].Bad {
			return true
		}
	}
	return false
}

// Fail ends the reading with an error, if there is none before.
func (r *Row) Fail(err error) {
	if r.reading && r.err == nil {
		r.err = err
	}
}

// Check ends the reading with an error unless what was read is right. If something could not be read, that is another
// error, which takes precedence.
func (r *Row) Check(right bool, err error) {
	if r.reading && !right && !r.Bad() {
		r.Fail(err)
	}
}

// Skip leaves out the row that is read if when is true: this version of heaptap does not know what it says.
func (r *Row) Skip(when bool) { r.skipped = r.skipped || when }

// Has reports whether the block has a column. Older recordings lack those that were added later.
func (r *Row) Has(col ID) bool { return !r.reading || len(r.cols[col].Data) > 0 }

func (r *Row) col(id ID) *Cursor { return &r.cols[id&31] }

func (r *Row) put(id ID, v uint64) {
	c := r.col(id)
	c.Data = AppendUint(c.Data, v)
}

// Uint is a varint.
func (r *Row) Uint(col ID, v *uint64) {
	if r.reading {
		*v = r.col(col).Uint()
	} else {
		r.put(col, *v)
	}
}

// Uint32 is a varint of at most 32 bits.
func (r *Row) Uint32(col ID, v *uint32) {
	if r.reading {
		*v = r.col(col).Uint32()
	} else {
		r.put(col, uint64(*v))
	}
}

// Int is a zigzag.
func (r *Row) Int(col ID, v *int64) { r.Delta(col, v, 0) }

// Delta is a zigzag, the difference to a number, mostly that of the row before.
func (r *Row) Delta(col ID, v *int64, before int64) {
	if r.reading {
		*v = before + r.col(col).Int()
	} else {
		r.put(col, Zigzag(*v-before))
	}
}

// DeltaUint is Delta modulo 2^64.
func (r *Row) DeltaUint(col ID, v *uint64, before uint64) {
	if r.reading {
		*v = before + uint64(r.col(col).Int())
	} else {
		r.put(col, Zigzag(int64(*v-before)))
	}
}

// Delta32 is Delta for a number of 32 bits.
func (r *Row) Delta32(col ID, v *uint32, before uint32) {
	if r.reading {
		r.set32(col, v, int64(before)+r.col(col).Int())
	} else {
		r.put(col, Zigzag(int64(*v)-int64(before)))
	}
}

// Back32 is a zigzag: by how much a number is less than another one.
func (r *Row) Back32(col ID, v *uint32, than uint32) {
	if r.reading {
		r.set32(col, v, int64(than)-r.col(col).Int())
	} else {
		r.put(col, Zigzag(int64(than)-int64(*v)))
	}
}

func (r *Row) set32(col ID, v *uint32, n int64) {
	if n < 0 || n > math.MaxUint32 {
		r.col(col).Bad = true
	}
	*v = uint32(n)
}

// Offset is a varint, the difference to a number, modulo 2^64.
func (r *Row) Offset(col ID, v *uint64, from uint64) {
	if r.reading {
		*v = from + r.col(col).Uint()
	} else {
		r.put(col, *v-from)
	}
}

// Flagged is a varint: a number of 32 bits and, below it, a bit.
func (r *Row) Flagged(col ID, v *uint32, flag *bool) {
	if r.reading {
		n := r.col(col).Uint()
		if n>>1 > math.MaxUint32 {
			r.col(col).Bad = true
		}
		*v, *flag = uint32(n>>1), n&1 != 0
		return
	}
	n := uint64(*v) << 1
	if *flag {
		n |= 1
	}
	r.put(col, n)
}

// Fixed32 is a number of four bytes.
func (r *Row) Fixed32(col ID, v *uint32) {
	c := r.col(col)
	if !r.reading {
		c.Data = binary.LittleEndian.AppendUint32(c.Data, *v)
	} else if b := c.Bytes(4); b != nil {
		*v = binary.LittleEndian.Uint32(b)
	}
}

// Text is a text.
func (r *Row) Text(col ID, v *string) {
	if r.reading {
		*v = r.col(col).Text()
	} else {
		r.put(col, uint64(len(*v)))
		r.col(col).Data = append(r.col(col).Data, *v...)
	}
}

// Bytes is like Text. No bytes are read as nil.
func (r *Row) Bytes(col ID, v *[]byte) {
	c := r.col(col)
	if !r.reading {
		r.put(col, uint64(len(*v)))
		c.Data = append(c.Data, *v...)
	} else if b := c.Bytes(c.Uint()); len(b) > 0 {
		*v = append([]byte(nil), b...)
	}
}

// Name is a varint, the number of a text in column Texts. They are numbered from 1 in the order of their first use; 0
// is the empty one.
func (r *Row) Name(col ID, v *string) {
	if r.reading {
		n := r.col(col).Uint()
		if n >= uint64(len(r.names)) {
			r.col(col).Bad = true
			n = 0
		}
		*v = r.names[n]
		return
	}
	n, ok := r.numbers[*v]
	if !ok {
		n = uint64(len(r.numbers))
		r.numbers[*v] = n
		r.Text(Texts, v)
	}
	r.put(col, n)
}

// Enum is a varint. When it is read, known turns it into a value that this version of heaptap knows.
func Enum[T ~uint8](r *Row, col ID, v *T, known func(uint64) T) {
	if r.reading {
		*v = known(r.col(col).Uint())
	} else {
		r.put(col, uint64(*v))
	}
}

// Known is a varint below end. Rows with a larger value, which this version of heaptap does not know, are skipped.
func Known[T ~uint8](r *Row, col ID, v *T, end T) {
	if r.reading {
		n := r.col(col).Uint()
		*v = T(n)
		r.Skip(n >= uint64(end))
	} else {
		r.put(col, uint64(*v))
	}
}

// List is a varint: how many elements a list has. Each has at least a byte in column in.
func List[T any](r *Row, col ID, v *[]T, in ID) int {
	if !r.reading {
		r.put(col, uint64(len(*v)))
		return len(*v)
	}
	n := r.col(col).Uint()
	if r.Bad() || n > uint64(r.col(in).Left()) {
		r.col(col).Bad = true
		return 0
	}
	*v = make([]T, n)
	return len(*v)
}
