package query

import (
	"context"

	"github.com/heaptap/heaptap/internal/event"
)

// Period is a step of equal length of a recording's time, in requested bytes.
type Period struct {
	End                        int64 // ns since the recording's start
	Allocations, Deallocations uint64
	Bytes                      uint64 // of the allocations
	Live, LiveBlocks           uint64 // at its end
	Peak                       uint64 // the most that was live in it
	Largest                    uint64 // size of its largest allocation
}

// Periods hands over what happened in each step of so many ns, up to the end of the process. The last one may be shorter.
func Periods(ctx context.Context, s *Source, every int64, yield func(*Period) error) error {
	p := Period{End: every}
	next := func() error {
		err := yield(&p)
		p = Period{End: p.End + every, Live: p.Live, LiveBlocks: p.LiveBlocks, Peak: p.Live}
		return err
	}
	_, err := Events(ctx, s, &Query{}, func(_, _ uint64, e *event.Event) error {
		for e.Time >= p.End {
			if err := next(); err != nil {
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
	})
	for err == nil && p.End < s.Profile.Duration {
		err = next()
	}
	if err != nil {
		return err
	}
	p.End = min(p.End, s.Profile.Duration)
	return yield(&p)
}
