package query

import (
	"context"

	"github.com/heaptap/heaptap/internal/event"
)

// Period is one step of a recording's time; all steps have equal length. Bytes are requested bytes.
type Period struct {
	End                        int64 // ns since the recording's start
	Allocations, Deallocations uint64
	Bytes                      uint64 // of the allocations
	Live, LiveBlocks           uint64 // at its end
	Peak                       uint64 // the most live bytes within it
	Largest                    uint64 // size of its largest allocation
}

// PeriodCounter turns a recording's events into periods. The last one may be shorter.
type PeriodCounter struct {
	every int64
	p     Period
	yield func(*Period) error
}

// NewPeriodCounter returns a counter of steps of every ns. It yields a step as soon as a later event arrives. The
// *Period is valid until yield returns.
func NewPeriodCounter(every int64, yield func(*Period) error) *PeriodCounter {
	return &PeriodCounter{every: every, p: Period{End: every}, yield: yield}
}

func (c *PeriodCounter) next() error {
	err := c.yield(&c.p)
	c.p = Period{End: c.p.End + c.every, Live: c.p.Live, LiveBlocks: c.p.LiveBlocks, Peak: c.p.Live}
	return err
}

// Add counts an event; events must come in order.
func (c *PeriodCounter) Add(e *event.Event) error {
	p := &c.p
	for e.Time >= p.End {
		if err := c.next(); err != nil {
			return err
		}
	}
	n, bytes := e.Weight()
	switch e.Kind {
	case event.Alloc:
		p.Allocations += n
		p.Bytes += bytes
		p.Live += bytes
		p.LiveBlocks += n
		p.Peak, p.Largest = max(p.Peak, p.Live), max(p.Largest, e.Size)
	case event.Free:
		p.Deallocations += n
		p.Live -= bytes
		p.LiveBlocks -= n
	}
	return nil
}

// Finish yields the periods up to the end of the process, which lasted duration ns.
func (c *PeriodCounter) Finish(duration int64) error {
	for c.p.End < duration {
		if err := c.next(); err != nil {
			return err
		}
	}
	c.p.End = min(c.p.End, duration)
	return c.yield(&c.p)
}

// Whole counts all events of a recording and finishes.
func (c *PeriodCounter) Whole(ctx context.Context, s *Source) error {
	if _, err := Events(ctx, s, &Query{}, func(_, _ uint64, e *event.Event) error { return c.Add(e) }); err != nil {
		return err
	}
	return c.Finish(s.Profile.Duration)
}
