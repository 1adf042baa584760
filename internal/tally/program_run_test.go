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
	emit := func(e *event.Event) {
		got = append(got, *e)
		sum.Add(e)
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
	blocks, bytes := l.Live()
	if tot := sum.Totals(); blocks != tot.LiveBlocks || bytes != tot.LiveBytes {
		t.Errorf("program %d: the ledger has %d blocks, %d bytes live; the tally %d, %d", seed, blocks, bytes, tot.LiveBlocks, tot.LiveBytes)
	}
	var peak uint64
	for _, st := range s.Stacks {
		peak += st.LiveAtPeakBytes
	}
	if peak != s.Totals.Peak.Bytes {
		t.Errorf("program %d: the stacks' live bytes at the peak sum to %d, the peak is %d", seed, peak, s.Totals.Peak.Bytes)
	}
}

// runFast runs the program through a ledger of its own, by the short ways wherever that takes them.
func (p *program) runFast() (got []event.Event) {
	l := ledger.New(p.forked)
	emit := func(e *event.Event) { got = append(got, *e) }
	for _, s := range p.ops {
		if s.op == nil {
			l.Barrier(emit)
			l.Barrier(emit)
			continue
		}
		o := s.op
		addr := o.Addr & (1<<48 - 1)
		switch {
		case o.Kind == ledger.OpAlloc && !o.Late && l.Born(ledger.Hash(addr), addr, o.Size, o.Func, o.Stack, o.Thread, o.Time):
			e := event.Event{Kind: event.Alloc, Time: o.Time, Func: o.Func, Thread: o.Thread, Stack: o.Stack, Ref: event.NoRef,
				Addr: addr, Size: o.Size, Usable: o.Usable, Align: o.Align, Count: o.Count}
			if o.HasUsable {
				e.Flags = event.HasUsable
			}
			emit(&e)
		case o.Kind == ledger.OpFree && !o.Late && addr != 0:
			b, temporary := l.Died(ledger.Hash(addr), addr, o.Thread, o.Time)
			if b == nil {
				l.Add(o, emit)
				continue
			}
			e := event.Event{Kind: event.Free, Time: o.Time, Func: o.Func, Thread: o.Thread, Stack: b.Stack,
				FreeStack: o.FreeStack, Ref: b.Ref, Addr: addr, Size: b.Size, Born: b.Born, BornBy: b.Thread}
			if temporary {
				e.Flags = event.Temporary
			}
			emit(&e)
		default:
			l.Add(o, emit)
		}
	}
	l.Finish(emit)
	return got
}
