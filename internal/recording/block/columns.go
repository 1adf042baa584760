package block

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// Columns of an events block. Those from perThread on have a part for each thread, in the order of the threads column.
const (
	colThreads   column.ID = 1  // for each thread: its index, and the lengths of its parts of the columns below
	colRuns      column.ID = 2  // which thread comes next, for how many events
	colTimes     column.ID = 3  // differences before allocations, in units of time: half a byte each
	colStacks    column.ID = 4  // the stacks of this block, in order of first appearance
	colShapes    column.ID = 5  // (kind, function, flags)
	colSparse    column.ID = 6  // fields that few events have
	colDistance  column.ID = 7  // of addresses whose codes need one
	colFreeTimes column.ID = 14 // differences before other events
	colLongTimes column.ID = 15 // the rest of differences that half a byte does not hold
	perThread    column.ID = 16
	colClass     column.ID = perThread + iota - 10 // runs of allocations and of other events, alternating: nibbles
	colStack0                                      // local stack, lowest byte
	colStack1                                      // second byte
	colStack2                                      // third byte and more, lazy
	colSize                                        // of an allocation
	colShape                                       // gaps
	colFreeShape                                   // gaps
	colSlack                                       // gaps
	colWideSlack                                   //
	colRef                                         // the allocation that a Free ends, counted back from the latest
	colFar0                                        // local stack of an allocation of an earlier block
	colFar1                                        //
	colFar2                                        // lazy
	colFarSize                                     //
	colFarSlack                                    // gaps
	colBorn                                        //
	colBornBy                                      //
	colFree0                                       // local stack of a deallocation itself plus 1, lazy
	colFree1                                       // lazy
	colFree2                                       // lazy
	colAddr                                        // of an allocation (Options.Addresses): a code, see placement
	colFarAddr                                     //
	colCount                                       // of calloc and reallocarray: gaps, with a varint
	colFarRef                                      // the allocation itself
	colLongRun                                     // the rest of runs that half a byte does not hold
	colEnd
)

// farRef in colRef says that the allocation is in colFarRef.
const farRef = 64

const threadColumns = int(colEnd - perThread)

// Classes of events, by the columns that they use.
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
	FuncBits    = 6
	FlagBits    = 6
	shapeSpace  = 1 << (kindBits + FuncBits + FlagBits)
	flagShift   = kindBits + FuncBits
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

// slackTable predicts the slack of a block from the slack of blocks of similar size. Encoder and decoder each keep one
// for a block of events. A prediction changes only after the same other value came twice in a row: for one size,
// allocators mostly have the same slack, and now and then another one.
type slackTable [1024]slackOf

// wideSlack is the code which says that the slack is in another column. Code 1 stands for a slack of 0, and so on.
const wideSlack = 255

// slackOf is an entry of a slackTable.
type slackOf struct{ now, other uint8 }

func (s *slackOf) learn(code uint8) {
	if s.other == code || s.now == 0 {
		s.now = code
	}
	s.other = code
}

// counted are the functions whose counts are in the column of counts.
var counted = [1 << FuncBits]bool{event.Calloc: true, event.Reallocarray: true}

// predict returns the likely count for a size: at one stack, elements mostly have the same size.
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

// EventColumnNames are the names of the columns of an events block.
var EventColumnNames = map[column.ID]string{
	colThreads:      "threads",
	colRuns:         "runs of threads",
	colTimes:        "times of allocations",
	colFreeTimes:    "times of other events",
	colLongTimes:    "long times",
	colStacks:       "stacks",
	colShapes:       "kinds",
	colSparse:       "rare fields",
	colChangeAllocs: "changes: allocations",
	colChangeFrees:  "changes: deallocations",
	colChangeBytes:  "changes: bytes",
	colChangeFreed:  "changes: freed bytes",
	colChangeTop:    "changes: tops",
	colChangeTemp:   "changes: temporary",
	colClass:        "runs of allocations and others",
	colLongRun:      "long runs",
	colStack0:       "stack, 1st byte",
	colStack1:       "stack, 2nd byte",
	colStack2:       "stack, the rest",
	colSize:         "size",
	colShape:        "kind",
	colFreeShape:    "kind of deallocation",
	colSlack:        "slack",
	colWideSlack:    "large slack",
	colRef:          "allocation that ended",
	colFarRef:       "allocation that ended, not near",
	colFar0:         "far: stack, 1st byte",
	colFar1:         "far: stack, 2nd byte",
	colFar2:         "far: stack, the rest",
	colFarSize:      "far: size",
	colFarSlack:     "far: slack",
	colBorn:         "far: birth",
	colBornBy:       "far: thread",
	colFree0:        "stack of deallocation, 1st byte",
	colFree1:        "stack of deallocation, 2nd byte",
	colFree2:        "stack of deallocation, the rest",
	colAddr:         "address",
	colDistance:     "address, not near",
	colFarAddr:      "far: address",
	colCount:        "count",
}
