package recording

import (
	"encoding/binary"

	"github.com/heaptap/heaptap/internal/event"
)

// Columns of an events block. Those from perThread on are kept for each thread and follow one another in the order of
// the threads column.
const (
	colThreads   columnID = 1  // for each thread: its index, and the lengths of its parts of the columns below
	colRuns      columnID = 2  // who comes next, for how many events
	colTimes     columnID = 3  // differences before allocations, in units of time: half a byte each
	colStacks    columnID = 4  // the stacks of this block, in order of first appearance
	colShapes    columnID = 5  // (kind, function, flags)
	colSparse    columnID = 6  // what few events have
	colDistance  columnID = 7  // of addresses, where their codes do not say all
	colFreeTimes columnID = 14 // differences before other events
	colLongTimes columnID = 15 // the rest of differences that half a byte does not hold
	perThread    columnID = 16
	colClass     columnID = perThread + iota - 10 // runs of allocations and of other events, in turn: half a byte each
	colStack0                                     // local stack, lowest byte
	colStack1                                     // second byte
	colStack2                                     // third byte and more, lazy
	colSize                                       // of an allocation
	colShape                                      // gaps
	colFreeShape                                  // gaps
	colSlack                                      // gaps
	colWideSlack                                  //
	colRef                                        // which allocation a Free ends, counted back from the latest, if it is near
	colFar0                                       // local stack of an allocation of an earlier block
	colFar1                                       //
	colFar2                                       // lazy
	colFarSize                                    //
	colFarSlack                                   // gaps
	colBorn                                       //
	colBornBy                                     //
	colFree0                                      // local stack of a deallocation itself plus 1, lazy
	colFree1                                      // lazy
	colFree2                                      // lazy
	colAddr                                       // of an allocation (Options.Addresses): a code, see placement
	colFarAddr                                    //
	colCount                                      // of calloc and reallocarray: gaps, with a varint
	colFarRef                                     // the allocation itself
	colLongRun                                    // the rest of runs that half a byte does not hold
	colEnd
)

// half is what the half of a byte holds at most; it says that the rest, a varint, is in another column.
const half = 15

// farRef in colRef says that the allocation is in colFarRef.
const farRef = 64

const threadColumns = int(colEnd - perThread)

// Classes of events: what columns they use.
const (
	classAlloc = 0 // Alloc, Fail, Map: a stack, a size
	classFree  = 1 // Free: which allocation
	classOther = 2 // Unmatched, Inherited
)

var classOf = [event.KindCount]uint8{
	event.Alloc: classAlloc, event.Fail: classAlloc, event.Map: classAlloc, event.Free: classFree,
	event.Unmatched: classOther, event.Inherited: classOther, event.Unrecorded: classOther,
}

// A shape is what an event is in one number: kind, function and flags. A block has at most maxShapes of them.
const (
	maxShapes   = 254
	kindBits    = 3
	funcBits    = 6
	flagBits    = 6
	shapeSpace  = 1 << (kindBits + funcBits + flagBits)
	flagShift   = kindBits + funcBits
	temporaryIn = uint32(event.Temporary) << flagShift
	reallocIn   = uint32(event.Realloc) << flagShift
	usableIn    = uint32(event.HasUsable) << flagShift
)

func shapeKey(k event.Kind, f event.Func, fl event.Flags) uint32 {
	return uint32(k) | uint32(f)<<kindBits | uint32(fl)<<flagShift
}

// Fields of the sparse column. Each entry is the number of events since the previous entry, the mask of its fields, and
// their values in this order.
const (
	sparseAlign = 1 << iota
	sparseCount
	sparseAddr
	sparseOldAddr
	sparseOldSize
	sparseStack // of a classOther event
	sparseSize  // of a classOther event, or a size of 2^64-1
	sparseUsable
	sparseBorn
	sparseBornBy
	sparseRef
	sparseFreeStack // of a classAlloc event
	sparseAll       = 1<<iota - 1
)

// slackTable predicts the slack of a block from the slack of blocks of like size. It is kept by both sides, for one block
// of events. A prediction changes only when the same other value was seen twice in a row: allocators answer mostly one
// slack for a size and now and then another one.
type slackTable [1024]slackOf

// wideSlack is the code that says that the slack is in another column. 1 stands for a slack of 0 and so on.
const wideSlack = 255

// slackOf is an entry of a slackTable.
type slackOf struct{ now, other uint8 }

func (s *slackOf) learn(code uint8) {
	if s.other == code || s.now == 0 {
		s.now = code
	}
	s.other = code
}

// counted says of which functions the column of counts tells.
var counted = [1 << funcBits]bool{event.Calloc: true, event.Reallocarray: true}

// predict returns the count that is likely with a size: elements at one stack have mostly one size.
func (s *stackState) predict(size uint64) uint64 { return predictCount(s.unit, size) }

func predictCount(unit, size uint64) uint64 {
	if unit == 0 || size%unit != 0 {
		return 0
	}
	return size / unit
}

func (s *stackState) learn(size, count uint64) { s.unit = learnUnit(size, count) }

func learnUnit(size, count uint64) uint64 {
	if count == 0 || size%count != 0 {
		return 0
	}
	return size / count
}

// gaps builds a column of which most elements are 0: for each of the others the number of zeros before it, and its value.
type gaps struct {
	n    int // elements so far
	last int // the element after the latest that is not 0
}

func (g *gaps) put(col []byte, v byte) []byte {
	col = appendUint(col, uint64(g.n-g.last))
	g.last = g.n + 1
	return append(col, v)
}

// appendUint appends a varint. Whether it takes one byte or two is decided without a branch, since it is as good as
// random for most numbers here.
func appendUint(b []byte, v uint64) []byte {
	if v < 1<<14 {
		more := (0x7f - v) >> 63
		b = append(b, byte(v)|byte(more<<7), byte(v>>7))
		return b[:len(b)-1+int(more)]
	}
	return binary.AppendUvarint(b, v)
}

// put stores v as element n of a lazy column: zeros are not written until something follows them.
func put(col []byte, n int, v byte) []byte {
	for len(col) < n {
		col = append(col, 0)
	}
	return append(col, v)
}
