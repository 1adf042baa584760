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
	l := ledger.New(p.forked)
	sum := tally.New()
	var got []event.Event
	emit := func(e *ledger.Event) {
		got = append(got, e.Event)
		sum.Add(&e.Event)
	}
	for _, s := range p.ops {
		if s.op == nil {
			l.Barrier(emit)
			l.Barrier(emit)
			continue
		}
		l.Add(s.op, emit)
	}
	l.Finish(emit)
	if fast := p.runFast(); !slices.Equal(fast, got) {
		t.Fatalf("program %d: the ledger's short ways give other events:\n%+v\n%+v", seed, fast, got)
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

// runFast runs the program through a ledger of its own, by the short way wherever that takes them, as many ops at a
// time as there are.
func (p *program) runFast() (got []event.Event) {
	l := ledger.New(p.forked)
	emit := func(e *ledger.Event) { got = append(got, e.Event) }
	var list []event.Plain
	for at := 0; at < len(p.ops); {
		if p.ops[at].op == nil {
			l.Barrier(emit)
			l.Barrier(emit)
			at++
			continue
		}
		list = list[:0]
		for k := at; k < len(p.ops); k++ {
			e, ok := plainOf(p.ops[k].op)
			if !ok {
				break
			}
			list = append(list, e)
		}
		n := l.Plain(list)
		for k := range n {
			got = append(got, *eventOf(&list[k], p.ops[at+k].op))
		}
		if at += n; n == 0 {
			l.Add(p.ops[at].op, emit)
			at++
		}
	}
	l.Finish(emit)
	return got
}

// plainOf is an op as Ledger.Plain takes it; false if it takes none of its kind.
func plainOf(o *ledger.Op) (e event.Plain, ok bool) {
	if o == nil || o.Late {
		return e, false
	}
	e = event.Plain{Time: uint64(o.Time), Addr: o.Addr & (1<<48 - 1), Size: o.Size, Stack: o.Stack, Thread: o.Thread,
		Func: o.Func}
	if o.Kind == ledger.OpFree {
		e.Way = event.PlainFree
	}
	return e, o.Kind == ledger.OpFree || o.Kind == ledger.OpAlloc
}

// eventOf is the event that Ledger.Plain has made of an op.
func eventOf(p *event.Plain, o *ledger.Op) *event.Event {
	if p.Way == event.PlainAlloc {
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
	if p.Way == event.PlainTemporary {
		e.Flags = event.Temporary
	}
	return e
}
