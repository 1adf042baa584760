package firefox

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// row is an allocation or, if bytes is negative, a deallocation.
type row struct {
	at    int64 // ns
	bytes int64
	stack uint32
	block uint64 // an allocation and the deallocation that ends it have the same
	tid   uint32
}

// rows yields all rows in the order of time. Each call yields the same rows.
type rows func(yield func(r *row) error) error

// rowsOf returns the rows of a recording. If the recording has only sums, all allocations are at the beginning of the
// range, and all deallocations at its end.
func rowsOf(ctx context.Context, in *export.Input, sums *query.StackTable) (rows, error) {
	if in.Variant == byBlock {
		return blockRows(ctx, in), nil
	}
	list, err := stepRows(ctx, in, &sums.Answer)
	if err != nil && export.OnlySums(err) {
		list, err = sumRows(sums), nil
	}
	return func(yield func(r *row) error) error {
		for i := range list {
			if err := yield(&list[i]); err != nil {
				return err
			}
		}
		return nil
	}, err
}

// blockRows returns a row for each event. Each call reads the events again.
func blockRows(ctx context.Context, in *export.Input) rows {
	threads := in.Reader.Threads()
	return func(yield func(r *row) error) error {
		return in.Events(ctx, func(_, ref uint64, e *event.Event) error {
			_, bytes := e.Weight()
			r := row{at: e.Time, bytes: int64(bytes), stack: e.Stack, block: ref, tid: tid(threads, e.Thread)}
			switch {
			case e.Size == 0:
				return nil // the profiler takes any row that is not negative for an allocation
			case e.Kind == event.Free:
				r.bytes = -r.bytes
			case e.Kind != event.Alloc:
				return nil
			}
			return yield(&r)
		})
	}
}

func tid(list []event.Thread, index uint32) uint32 {
	if int64(index) >= int64(len(list)) {
		return index
	}
	return list[index].TID
}

// lot identifies the blocks that one thread allocated at one call stack in one step, and that ended in one step. Steps
// count from 1. born 0: before the range; died 0: not within the range.
type lot struct {
	born, died    uint32
	stack, thread uint32
}

// stepRows sums up the bytes of each lot, in one pass over the events.
func stepRows(ctx context.Context, in *export.Input, a *query.Answer) ([]row, error) {
	step := func(at int64) uint32 {
		return uint32(min(max(at-a.Begin, 0)/max(a.Span/steps, 1), steps-1)) + 1
	}
	first, err := allocationsBefore(ctx, in, a.From)
	if err != nil {
		return nil, err
	}
	lots := make(map[lot]uint64)
	err = in.Events(ctx, func(_, ref uint64, e *event.Event) error {
		_, bytes := e.Weight()
		switch e.Kind {
		case event.Alloc:
			lots[lot{step(e.Time), 0, e.Stack, e.Thread}] += bytes
		case event.Free:
			l := lot{0, 0, e.Stack, e.BornBy}
			if ref >= first {
				l.born = step(e.Born)
				lots[l] -= bytes
			}
			l.died = step(e.Time)
			lots[l] += bytes
		}
		return nil
	})
	return lotRows(lots, in.Reader.Threads(), a), err
}

// allocationsBefore returns the number of allocations before a cut. It separates blocks from before a range from those
// within, even at equal times.
func allocationsBefore(ctx context.Context, in *export.Input, cut uint64) (n uint64, err error) {
	if cut == 0 {
		return 0, nil
	}
	changes, err := timetravel.Changes(ctx, in.Reader, 0, cut)
	for _, c := range changes.List() {
		n += c.Allocs
	}
	return n, err
}

// lotRows turns lots into rows. A lot begins at the beginning of a step and ends at the end of one.
func lotRows(lots map[lot]uint64, threads []event.Thread, a *query.Answer) []row {
	var keys []lot
	for l, bytes := range lots {
		if bytes > 0 {
			keys = append(keys, l)
		}
	}
	slices.SortFunc(keys, func(a, b lot) int {
		return cmp.Or(cmp.Compare(a.born, b.born), cmp.Compare(a.died, b.died), cmp.Compare(a.stack, b.stack),
			cmp.Compare(a.thread, b.thread))
	})
	length := max(a.Span/steps, 1)
	end := func(step uint32) int64 {
		if step == steps {
			return a.Begin + a.Span
		}
		return a.Begin + int64(step)*length
	}
	var list []row
	for i, l := range keys {
		r := row{bytes: int64(lots[l]), stack: l.stack, block: uint64(i), tid: tid(threads, l.thread)}
		if l.born > 0 {
			r.at = end(l.born - 1)
			list = append(list, r)
		}
		if l.died > 0 {
			r.at, r.bytes = max(end(l.died), r.at), -r.bytes
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b row) int { return cmp.Compare(a.at, b.at) })
	return list
}

// sumRows turns sums into rows.
func sumRows(t *query.StackTable) (list []row) {
	for i := range t.Rows {
		r := &t.Rows[i]
		freed := min(r.FreedBytes, r.Bytes)
		for k, bytes := range []uint64{freed, r.Bytes - freed} {
			if bytes > 0 {
				list = append(list, row{at: t.Begin, bytes: int64(bytes), stack: r.Stack, block: uint64(2*i + k)})
			}
		}
	}
	for i := range t.Rows {
		if freed := min(t.Rows[i].FreedBytes, t.Rows[i].Bytes); freed > 0 {
			list = append(list, row{at: t.Begin + t.Span, bytes: -int64(freed), stack: t.Rows[i].Stack,
				block: uint64(2 * i)})
		}
	}
	return list
}

// allocations writes the table of native allocations, column by column.
func (o *output) allocations(each rows, t *tables) error {
	n := 0
	column := func(name string, value func(b []byte, r *row) []byte) error {
		o.text(name + ":[")
		n = 0
		var b []byte
		err := each(func(r *row) error {
			b = b[:0]
			if n > 0 {
				b = append(b, ',')
			}
			n++
			o.bytes(value(b, r))
			return o.err
		})
		o.text("],")
		return err
	}
	o.text(`{"weightType":"bytes",`)
	for _, c := range []struct {
		name  string
		value func(b []byte, r *row) []byte
	}{
		{`"time"`, func(b []byte, r *row) []byte { return appendTime(b, r.at) }},
		{`"weight"`, func(b []byte, r *row) []byte { return strconv.AppendInt(b, r.bytes, 10) }},
		{`"stack"`, func(b []byte, r *row) []byte { return strconv.AppendInt(b, int64(t.leaves[r.stack]), 10) }},
		{`"memoryAddress"`, func(b []byte, r *row) []byte { return strconv.AppendUint(b, r.block+1, 10) }},
		{`"threadId"`, func(b []byte, r *row) []byte { return strconv.AppendUint(b, uint64(r.tid), 10) }},
	} {
		if err := column(c.name, c.value); err != nil {
			return err
		}
	}
	o.text(`"length":` + strconv.Itoa(n) + "}")
	return nil
}
