package spool

import (
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/heaptap/heaptap/internal/spool/spooltest"
	"github.com/heaptap/heaptap/internal/wire"
)

// TestMode: a change reaches the streams of processes that do not go by it yet, as long as that is so; what stands in
// busy then is no event.
func TestMode(t *testing.T) {
	t.Parallel()
	a := spooltest.New(t, t.TempDir(), "prog", 100)
	a.Header.Control = wire.ModeExact
	first := (*wire.Proc)(unsafe.Pointer(unsafe.SliceData(a.Bytes(wire.SegProcs, 0, 64))))
	first.Mode = wire.ModeExact
	a.Publish()
	s, err := Open(a.Path, "", true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	st, busy := a.Stream(0, 100, 0, "main"), a.Stream(0, 101, 0, "worker")
	busy.Slot.Busy = 0x7ff0
	r := s.Reader()
	defer r.Close()
	look := func() {
		t.Helper()
		if err := r.Round(newCollect(t), nil); err != nil {
			t.Fatal(err)
		}
		if len(r.Busy) != 1 || r.Busy[0].TID != 101 {
			t.Errorf("busy: %v", r.Busy)
		}
	}
	look()
	if got := atomic.LoadUint64(&st.Slot.Busy); got != 0 {
		t.Errorf("busy is %d without a change", got)
	}
	if err := s.SetMode(wire.ModeSampled); err != nil {
		t.Fatal(err)
	}
	if mode, number := s.Mode(); mode != wire.ModeSampled || number != 1 {
		t.Errorf("mode %d, number %d", mode, number)
	}
	for range 2 {
		look()
		if got := atomic.LoadUint64(&st.Slot.Busy); got != wire.BusyControl {
			t.Errorf("busy is %d", got)
		}
		if busy.Slot.Busy != 0x7ff0 {
			t.Errorf("the event of another thread was overwritten: %d", busy.Slot.Busy)
		}
		atomic.StoreUint64(&st.Slot.Busy, 0) // an event that did not look
	}
	look()
	atomic.StoreUint64(&st.Slot.Busy, 0)
	atomic.StoreUint32(&first.Mode, a.Header.Control)
	look()
	if got := atomic.LoadUint64(&st.Slot.Busy); got != 0 {
		t.Errorf("busy is %d after everybody has seen it", got)
	}
	if err := s.SetMode(wire.ModeSampled); err != nil {
		t.Fatal(err)
	}
	if _, number := s.Mode(); number != 1 {
		t.Errorf("no change has number %d", number)
	}
}
