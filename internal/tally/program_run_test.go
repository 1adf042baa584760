package tally_test

import (
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
