package records_test

import (
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/record/records"
	"github.com/heaptap/heaptap/internal/wire"
)

// TestApply: what comes before a record completes its op, and only where the record leaves room for it.
func TestApply(t *testing.T) {
	t.Parallel()
	var x records.Extras
	if !x.None() {
		t.Error("nothing has come, and it says otherwise")
	}
	x.Add(wire.XSize, 1<<40)
	x.Add(wire.XCount, 7)
	x.Add(63, 5) // of a newer agent
	if x.None() || x.Only(wire.XCount) || !x.Has(wire.XSize) || x.Has(wire.XUsable) {
		t.Errorf("%+v", x)
	}
	op := ledger.Op{HasUsable: true}
	x.Apply(&op, wire.SizeExtra, 8)
	if op.Size != 1<<40 || op.Usable != 1<<40+8 || op.Count != 7 {
		t.Errorf("%+v", op)
	}
	x = records.Extras{}
	x.Add(wire.XSize, 99)
	op = ledger.Op{Size: 5}
	if x.Apply(&op, 5, 8); op.Size != 5 {
		t.Errorf("a size that the record has itself became %d", op.Size)
	}
}

// TestMeanings: each deallocation has a form with a stack of its own, and what is not known says so.
func TestMeanings(t *testing.T) {
	t.Parallel()
	known := 0
	for kind, m := range records.Meanings {
		b := records.Briefs[kind]
		if b.Kind != m.Row || b.Func != m.Func {
			t.Errorf("kind %d: %+v in brief, %+v", kind, b, m)
		}
		if !m.Known && m.Row != event.RowOther {
			t.Errorf("kind %d is not known, and plain", kind)
		}
		if m.Known && m.Op == ledger.OpFree && !m.Stacked {
			known++
			if s := records.Meanings[wire.KStacked|uint8(kind)&31]; !s.Stacked || s.Func != m.Func || s.Op != m.Op {
				t.Errorf("%s with a stack: %+v", m.Func, s)
			}
		}
	}
	if known < 10 {
		t.Errorf("%d deallocation functions are known", known)
	}
}
