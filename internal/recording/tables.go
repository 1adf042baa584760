package recording

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// The tables of a recording: the fields of each, as doc.go specifies them.

var threadTable = column.Table[entry[event.Thread]]{Fields: func(r *column.Row, x, before *entry[event.Thread]) {
	r.Delta32(1, &x.id, before.id)
	r.Uint32(2, &x.v.TID)
	r.Int(3, &x.v.Start)
	if r.Has(4) { // which was added later
		r.Int(4, &x.v.End)
	}
	r.Text(column.Texts, &x.v.Name)
}}

var moduleTable = column.Table[event.Module]{Fields: func(r *column.Row, x, before *event.Module) {
	r.Delta32(1, &x.ID, before.ID)
	r.Uint(2, &x.Start)
	r.Offset(2, &x.End, x.Start)
	r.Uint(2, &x.Bias)
	r.Int(3, &x.Loaded)
	r.Int(3, &x.Unload)
	r.Text(column.Texts, &x.Path)
	r.Bytes(column.Texts, &x.BuildID)
}}

var pcTable = column.Table[entry[event.PC]]{Fields: func(r *column.Row, x, before *entry[event.PC]) {
	r.Delta32(1, &x.id, before.id)
	r.DeltaUint(2, &x.v.Addr, before.v.Addr)
	r.Flagged(3, &x.v.Module, &x.v.Interrupted)
}}

var nodeTable = column.Table[entry[event.Node]]{Fields: func(r *column.Row, x, before *entry[event.Node]) {
	r.Delta32(1, &x.id, before.id)
	r.Back32(2, &x.v.Parent, x.id)
	r.Flagged(3, &x.v.PC, &x.v.Truncated)
}}

// SampleFields returns a sample's numbers in the order of the format.
func SampleFields(s *event.Sample) [10]*int64 {
	return [10]*int64{&s.Time, &s.RSS, &s.Virtual, &s.Swap, &s.PSS, &s.MinorFaults, &s.MajorFaults, &s.SystemFree,
		&s.SystemCached, &s.Threads}
}

const (
	colSamples       column.ID = 16 // and the nine that follow: one for each field
	colSampleThreads           = colSamples + 9
)

var sampleTable = column.Table[event.Sample]{
	Columns: []column.ID{16, 17, 18, 19, 20, 21, 22, 23, 24, colSampleThreads},
	Fields: func(r *column.Row, x, before *event.Sample) {
		last := SampleFields(before)
		for i, v := range SampleFields(x) {
			if col := colSamples + column.ID(i); r.Has(col) || col != colSampleThreads { // which was added later
				r.Delta(col, v, *last[i])
			}
		}
	},
}

// decodeSamples reads samples. Each must have at least a byte in each column: so a forged file cannot claim many.
func decodeSamples(s *column.Set, list []event.Sample) ([]event.Sample, error) {
	head := s.Head
	n := head.Uint()
	for _, id := range sampleTable.Columns {
		if head.Bad || n > s.Raw(id) && (id != colSampleThreads || s.Has(id)) {
			return list, fmt.Errorf("it says %d samples and has fewer", n)
		}
	}
	return sampleTable.Decode(s, list)
}

// symbols are the functions at a pc, leaf to root.
type symbols = entry[[]event.Frame]

var symbolTable = column.Table[symbols]{Names: true, Fields: func(r *column.Row, x, before *symbols) {
	r.Delta32(1, &x.id, before.id)
	for i := range column.List(r, 2, &x.v, 4) {
		f := &x.v[i]
		r.Name(3, &f.Function)
		r.Name(3, &f.Linkage)
		r.Name(3, &f.File)
		r.Flagged(4, &f.Line, &f.Inlined)
	}
}}

// symbolsOf returns the functions at pcs as rows, in the order of the pcs.
func symbolsOf(frames map[uint32][]event.Frame) []symbols {
	list := make([]symbols, 0, len(frames))
	for pc, f := range frames {
		list = append(list, symbols{pc, f})
	}
	slices.SortFunc(list, func(a, b symbols) int { return cmp.Compare(a.id, b.id) })
	return list
}

// dataKind returns event.OtherData for a kind that this version does not know.
func dataKind(n uint64) event.DataKind { return event.DataKind(min(n, uint64(event.OtherData))) }

var variableTable = column.Table[event.Variable]{Names: true, Fields: func(r *column.Row, x, before *event.Variable) {
	r.Delta32(1, &x.Module, before.Module)
	r.Uint(2, &x.Addr)
	r.Uint(2, &x.Size)
	column.Enum(r, 3, &x.Kind, dataKind)
	r.Name(3, &x.Name)
	r.Name(3, &x.Linkage)
	r.Name(3, &x.File)
	r.Uint32(4, &x.Line)
	r.Check(x.Addr+x.Size >= x.Addr, column.ErrTable)
}}

