package merge

import (
	"context"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// maxSteps limits the steps of a timeline's finest level. The steps of a level have a power of two as length and begin
// at its multiples, so that timelines of all lengths fit together. Each process adds its exact numbers to each level:
// the most that a process had live in a step cannot be derived from sums over shorter steps.
const maxSteps = 1 << 10

// finest returns the level at which a span has at most maxSteps.
func finest(begin, end int64) (shift int) {
	for recording.StepOf(end, shift)-recording.StepOf(begin, shift) >= maxSteps {
		shift++
	}
	return shift
}

// develop reads the timeline of one process. offset is added to its times.
func develop(ctx context.Context, r *recording.Reader, offset, end int64) (recording.Timeline, error) {
	t := recording.Timeline{Begin: offset, End: offset + end}
	shift := finest(t.Begin, t.End)
	first := recording.StepOf(t.Begin, shift)
	l := recording.TimelineLevel{Shift: shift, First: first,
		Steps: make([]recording.TimelineStep, recording.StepOf(t.End, shift)-first+1)}
	b := builder{level: &l, offset: offset}
	from, to := r.Cuts()
	if detail, _ := r.DetailFrom(); detail > from {
		t.Vague = 1
		if err := b.folded(ctx, r, from, detail); err != nil {
			return t, err
		}
		from = detail
	}
	err := r.EventsBetween(ctx, from, to, func(_, _ uint64, e *event.Event) bool {
		b.event(e)
		return true
	})
	if err != nil {
		return t, err
	}
	b.upTo(len(l.Steps) - 1)
	t.EndLive, t.EndBlocks = b.live, b.blocks
	last := &l.Steps[len(l.Steps)-1]
	last.Live, last.Blocks = 0, 0 // the process ends within the step
	t.Levels = []recording.TimelineLevel{l}
	for n := len(l.Steps); n > 1; n = len(t.Levels[len(t.Levels)-1].Steps) {
		t.Levels = append(t.Levels, coarser(&t.Levels[len(t.Levels)-1]))
	}
	return t, nil
}

// builder fills in the steps of one process.
type builder struct {
	level        *recording.TimelineLevel
	offset       int64
	at           int
	live, blocks uint64
}

// upTo completes all steps before one.
func (b *builder) upTo(i int) {
	for ; b.at < i; b.at++ {
		b.level.Steps[b.at].Live, b.level.Steps[b.at].Blocks = b.live, b.blocks
		b.level.Steps[b.at+1].Top = b.live
	}
}

// step returns the step of a time.
func (b *builder) step(time int64) *recording.TimelineStep {
	b.upTo(int(min(recording.StepOf(b.offset+time, b.level.Shift)-b.level.First, int64(len(b.level.Steps)-1))))
	return &b.level.Steps[b.at]
}

func (b *builder) event(e *event.Event) {
	if e.Kind != event.Alloc && e.Kind != event.Free {
		return
	}
	s := b.step(e.Time)
	blocks, bytes := e.Weight()
	if e.Kind == event.Free {
		b.live -= bytes
		b.blocks -= blocks
		s.Deallocations += blocks
		return
	}
	b.live += bytes
	b.blocks += blocks
	s.Allocations += blocks
	s.Bytes += bytes
	s.Top = max(s.Top, b.live)
}

// folded reads the heads of blocks whose events were folded. The maximum of a block counts for all steps that it
// touches.
func (b *builder) folded(ctx context.Context, r *recording.Reader, from, to uint64) error {
	levels, err := timetravel.Levels(ctx, r, from, to, 1<<30)
	if err != nil {
		return err
	}
	for _, l := range levels {
		begin := b.at
		s := b.step(l.Time)
		b.live, b.blocks = l.Bytes, l.Blocks
		s.Top = max(s.Top, l.Top)
		for i := begin; i < b.at; i++ {
			b.level.Steps[i].Top = max(b.level.Steps[i].Top, l.Top)
		}
	}
	counts := builder{level: b.level, offset: b.offset}
	return timetravel.Series(ctx, r, from, to, 1<<30, func(cut uint64, list []recording.Change) {
		t, err := r.TimeAt(cut)
		if err != nil {
			return // every cut of a series has a time
		}
		s := &b.level.Steps[min(recording.StepOf(counts.offset+t, b.level.Shift)-b.level.First,
			int64(len(b.level.Steps)-1))]
		for i := range list {
			s.Allocations += list[i].Allocs
			s.Bytes += list[i].Bytes
			s.Deallocations += list[i].Frees
		}
	})
}

// coarser joins the steps of one process in pairs, for the next level.
func coarser(l *recording.TimelineLevel) recording.TimelineLevel {
	up := recording.TimelineLevel{Shift: l.Shift + 1, First: l.First >> 1}
	for i := range l.Steps {
		s := l.Steps[i]
		n := (l.First+int64(i))>>1 - up.First
		if n == int64(len(up.Steps)) {
			up.Steps = append(up.Steps, recording.TimelineStep{})
		}
		to := &up.Steps[n]
		to.Top = max(to.Top, s.Top)
		to.Allocations += s.Allocations
		to.Bytes += s.Bytes
		to.Deallocations += s.Deallocations
		to.Live, to.Blocks = 0, 0
		if (l.First+int64(i))&1 == 1 { // both have ended
			to.Live, to.Blocks = s.Live, s.Blocks
		}
	}
	return up
}

// joined returns the sum of two timelines. An empty timeline has no levels.
func joined(a, b *recording.Timeline) recording.Timeline {
	switch {
	case len(a.Levels) == 0:
		return *b
	case len(b.Levels) == 0:
		return *a
	}
	t := recording.Timeline{Begin: min(a.Begin, b.Begin), End: max(a.End, b.End), Vague: a.Vague + b.Vague}
	for _, part := range []*recording.Timeline{a, b} {
		if part.End == t.End {
			t.EndLive += part.EndLive
			t.EndBlocks += part.EndBlocks
		}
	}
	for shift := finest(t.Begin, t.End); ; shift++ {
		l := recording.TimelineLevel{Shift: shift, First: recording.StepOf(t.Begin, shift)}
		l.Steps = make([]recording.TimelineStep, recording.StepOf(t.End, shift)-l.First+1)
		for _, part := range []*recording.Timeline{a, b} {
			p := levelOf(part, shift)
			for i := range p.Steps {
				l.Steps[p.First-l.First+int64(i)].Add(&p.Steps[i])
			}
		}
		t.Levels = append(t.Levels, l)
		if len(l.Steps) == 1 {
			return t
		}
	}
}

// levelOf returns a level of a timeline. Above its last level, which has a single step, nothing changes any more.
func levelOf(t *recording.Timeline, shift int) recording.TimelineLevel {
	for i := range t.Levels {
		if t.Levels[i].Shift == shift {
			return t.Levels[i]
		}
	}
	l := t.Levels[len(t.Levels)-1]
	l.First >>= shift - l.Shift
	l.Shift = shift
	return l
}
