package block

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/heaptap/heaptap/internal/recording/column"
)

// FarSum sums up deallocations of blocks that were allocated at one stack in earlier blocks of events.
type FarSum struct {
	Stack uint32
	In    uint32 // the block of events that has the deallocations, counting from the table's first one
	Born  uint32 // that has the allocations, counting from the file's first one, shifted: see FarHead
	Frees uint64
	Bytes uint64
}

// FarHead is the head of a table of far sums, those of a few blocks of events in a row.
type FarHead struct {
	FirstBlock uint64 // number of the first of them, counting events blocks from 0
	Blocks     uint64
	FirstEvent uint64
	Events     uint64
	Shift      uint64 // Born stands for 1<<Shift blocks
	Sums       uint64
}

// FarTable is a table of far sums: by block of the deallocations, then the youngest blocks first.
type FarTable struct {
	FarHead
	List []FarSum
}

const (
	// FarShift is by how much Shift grows if a table has too many sums.
	FarShift = 4
	// MaxFarShift is the largest Shift.
	MaxFarShift = 20
	// maxFarSums is the largest number of sums that the encoder keeps of one block.
	maxFarSums = 1 << 14
)

// Fields lists the fields of a head.
func (h *FarHead) Fields(r *column.Row, col column.ID) {
	for _, v := range [...]*uint64{&h.FirstBlock, &h.Blocks, &h.FirstEvent, &h.Events, &h.Shift, &h.Sums} {
		r.Uint(col, v)
	}
}

func (h *FarHead) valid() bool {
	return h.Blocks > 0 && h.Blocks <= Fan && h.FirstBlock < math.MaxUint32-Fan && h.Shift <= MaxFarShift &&
		h.FirstEvent <= math.MaxUint64-h.Events
}

// Births returns the blocks of events that a sum's allocations are in: from the first up to before the end.
func (h *FarHead) Births(s *FarSum) (first, end int) {
	first = int(s.Born) << h.Shift
	return first, min(first+1<<h.Shift, int(h.FirstBlock)+int(s.In))
}

// Coarsen makes Born stand for more blocks, so that there are fewer sums.
func (t *FarTable) Coarsen(shift uint64) {
	if shift <= t.Shift {
		return
	}
	for i := range t.List {
		t.List[i].Born >>= shift - t.Shift
	}
	t.Shift = shift
	t.sort()
	out := t.List[:0]
	for _, s := range t.List {
		if n := len(out); n > 0 && out[n-1].compare(&s) == 0 {
			out[n-1].Frees += s.Frees
			out[n-1].Bytes += s.Bytes
			continue
		}
		out = append(out, s)
	}
	t.List = out
}

func (s *FarSum) compare(o *FarSum) int {
	return cmp.Or(cmp.Compare(s.In, o.In), cmp.Compare(o.Born, s.Born), cmp.Compare(s.Stack, o.Stack))
}

func (t *FarTable) sort() { slices.SortFunc(t.List, func(a, b FarSum) int { return a.compare(&b) }) }

// Columns of a table of far sums.
const (
	colFarStacks column.ID = 1 + iota // zigzag differences
	colFarIn                          // varint differences
	colFarAge                         // varint: how many groups before that of the deallocation the allocations are
	colFarFrees                       // varint
	colFarBytes                       // zigzag differences to what the stack's mean size so far makes probable
)

// FarColumnNames are the names of the columns.
var FarColumnNames = map[column.ID]string{colFarStacks: "stacks", colFarIn: "blocks of deallocations",
	colFarAge: "blocks of allocations", colFarFrees: "deallocations", colFarBytes: "bytes"}

// sizes are the latest mean sizes by stack.
type sizes map[uint32]uint64

func (m sizes) guess(s *FarSum) uint64 { return m[s.Stack] * s.Frees }

func (m sizes) learn(s *FarSum) {
	if s.Frees > 0 {
		m[s.Stack] = s.Bytes / s.Frees
	}
}

// group is the group that the deallocations of a sum are in.
func (h *FarHead) group(s *FarSum) uint64 { return (h.FirstBlock + uint64(s.In)) >> h.Shift }

// Encode makes p the payload of the table.
func (t *FarTable) Encode(p *column.Payload) {
	t.sort()
	t.Sums = uint64(len(t.List))
	var c [colFarBytes + 1][]byte
	var last FarSum
	mean := make(sizes)
	for i := range t.List {
		s := &t.List[i]
		c[colFarStacks] = binary.AppendUvarint(c[colFarStacks], column.Zigzag(int64(s.Stack)-int64(last.Stack)))
		c[colFarIn] = binary.AppendUvarint(c[colFarIn], uint64(s.In-last.In))
		c[colFarAge] = binary.AppendUvarint(c[colFarAge], t.group(s)-uint64(s.Born))
		c[colFarFrees] = binary.AppendUvarint(c[colFarFrees], s.Frees)
		c[colFarBytes] = binary.AppendUvarint(c[colFarBytes], column.Zigzag(int64(s.Bytes-mean.guess(s))))
		mean.learn(s)
		last = *s
	}
	p.Reset()
	p.Fields(t.FarHead.Fields)
	for id := colFarStacks; id <= colFarBytes; id++ {
		p.Column(id, c[id])
	}
}

