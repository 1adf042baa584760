package ledger_test

import (
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
)

// TestSampledIsNotPlain: the end of a sampled block has its weight and is not temporary, which plain events cannot say.
func TestSampledIsNotPlain(t *testing.T) {
	l := ledger.New(false)
	sampled := malloc(1, 0, 0x1000, 8)
	sampled.Sampled = true
	feed(l, sampled)
	list := []event.Plain{{Time: 2, Addr: 0x1000, Func: event.FreeFunc, Way: event.PlainFree}}
	if n := l.Plain(list); n != 0 {
		t.Errorf("the end of a sampled block is plain: %+v", list[0])
	}
	end := feed(l, free(2, 0, 0x1000))
	if len(end) != 1 || end[0].Flags&event.Sampled == 0 || end[0].Flags&event.Temporary != 0 {
		t.Errorf("its end: %+v", end)
	}
}
