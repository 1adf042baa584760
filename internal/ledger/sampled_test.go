package ledger_test

import (
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
)

// TestSampledIsNotPlain: the end of a sampled block has its weight and is not temporary, which a row cannot say.
func TestSampledIsNotPlain(t *testing.T) {
	l := ledger.New(false)
	sampled := malloc(1, 0, 0x1000, 8)
	sampled.Sampled = true
	feed(l, sampled)
	b := ledger.Batch{}
	b.Rows = []event.Row{{Time: 2, Addr: 0x1000, Func: event.FreeFunc, Kind: event.RowFree}}
	l.Settle(&b)
	if b.Plain != 0 {
		t.Errorf("the end of a sampled block is plain: %+v", b.Rows[0])
	}
	end := b.Full
	if len(end) != 1 || end[0].Flags&event.Sampled == 0 || end[0].Flags&event.Temporary != 0 {
		t.Errorf("its end: %+v", end)
	}
}
