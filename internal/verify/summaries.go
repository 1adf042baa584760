package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
	"github.com/heaptap/heaptap/internal/tally"
)

// parts is the number of parts of the events about which the recording's summaries are asked.
const parts = 7

// summaries compares what the recording answers from its summaries with the events: what changed in each part, and what
// was live at the end of each part.
type summaries struct {
	rec    *recording.Reader
	check  *Check
	cuts   []uint64
	now    []sums           // since the latest cut
	number *byStack[uint32] // index in now, or in the part being compared, plus 1
	stacks [][]sums         // at each cut
}

// sums is what happened at a call stack since the latest cut, and what is live there.
type sums struct {
	change recording.Change
	live   timetravel.Live
}

func newSummaries(r *recording.Reader, c *Check) *summaries {
	s := &summaries{rec: r, check: c, number: newByStack[uint32](r.Nodes().Len())}
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
		n := s.number.at(e.Stack)
		if *n == 0 {
			s.now = append(s.now, sumsOf(e.Stack))
			*n = uint32(len(s.now))
		}
		s.now[*n-1].add(e)
	}
	if i := len(s.stacks); i < len(s.cuts) && number == s.cuts[i] {
		s.stacks = append(s.stacks, s.cut())
	}
}

func sumsOf(stack uint32) sums {
	return sums{change: recording.Change{Stack: stack}, live: timetravel.Live{Stack: stack}}
}

func (s *sums) add(e *event.Event) {
	c := &s.change
	blocks, bytes := e.Weight()
	if e.Kind == event.Alloc {
		s.live.Blocks += blocks
		s.live.Bytes += bytes
		c.Allocs += blocks
		c.Bytes += bytes
		if net := int64(c.Bytes - c.FreedBytes); net > 0 {
			c.Top = max(c.Top, uint64(net))
		}
		return
	}
	s.live.Blocks -= blocks
	s.live.Bytes -= bytes
	c.Frees += blocks
	c.FreedBytes += bytes
	if e.Flags&event.Temporary != 0 {
		c.Temporary++
	}
}

// cut returns the sums since the latest cut, and begins new ones.
func (s *summaries) cut() []sums {
	all := s.now
	s.now = nil
	for _, n := range all {
		at := s.number.at(n.change.Stack)
		if *at = 0; n.live.Blocks != 0 || n.live.Bytes != 0 {
			n.change = recording.Change{Stack: n.change.Stack}
			s.now = append(s.now, n)
			*at = uint32(len(s.now))
		}
	}
	return all
}

// compare compares the summaries with the sums.
func (s *summaries) compare(peak tally.Peak) error {
	ctx := context.Background()
	for i := range s.now {
		*s.number.at(s.now[i].change.Stack) = 0
	}
	asked := 0
	from := uint64(0)
	for i, want := range s.stacks {
		at := s.cuts[i]
		changes, err := timetravel.Changes(ctx, s.rec, from, at)
		if err != nil {
			return err
		}
		live, err := timetravel.LiveAt(ctx, s.rec, at)
		if err != nil {
			return err
		}
		asked += len(want)
		s.same(want, changes.List(), live, from, at)
		from = at
	}
	s.check.What = fmt.Sprintf("%d parts of the events: what changed and what was live at %d call stacks; the peak",
		len(s.stacks), asked)
	if len(s.cuts) == 0 || from != s.cuts[len(s.cuts)-1] {
		return nil
	}
	bytes, at, err := timetravel.PeakBetween(ctx, s.rec, 0, from)
	if err != nil {
		return err
	}
	s.check.require(bytes == peak.Bytes && (bytes == 0 || at == peak.Event),
		"the summaries' peak is %d bytes at event %d, expected %d at %d", bytes, at, peak.Bytes, peak.Event)
	return nil
}

// same compares the answers about one part.
func (s *summaries) same(want []sums, changes []recording.Change, live []timetravel.Live, from, at uint64) {
	for i := range want {
		*s.number.at(want[i].change.Stack) = uint32(i + 1)
	}
	got := make([]sums, len(want))
	for i := range got {
		got[i] = sumsOf(want[i].change.Stack)
	}
	find := func(stack uint32) *sums {
		n := s.number.at(stack)
		if *n == 0 {
			want, got = append(want, sumsOf(stack)), append(got, sumsOf(stack))
			*n = uint32(len(got))
		}
		return &got[*n-1]
	}
	for _, c := range changes {
		find(c.Stack).change = c
	}
	for _, l := range live {
		find(l.Stack).live = l
	}
	var differ []int
	for i := range want {
		if *s.number.at(want[i].change.Stack) = 0; want[i] != got[i] {
			differ = append(differ, i)
		}
	}
	slices.SortFunc(differ, func(a, b int) int { return cmp.Compare(want[a].change.Stack, want[b].change.Stack) })
	for _, i := range differ {
		w, g := &want[i], &got[i]
		if w.change != g.change {
			s.check.problem("events %d to %d: the summaries say that call stack %d changed by %+v, the events say %+v",
				from, at, w.change.Stack, g.change, w.change)
		}
		if w.live != g.live {
			s.check.problem("after event %d: the summaries say that %+v is live, the events say %+v", at, g.live,
				w.live)
		}
	}
}