var dataSectionTable = column.Table[event.DataSection]{Fields: func(r *column.Row, x, before *event.DataSection) {
	r.Delta32(1, &x.Module, before.Module)
	column.Enum(r, 2, &x.Kind, dataKind)
	r.Uint(2, &x.Start)
	r.Offset(2, &x.End, x.Start)
	r.Uint(3, &x.Variables)
	r.Uint(3, &x.Named)
	r.Check(x.Start <= x.End, column.ErrTable)
}}

var errRanges = errors.New("they do not follow one another")

var residencyTable = column.Table[event.Residency]{Fields: func(r *column.Row, x, before *event.Residency) {
	r.Delta32(1, &x.Module, before.Module)
	r.Int(2, &x.Time)
	r.Uint(2, &x.PageSize)
	for _, ranges := range []*[]event.AddrRange{&x.Looked, &x.Resident} {
		at := uint64(0)
		for i := range column.List(r, 3, ranges, 4) {
			a := &(*ranges)[i]
			r.Offset(4, &a.Start, at)
			r.Offset(4, &a.End, a.Start)
			if r.Reading() && (r.Bad() || a.Start < at || a.End < a.Start) {
				r.Fail(fmt.Errorf("the ranges of module %d: %w", x.Module, errRanges))
				break
			}
			at = a.End
		}
	}
}}

var markTable = column.Table[event.Mark]{Fields: func(r *column.Row, x, before *event.Mark) {
	r.Delta(1, &x.Time, before.Time)
	column.Known(r, 2, &x.Source, event.MarkSources)
	r.Uint32(2, &x.Thread)
	cut := x.Cut + 1 // event.NoCut: 0
	r.Uint(3, &cut)
	x.Cut = cut - 1
	r.Text(column.Texts, &x.Name)
	r.Check(x.Time >= 0, errors.New("a time is negative"))
}}

// when has the fields of a thread and a time, each as the difference to the row before.
func when(r *column.Row, thread *uint32, threadBefore uint32, time *int64, timeBefore int64) {
	r.Delta32(1, thread, threadBefore)
	r.Delta(2, time, timeBefore)
	r.Check(*time >= 0, column.ErrTable)
}

var errPlace = errors.New("a region's place is impossible")

var regionTable = column.Table[event.RegionNote]{Names: true, Fields: func(r *column.Row, x, before *event.RegionNote) {
	when(r, &x.Thread, before.Thread, &x.Time, before.Time)
	r.DeltaUint(2, &x.Event, before.Event)
	r.DeltaUint(2, &x.Alloc, before.Alloc)
	r.Name(3, &x.Name)
	r.Uint32(4, &x.Leaves)
	if x.Leaves == 0 {
		n := uint64(x.Count)
		if x.Late != event.NotLate {
			n = event.RegionIDs + uint64(x.Late)
		}
		r.Uint(4, &n)
		switch {
		case n <= event.RegionIDs:
			x.Count = uint8(n)
			for i := range n {
				r.Int(4, &x.IDs[i])
			}
		case n <= event.RegionIDs+uint64(event.LateFree):
			x.Late = event.Lateness(n - event.RegionIDs)
			r.Uint32(4, &x.Back)
		default:
			r.Fail(column.ErrTable)
		}
	}
	r.Check(x.Alloc <= x.Event, errPlace)
}}

var rangeTable = column.Table[event.NamedRange]{Names: true, Fields: func(r *column.Row, x, before *event.NamedRange) {
	when(r, &x.Thread, before.Thread, &x.Time, before.Time)
	r.DeltaUint(2, &x.Event, before.Event)
	r.Name(3, &x.Name)
	r.DeltaUint(4, &x.Start, before.Start)
	r.Uint(4, &x.Size)
}}

// residentTop bounds the bytes of a part of a resident set, so that sums of them do not overflow.
const residentTop = 1 << 56

var residentTable = column.Table[event.ResidentPart]{Names: true, Fields: func(
	r *column.Row, x, before *event.ResidentPart) {
	r.Delta(1, &x.Time, before.Time)
	column.Enum(r, 2, &x.Kind, func(n uint64) event.ResidentKind {
		return event.ResidentKind(min(n, uint64(event.ResidentRest)))
	})
	r.Uint(2, &x.Bytes)
	r.Uint(2, &x.Size)
	r.Uint32(3, &x.Stack)
	r.Name(3, &x.Name)
	r.Check(x.Time >= 0 && x.Bytes < residentTop && x.Size < residentTop, column.ErrTable)
}}