var errFar = errors.New("its sums are invalid")

// DecodeFar returns the table in a payload. Its columns may unpack to at most room bytes, and its stacks must be known.
func DecodeFar(payload []byte, room int64, known func(stack uint32) bool) (*FarTable, error) {
	var s column.Set
	if err := s.Parse(payload); err != nil {
		return nil, err
	}
	t := &FarTable{}
	s.Head.Fields(t.FarHead.Fields)
	if s.Head.Bad || !t.valid() {
		return nil, errFar
	}
	var c [colFarBytes + 1]column.Cursor
	for id := colFarStacks; id <= colFarBytes; id++ {
		room -= int64(s.Raw(id))
	}
	if room < 0 {
		return nil, errors.New("it would unpack to more than that of any recording of this size")
	}
	for id := colFarStacks; id <= colFarBytes; id++ {
		b, err := s.Unpack(id, nil)
		if err != nil {
			return nil, err
		}
		if uint64(len(b)) < t.Sums { // each has at least a byte
			return nil, errFar
		}
		c[id] = column.Cursor{Data: b}
	}
	t.List = make([]FarSum, t.Sums)
	mean := make(sizes)
	stack, in := int64(0), uint64(0)
	for i := range t.List {
		x := &t.List[i]
		stack += c[colFarStacks].Int()
		in += uint64(c[colFarIn].Uint32())
		if stack < 0 || stack > math.MaxUint32 || !known(uint32(stack)) || in >= t.Blocks {
			return nil, errFar
		}
		x.Stack, x.In = uint32(stack), uint32(in)
		age, group := c[colFarAge].Uint(), t.group(x)
		if age > group {
			return nil, errFar
		}
		x.Born = uint32(group - age)
		if first, end := t.Births(x); first >= end {
			return nil, errFar
		}
		x.Frees = c[colFarFrees].Uint()
		x.Bytes = mean.guess(x) + uint64(c[colFarBytes].Int())
		mean.learn(x)
	}
	for id := colFarStacks; id <= colFarBytes; id++ {
		if c[id].Bad {
			return nil, errFar
		}
	}
	return t, nil
}

// farSums counts, while a block of events is encoded, the deallocations of what earlier blocks have allocated.
type farSums struct {
	firsts []uint64 // by block of events before this one: the number of its first allocation
	shift  uint64
	table  FarTable // of this block; stacks are the block's numbers
	at     map[farKey]uint32
	latest []farLatest // by the stack's number in the block
}

type farKey struct{ local, born uint32 }

// farLatest is the sum to which a stack's latest deallocation was added. The next one mostly belongs there, too.
type farLatest struct {
	first, allocs uint64 // the allocations that it is about
	sum           uint32
}

// add counts a far deallocation. first is the number of the block's first allocation.
func (f *farSums) add(local uint32, ref, first, frees, bytes uint64) {
	if int(local) >= len(f.latest) {
		f.latest = append(f.latest, make([]farLatest, int(local)+1-len(f.latest))...)
	}
	l := &f.latest[local]
	if ref-l.first >= l.allocs {
		f.find(l, local, ref, first)
	}
	s := &f.table.List[l.sum]
	s.Frees += frees
	s.Bytes += bytes
}

// find makes l the sum of an allocation. next is the number of the block's first one.
func (f *farSums) find(l *farLatest, local uint32, ref, next uint64) {
	if len(f.table.List) >= maxFarSums && f.shift < MaxFarShift {
		f.coarsen()
	}
	born := sort.Search(len(f.firsts), func(i int) bool { return f.firsts[i] > ref }) - 1
	group := max(born, 0) >> f.shift
	first, end := group<<f.shift, min((group+1)<<f.shift, len(f.firsts))
	l.first = f.firsts[first]
	if end < len(f.firsts) {
		next = f.firsts[end]
	}
	l.allocs = next - l.first
	k := farKey{local, uint32(group)}
	var ok bool
	if l.sum, ok = f.at[k]; !ok {
		if f.at == nil {
			f.at = make(map[farKey]uint32)
		}
		l.sum = uint32(len(f.table.List))
		f.at[k] = l.sum
		f.table.List = append(f.table.List, FarSum{Stack: local, Born: k.born})
	}
}

// coarsen makes fewer sums of those so far, in this block and the following ones.
func (f *farSums) coarsen() {
	f.shift += FarShift
	f.table.Coarsen(f.shift)
	clear(f.at)
	for i := range f.table.List {
		f.at[farKey{f.table.List[i].Stack, f.table.List[i].Born}] = uint32(i)
	}
	clear(f.latest)
}

// seal moves the table into out, and begins the next block.
func (f *farSums) seal(h *Head, out *FarTable) {
	f.table, *out = FarTable{List: out.List[:0]}, f.table
	out.Shift = f.shift
	f.table.Shift = f.shift
	clear(f.at)
	clear(f.latest)
	f.latest = f.latest[:0]
	if h.Events > 0 {
		f.firsts = append(f.firsts, h.FirstAlloc)
	}
}
