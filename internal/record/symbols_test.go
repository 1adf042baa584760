package record

import (
	"context"
	"errors"
	"testing"

	"github.com/heaptap/heaptap/internal/record/sampler"
	"github.com/heaptap/heaptap/internal/spool"
)

// TestFetch: nothing is downloaded while other processes of the spool continue, whose records would wait for it.
func TestFetch(t *testing.T) {
	t.Parallel()
	c := newScript(t)
	asked := errors.New("asked")
	c.w.run.config.Fetch = func(context.Context, []byte) (string, error) { return "", asked }
	c.deliver(&processBegan{spool.Process{Slot: 1, PID: 2}, new(sampler.Layout)})
	c.p.ended = true
	if c.p.fetch() != nil {
		t.Error("its child still runs")
	}
	c.w.final = true
	if c.p.fetch() == nil {
		t.Error("no process writes any more")
	}
	c.w.final = false
	child := c.w.procs[1]
	child.ended = true
	if f := child.fetch(); f == nil {
		t.Error("all have ended")
	} else if _, err := f(t.Context(), nil); err != asked {
		t.Error(err)
	}
}
