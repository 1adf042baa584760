package verify

import (
	"context"
	"fmt"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/tally"
)

// parts is into how many parts the events are cut to ask the recording's summaries about each.
const parts = 7

// summaries holds what the recording answers without reading all events against what the events say: what each part of it
// changed, and what was live at the end of each part.
type summaries struct {
	rec    *recording.Reader
	check  *Check
	cuts   []uint64
	now    map[uint32]*sums // by call stack
	stacks []map[uint32]sums
}

// sums is what happened at a call stack since the latest cut, and what is live there.
type sums struct {
	change recording.Change
	live   recording.Live
}

func newSummaries(r *recording.Reader, c *Check) *summaries {
	s := &summaries{rec: r, check: c, now: make(map[uint32]*sums)}
	_, last := r.Cuts()
	for i := range uint64(parts) {
		if at := last / parts * (i + 1); at > 0 && (i < parts-1 || at != last) {
			s.cuts = append(s.cuts, at)
		}
	}
	if last > 0 {
		s.cuts = append(s.cuts, last)
	}
	return s
}

// add counts an event; number is the cut after it.
func (s *summaries) add(e *event.Event, number uint64) {
	if e.Kind == event.Alloc || e.Kind == event.Free {
		n := s.now[e.Stack]
		if n == nil {
			n = &sums{change: recording.Change{Stack: e.Stack}, live: recording.Live{Stack: e.Stack}}
			s.now[e.Stack] = n
		}
		n.add(e)
	}
	if i := len(s.stacks); i < len(s.cuts) && number == s.cuts[i] {
		s.stacks = append(s.stacks, s.cut())
	}
}

func (n *sums) add(e *event.Event) {
	c := &n.change
	blocks, bytes := e.Weight()
	if e.Kind == event.Alloc {
		n.live.Blocks += blocks
		n.live.Bytes += bytes
		c.Allocs += blocks
		c.Bytes += bytes
		if net := int64(c.Bytes - c.FreedBytes); net > 0 {
			c.Top = max(c.Top, uint64(net))
		}
		return
	}
	n.live.Blocks -= blocks
	n.live.Bytes -= bytes
	c.Frees += blocks
	c.FreedBytes += bytes
	if e.Flags&event.Temporary != 0 {
		c.Temporary++
	}
}

// cut returns the sums at this moment, and begins anew.
func (s *summaries) cut() map[uint32]sums {
	all := make(map[uint32]sums)
	for id, n := range s.now {
		all[id] = *n
		n.change = recording.Change{Stack: id}
		if n.live.Blocks == 0 && n.live.Bytes == 0 {
			delete(s.now, id)
		}
	}
	return all
}

// compare asks the recording.
func (s *summaries) compare(peak tally.Peak) error {
	ctx := context.Background()
	asked := 0
	from := uint64(0)
	for i, want := range s.stacks {
		at := s.cuts[i]
		changes, err := s.rec.Changes(ctx, from, at)
		if err != nil {
			return err
		}
		live, err := s.rec.LiveAt(ctx, at)
		if err != nil {
			return err
		}
		asked += len(want)
		s.same(want, changes.List(), live, from, at)
		from = at
	}
	s.check.What = fmt.Sprintf("%d parts of the events: what changed and what was live at %d call stacks; the peak", len(s.stacks), asked)
	if len(s.cuts) == 0 || from != s.cuts[len(s.cuts)-1] {
		return nil
	}
	bytes, at, err := s.rec.PeakBetween(ctx, 0, from)
	if err != nil {
		return err
	}
	s.check.require(bytes == peak.Bytes && (bytes == 0 || at == peak.Event), "the peak is %d bytes at event %d, ought to be %d at %d", bytes, at, peak.Bytes, peak.Event)
	return nil
}

// same compares the answers about one part.
func (s *summaries) same(want map[uint32]sums, changes []recording.Change, live []recording.Live, from, at uint64) {
	got := make(map[uint32]sums)
	for _, c := range changes {
		got[c.Stack] = sums{change: c}
	}
	for _, l := range live {
		n := got[l.Stack]
		n.live = l
		got[l.Stack] = n
	}
	ids := make([]uint32, 0, len(want))
	for id := range want {
		ids = append(ids, id)
	}
	for id := range got {
		if _, ok := want[id]; !ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		w, g := want[id], got[id]
		w.change.Stack, g.change.Stack, w.live.Stack, g.live.Stack = id, id, id, id
		if w.change != g.change {
			s.check.problem("events %d to %d: the summaries say that call stack %d changed by %+v, the events %+v", from, at, id, g.change, w.change)
		}
		if w.live != g.live {
			s.check.problem("after event %d: the summaries say that %+v is live, the events %+v", at, g.live, w.live)
		}
	}
}
