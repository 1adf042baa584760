package record

import (
	"errors"
	"testing"

	"github.com/heaptap/heaptap/internal/control"
	"github.com/heaptap/heaptap/internal/record/procs"
)

// TestStatusesLate: a client that waits for an answer gets it although the spool has been closed meanwhile.
func TestStatusesLate(t *testing.T) {
	t.Parallel()
	c := newScript(t)
	c.arrive(1, 100, 200)
	c.look(1000)
	statuses := c.w.run.statuses([]addressed{{o: &source{spool: c.w.spool, w: c.w},
		m: &member{Life: &procs.Life{PID: 7}}}})
	path := c.p.file.Path
	c.finished()
	c.w.spool.Close()
	got := statuses()
	if want := (control.Process{PID: 7, File: path, Events: 2, LiveBytes: 2001, LiveBlocks: 2}); len(got) != 1 ||
		got[0].PID != want.PID ||
		got[0].File != want.File || got[0].Events != want.Events || got[0].LiveBytes != want.LiveBytes ||
		got[0].LiveBlocks != want.LiveBlocks {
		t.Errorf("%+v", got)
	}
}

// TestDumpUnflushed: a profile of a recording that could not be written is not printed as if it were up to date.
func TestDumpUnflushed(t *testing.T) {
	t.Parallel()
	c := newScript(t)
	r := c.w.run
	r.config.Dump = func(string, control.Request) ([]byte, error) { return []byte("old"), nil }
	answer := r.dump([]addressed{{o: &source{spool: c.w.spool, w: c.w}, m: &member{Life: &procs.Life{PID: 7}}}},
		&control.Request{Verb: control.Dump})
	for _, it := range c.w.queue.take(nil) {
		it.(*flushWanted).done(0, errors.New("the disk is full"))
	}
	if reply := answer(); reply.Error != "the disk is full" || reply.Text != nil {
		t.Errorf("%+v", reply)
	}
}
