package tally_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/tally"
)

// TestPrograms runs random programs through the ledger and the tally and compares every event and every number with
// what the program knows itself.
func TestPrograms(t *testing.T) {
	t.Parallel()
	programs := 3000
	if testing.Short() {
		programs = 300
	}
	for seed := range uint64(programs) {
		p := newProgram(seed)
		p.run(int(20 + seed%180))
		check(t, seed, p)
		if t.Failed() {
			return
		}
	}
}

// FuzzPrograms searches for a program that the ledger or the tally gets wrong.
func FuzzPrograms(f *testing.F) {
	f.Add(uint64(1), uint16(100))
	f.Fuzz(func(t *testing.T, seed uint64, steps uint16) {
		p := newProgram(seed)
		p.run(int(steps % 1000))
		check(t, seed, p)
	})
}

func check(t *testing.T, seed uint64, p *program) {
	t.Helper()
	slow := settler{l: ledger.New(p.forked)}
	for _, s := range p.ops {
		if s.op == nil {
			slow.barrier()
			continue
		}
		slow.ops = append(slow.ops, *s.op)
		slow.settle()
	}
	slow.finish()
	got, l, sum := slow.got, slow.l, tally.New()
	for i := range got {
		sum.Add(&got[i])
	}
	if fast := p.runFast(); !slices.Equal(fast, got) {
		t.Fatalf("program %d: the ledger makes other events of rows:\n%+v\n%+v", seed, fast, got)
	}
	for i := range max(len(got), len(p.want)) {
		if i >= len(got) || i >= len(p.want) || got[i] != p.want[i] {
			var g, w any = "no event", "no event"
			if i < len(got) {
				g = got[i]
			}
			if i < len(p.want) {
				w = p.want[i]
			}
			t.Fatalf("program %d: event %d of %d: got, want:\n%+v\n%+v", seed, i, len(p.want), g, w)
		}
	}
	n := naive(p.want)
	if d := cmp.Diff(n.totals(), sum.Totals()); d != "" {
		t.Errorf("program %d: totals (-want +got):\n%s", seed, d)
	}
	s := sum.Summary()
	if d := cmp.Diff(n.stacks(), s.Stacks); d != "" {
		t.Errorf("program %d: stacks (-want +got):\n%s", seed, d)
	}
	if d := cmp.Diff(n.threads(), s.Threads); d != "" {
		t.Errorf("program %d: threads (-want +got):\n%s", seed, d)
	}
	if d := cmp.Diff(n.spread(), s.Spread); d != "" {
		t.Errorf("program %d: sizes, lifetimes and threads (-want +got):\n%s", seed, d)
	}
	if s.Mapped != nil {
		s.Mapped.Ranges = nil
	}
	if d := cmp.Diff(n.mapped(), s.Mapped); d != "" {
		t.Errorf("program %d: mappings (-want +got):\n%s", seed, d)
	}
	blocks, bytes := l.Live()
	if tot := sum.Totals(); blocks != tot.LiveBlocks || bytes != tot.LiveBytes {
		t.Errorf("program %d: the ledger has %d blocks, %d bytes live; the tally %d, %d", seed, blocks, bytes,
			tot.LiveBlocks, tot.LiveBytes)
	}
	var peak uint64
	for _, st := range s.Stacks {
		peak += st.LiveAtPeakBytes
	}
	if peak != s.Totals.Peak.Bytes {
		t.Errorf("program %d: the stacks' live bytes at the peak sum to %d, the peak is %d", seed, peak,
			s.Totals.Peak.Bytes)
	}
}

// runFast runs the program through a ledger of its own, as rows wherever ops fit into them, as many at a time as there
// are.
func (p *program) runFast() []event.Event {
	s := settler{l: ledger.New(p.forked)}
	for i := range p.ops {
		op := p.ops[i].op
		if op == nil {
			s.settle()
			s.barrier()
			continue
		}
		s.ops = append(s.ops, *op)
		s.rows = append(s.rows, rowOf(op))
	}
	s.settle()
	s.finish()
	return s.got
}

// settler settles ops, in batches.
type settler struct {
	l    *ledger.Ledger
	ops  []ledger.Op
	rows []event.Row // of ops, or none: then each is of kind RowOther
	got  []event.Event
}

// settle settles ops as one batch.
func (s *settler) settle() {
	if len(s.rows) == 0 {
		s.rows = slices.Repeat([]event.Row{{Kind: event.RowOther}}, len(s.ops))
	}
	b := ledger.Batch{Batch: event.Batch{Rows: s.rows}}
	for i := range s.rows {
		if s.rows[i].Kind == event.RowOther {
			b.Ops = append(b.Ops, s.ops[i])
		}
	}
	s.l.Settle(&b)
	i, others := 0, b.Others
	for rows, full := range b.Parts() {
		for k := range rows {
			s.got = append(s.got, *eventOf(&rows[k], &s.ops[i+k]))
		}
		if i += len(rows); len(others) > 0 {
			i, others = i+1, others[1:]
		}
		s.take(full)
	}
	s.ops, s.rows = s.ops[:0], s.rows[:0]
}

func (s *settler) take(full []event.Full) {
	for i := range full {
		s.got = append(s.got, full[i].Event)
	}
}

// barrier settles what waits.
func (s *settler) barrier() {
	for range 2 {
		var b ledger.Batch
		s.l.Barrier(&b)
		s.take(b.Full)
	}
}

func (s *settler) finish() {
	var b ledger.Batch
	s.l.Finish(&b)
	s.take(b.Full)
}

// rowOf is an op's row; RowOther: it does not fit into one.
func rowOf(o *ledger.Op) event.Row {
	r := event.Row{
		Time: uint64(o.Time), Addr: o.Addr & (1<<48 - 1), Size: o.Size, Ref: o.Usable - o.Size, Born: o.Count,
		Stack: o.Stack, Thread: o.Thread, BornBy: o.Stream, Func: o.Func, Kind: event.RowOther,
	}
	switch {
	case o.Late:
	case o.Kind == ledger.OpFree:
		r.Kind, r.Ref, r.Born = event.RowFree, 0, 0
	case o.Kind == ledger.OpAlloc && o.HasUsable && o.Usable >= o.Size && o.Align == 0:
		r.Kind = event.RowAlloc
	}
	return r
}

// eventOf is the event that a ledger has made of an op's row.
func eventOf(p *event.Row, o *ledger.Op) *event.Event {
	if p.Kind == event.RowAlloc {
		e := &event.Event{Kind: event.Alloc, Time: o.Time, Func: o.Func, Thread: o.Thread, Stack: o.Stack,
			Ref:  event.NoRef,
			Addr: p.Addr, Size: o.Size, Usable: o.Usable, Align: o.Align, Count: o.Count}
		if o.HasUsable {
			e.Flags = event.HasUsable
		}
		return e
	}
	e := &event.Event{Kind: event.Free, Time: o.Time, Func: o.Func, Thread: o.Thread, Stack: p.Stack,
		FreeStack: o.FreeStack, Ref: p.Ref, Addr: p.Addr, Size: p.Size, Born: int64(p.Born), BornBy: p.BornBy}
	if p.Kind == event.RowTemporary {
		e.Flags = event.Temporary
	}
	return e
}
