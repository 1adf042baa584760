package spool

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/heaptap/heaptap/internal/spool/spooltest"
	"github.com/heaptap/heaptap/internal/wire"
)

// TestNames: names are found by their ids as they are published, also where an entry lies across two segments; what is
// damaged is an end.
func TestNames(t *testing.T) {
	t.Parallel()
	a := spooltest.New(t, t.TempDir(), "prog", 100).Publish()
	s, err := Open(a.Path, "", false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tables := s.Tables()
	defer tables.Close()
	if text, ok := tables.Name(1); ok {
		t.Errorf("%q before there is one", text)
	}
	texts := map[uint32]string{}
	for i := range 100 { // beyond the first segment of 4 KiB
		text := strings.Repeat("x", i*13%120) + "é"
		texts[a.Name(text)] = text
		if i%10 == 9 {
			for id, want := range texts {
				if got, ok := tables.Name(id); !ok || got != want {
					t.Fatalf("name %d: %q, %v, want %q", id, got, ok, want)
				}
			}
		}
	}
	id := a.Name("broken")
	at := atomic.LoadUint64(&a.Header.NameBytes) - 32
	a.Bytes(wire.SegNames, at, 4)[0] = 255
	if text, ok := tables.Name(id); ok {
		t.Errorf("%q of a damaged entry", text)
	}
	a.Name("lost")
	if text, ok := tables.Name(id + 1); ok {
		t.Errorf("%q behind a damaged entry", text)
	}
	if _, ok := tables.Name(1); !ok {
		t.Error("what was read is forgotten")
	}
}
