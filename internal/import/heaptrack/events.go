package heaptrack

import (
	"errors"
	"fmt"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// info returns a size and call stack by its number.
func (r *reader) info(n uint64) (*info, error) {
	if n >= uint64(len(r.infos)) {
		return nil, fmt.Errorf("allocation %x of %x", n, len(r.infos))
	}
	return &r.infos[n], nil
}

func (r *reader) alloc(n uint64) error {
	i, err := r.info(n)
	if err != nil {
		return err
	}
	i.live = append(i.live, block{r.allocs, r.now})
	r.allocs++
	r.latest = r.allocs
	return r.w.Event(&event.Event{Time: r.now, Kind: event.Alloc, Func: event.Malloc, Stack: i.stack, Size: i.size, Ref: event.NoRef})
}

// free ends the youngest of the blocks that it may be.
func (r *reader) free(n uint64) error {
	i, err := r.info(n)
	if err != nil {
		return err
	}
	if len(i.live) == 0 {
		return errors.New("more deallocations than allocations of this size and call stack")
	}
	b := i.live[len(i.live)-1]
	i.live = i.live[:len(i.live)-1]
	e := event.Event{Time: r.now, Kind: event.Free, Func: event.FreeFunc, Stack: i.stack, Size: i.size, Ref: b.ref, Born: b.born}
	if b.ref+1 == r.latest {
		e.Flags = event.Temporary
	}
	return r.w.Event(&e)
}

// finish ends the recording. How the process ended is not told.
func (r *reader) finish() error {
	return errors.Join(r.w.Symbols(r.frames), r.w.Finish(recording.Ending{End: r.now, Status: "not told by heaptrack"}))
}