var stackUseTable = column.Table[event.StackUse]{Fields: func(r *column.Row, x, before *event.StackUse) {
	when(r, &x.Thread, before.Thread, &x.Time, before.Time)
	column.Known(r, 3, &x.Measure, event.StackMeasures)
	r.Uint(3, &x.Bytes)
	r.Uint32(4, &x.Stack)
}}

var pairTable = column.Table[event.Pair]{Fields: func(r *column.Row, x, before *event.Pair) {
	when(r, &x.Thread, before.Thread, &x.Time, before.Time)
	column.Enum(r, 3, &x.Mismatch, func(n uint64) event.Mismatch { return event.Mismatch(n & event.Mismatches) })
	column.Enum(r, 3, &x.Alloc, knownFunc)
	column.Enum(r, 3, &x.Free, knownFunc)
	r.Uint32(3, &x.Stack)
	r.Uint32(3, &x.FreeStack)
	for _, v := range [...]*uint64{&x.Count, &x.Size, &x.FreeSize, &x.Align, &x.FreeAlign} {
		r.Uint(4, v)
	}
	r.Skip(x.Mismatch == 0 || x.Count == 0)
}}

// knownFunc returns event.FuncUnknown for a function that this version does not know.
func knownFunc(n uint64) event.Func {
	if n < uint64(event.FuncCount) {
		return event.Func(n)
	}
	return event.FuncUnknown
}

var poolTable = column.Table[event.Pool]{Names: true, Fields: func(r *column.Row, x, _ *event.Pool) {
	for _, v := range [...]*uint64{&x.Backing, &x.PeakBacking, &x.Live, &x.PeakLive, &x.Blocks,
		&x.Allocations, &x.Frees, &x.Bytes} {
		r.Uint(2, v)
	}
	r.Name(3, &x.Name)
	r.Check(x.Live <= x.PeakLive && x.Backing <= x.PeakBacking, column.ErrTable)
}}

var errCounts = errors.New("its counts contradict each other")

var countTable = column.Table[event.Count]{Names: true, Err: errCounts, Fields: countFields}

func countFields(r *column.Row, x, before *event.Count) {
	r.Delta32(1, &x.TID, before.TID)
	fn := uint32(x.Func)
	r.Flagged(2, &fn, &x.Frees)
	r.Check(fn < 1<<block.FuncBits, errCounts)
	x.Func = event.Func(fn)
	for _, v := range [...]*uint64{&x.Calls, &x.Failed, &x.Bytes, &x.Usable, &x.Time, &x.Timed} {
		r.Uint(2, v)
	}
	r.Name(3, &x.Name)
	classFields(r, &x.Sizes, event.SizeClasses)
	classFields(r, &x.Times, event.TimeClasses)
}

// classFields has the fields of the classes that are not empty: how many there are, and for each its number, which is
// below end, minus that of the one before, and its count.
func classFields(r *column.Row, list *[]event.Class, end uint64) {
	n := uint64(len(*list))
	r.Uint(4, &n)
	r.Check(n <= end, errCounts)
	if r.Reading() && n > 0 && n <= end {
		*list = make([]event.Class, n)
	}
	before := uint8(0)
	for i := range *list {
		c := &(*list)[i]
		up := uint64(c.Class - before)
		r.Uint(4, &up)
		r.Check(up < end && uint64(before)+up < end && (i == 0 || up > 0), errCounts)
		before += uint8(up)
		if r.Reading() {
			c.Class = before
		}
		r.Uint(4, &c.Calls)
	}
}

func encodeCounts(p *column.Payload, c *event.Counts) { countTable.Encode(p, c.Rows, c.Tick) }

func decodeCounts(s *column.Set) (*event.Counts, error) {
	c := &event.Counts{}
	var err error
	if c.Rows, err = countTable.Decode(s, nil, &c.Tick); err != nil {
		return nil, err
	}
	return c, nil
}

// spread is how a call stack differs between the inputs of a merged recording.
type spread = entry[Spread]

var spreadTable = column.Table[spread]{Fields: func(r *column.Row, x, before *spread) {
	r.Delta32(1, &x.id, before.id)
	r.Uint(2, &x.v.Inputs)
	for _, e := range x.v.All() {
		r.Uint(3, &e.Min)
		r.Uint(3, &e.Max)
		r.Uint32(4, &e.MinAt)
		r.Uint32(4, &e.MaxAt)
	}
}}
