package record

import (
	"testing"

	"github.com/heaptap/heaptap/internal/recording"
)

// TestThreadEnds: a thread ends when it says so, but not later than its recording: the target may have overwritten the
// time.
func TestThreadEnds(t *testing.T) {
	c := newScript(t)
	c.arrive(1, 1000, 2000)
	c.arrive(2, 1500, 9000)
	c.deliver(&streamEnded{stream: c.s(1), end: 3000})
	c.deliver(&streamEnded{stream: c.s(2), end: 1 << 60})
	c.look(20000)
	r := c.finished()
	end, _ := r.Ending()
	list := r.Threads()
	if len(list) != 2 || end.End < 9000-recording.Quantum {
		t.Fatalf("%+v, which ends at %d", list, end.End)
	}
	for i, want := range []int64{3000, end.End} {
		if got := list[i].End; got < want-recording.Quantum || got > want {
			t.Errorf("thread %d ended at %d, want %d", i, got, want)
		}
	}
}
