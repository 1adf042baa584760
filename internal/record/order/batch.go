package order

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/records"
	"github.com/heaptap/heaptap/internal/wire"
)

// Records are merged into a batch before anybody else sees them, so that each of the loops that they go through is
// short, and where the ledger's table is large, the processor waits for many places of it at once.

// BatchSize is how many records a batch has at most.
const BatchSize = 256

// Batch is records in their order: each as a row for the ledger, and what else it says.
type Batch struct {
	rows    [BatchSize]event.Row // RowOther: all that there is to say is in its Record
	raw     [BatchSize]raw
	n       int
	inRuns  int           // how many of them are in runs
	kinds   event.RowKind // all of theirs, or more: bit by bit
	runs    []run
	more    []extended
	latest  uint64 // timestamp of the latest of them
	time    int64  // and its time, in the recording's units
	current Record
}

// raw is what a row does not say of its record.
type raw struct {
	word uint64 // address, kind, slack
	time uint64
}

// run is records of one stream in a row.
type run struct {
	stream *Stream
	end    int // in the batch
}

// extended is what came before a record.
type extended struct {
	at int // the record, in the batch
	records.Extras
}

// Record is a record in its order.
type Record struct {
	Stream *Stream
	Word   uint64 // address, kind, slack
	Time   uint64
	Size   uint32
	Stack  uint32          // the recording's number
	Count  uint64          // first argument of calloc and reallocarray
	Extras *records.Extras // what came before it, or nil
}

// Kind is the record's kind.
func (r *Record) Kind() uint8 { return uint8(r.Word >> wire.KindShift) }

// Slack is its slack.
func (r *Record) Slack() uint8 { return uint8(r.Word >> wire.SlackShift) }

// Addr is its address.
func (r *Record) Addr() uint64 { return r.Word & wire.AddrMask }

// Rows are the records as rows for the ledger; those that do not fit are of kind RowOther.
func (b *Batch) Rows() []event.Row { return b.rows[:b.n] }

// Plain says whether no row is of kind RowOther; false: some may be.
func (b *Batch) Plain() bool { return b.kinds <= event.RowFree }

// Time is the timestamp of a record.
func (b *Batch) Time(at int) uint64 { return b.raw[at].time }

// Extended says whether something came before some of the records.
func (b *Batch) Extended() bool { return len(b.more) > 0 }

// Cursor is a place in a batch: it only goes forward.
type Cursor struct{ run, more int }

// Record is a record whatever it says. It is valid until the next call.
func (b *Batch) Record(c *Cursor, at int) *Record {
	for b.runs[c.run].end <= at {
		c.run++
	}
	e, r := &b.rows[at], &b.current
	*r = Record{
		Stream: b.runs[c.run].stream, Word: b.raw[at].word, Time: b.raw[at].time,
		Size: uint32(e.Size), Stack: e.Stack, Count: e.Born,
	}
	if c.more < len(b.more) && b.more[c.more].at == at {
		r.Extras = &b.more[c.more].Extras
		c.more++
	}
	return r
}

// extend adds what came before the batch's last record.
func (b *Batch) extend(x *records.Extras) {
	e := &b.rows[b.n-1]
	if x.Only(wire.XCount) && (e.Func == event.Calloc || e.Func == event.Reallocarray) {
		e.Born = x.Count
	} else {
		b.more = append(b.more, extended{b.n - 1, *x})
		e.Kind = event.RowOther
		b.kinds |= event.RowOther
	}
	*x = records.Extras{}
}

func (b *Batch) clear() {
	clear(b.runs)
	b.n, b.inRuns, b.kinds, b.runs, b.more = 0, 0, 0, b.runs[:0], b.more[:0]
}
