package event

import "iter"

// Batch holds events in order, as every stage of the recorder takes them and hands them on.
//
// Nearly all events are plain and have a row of 56 bytes each. A row of kind RowOther stands for something else: for
// an event that does not fit into a row, for several (what a pool held ends with it), or for none (a deallocation that
// waits in the ledger). These events are in Full.
type Batch struct {
	Rows   []Row
	Others []Other // the rows of kind RowOther, in order
	Full   []Full  // the events of these rows, in order; more than these have come after all rows

	// What the plain rows add up to, so that not every stage has to look at each of them.
	Plain  uint64 // events
	Allocs uint64 // allocations among them
	Bytes  uint64 // by so much more is live after them, modulo 2^64
}

// Row is a plain event in short form: an allocation with known slack, or a deallocation of a live block, that is
// neither Late nor Sampled nor part of a realloc.
type Row struct {
	Time   uint64 // in units of the recording
	Addr   uint64
	Size   uint64
	Ref    uint64 // RowFree: number of the allocation
	Born   uint64 // RowFree: in units, not later than Time
	Stack  uint32
	Thread uint32
	BornBy uint32 // RowFree
	Kind   RowKind
	Func   Func
}

// Slack returns a RowAlloc's usable bytes beyond its requested size. The field is shared with Ref.
func (r *Row) Slack() uint64 { return r.Ref }

// Count returns the first argument of a RowAlloc's calloc; 0: not recorded. The field is shared with Born.
func (r *Row) Count() uint64 { return r.Born }

// Stream returns the number of the stream that the row comes from, before the ledger has settled it. The field is
// shared with BornBy.
func (r *Row) Stream() uint32 { return r.BornBy }

// RowKind says what a Row is.
type RowKind uint8

// The kinds of rows.
const (
	RowAlloc     RowKind = iota
	RowFree              // of an allocation that was not the thread's latest
	RowTemporary         // of the thread's latest allocation
	RowOther             // stands for events in Batch.Full
)

// Other is a row of kind RowOther. Its events are those in Full from the previous Other's End on, up to its own.
type Other struct{ Row, End int }

// Full is an event that does not fit into a row, with what later stages need beside it.
type Full struct {
	Event
	Allocs uint64 // allocations before it: an Alloc's own number
	Ended  Func   // Free: the function that allocated the block
	Region uint32 // where its thread was when the event was recorded: how often it had entered or left regions
}

// Parts returns the events in their order: plain ones, then those of a row that is not plain, and so on.
func (b *Batch) Parts() iter.Seq2[[]Row, []Full] {
	return func(yield func([]Row, []Full) bool) {
		row, full := 0, 0
		for _, o := range b.Others {
			if !yield(b.Rows[row:o.Row], b.Full[full:o.End]) {
				return
			}
			row, full = o.Row+1, o.End
		}
		if row < len(b.Rows) || full < len(b.Full) {
			yield(b.Rows[row:], b.Full[full:])
		}
	}
}
