package query

import "github.com/heaptap/heaptap/internal/recording"

// developMerged takes the timeline of a merged recording, at its finest level with at most n steps. Top is the sum of
// the processes' maxima in the step: at least what all had together at any moment.
func (a *ask) developMerged(out *Series, m *recording.Merged, n, top int) (*Series, error) {
	if top > 0 || a.perBlock || a.stacks != nil || !a.whole || len(m.Timeline.Levels) == 0 {
		return nil, recording.NewMergedError(a.Reader.Name(), m)
	}
	t := &m.Timeline
	l := &t.Levels[len(t.Levels)-1]
	for i := range t.Levels {
		if len(t.Levels[i].Steps) <= n {
			l = &t.Levels[i]
			break
		}
	}
	out.Answer = a.Answer
	out.Plan, out.Span = FromSummaries, t.End-t.Begin
	out.Times, out.Cuts, out.Top = []int64{0}, []uint64{0}, []uint64{0}
	out.All.Points = make([]Point, 1)
	for i := range l.Steps {
		s := &l.Steps[i]
		end := min((l.First+int64(i)+1)*recording.Quantum<<l.Shift, t.End) - t.Begin
		p := Point{Live: s.Live, LiveBlocks: s.Blocks, Allocations: s.Allocations, Bytes: s.Bytes,
			Deallocations: s.Deallocations}
		if i == len(l.Steps)-1 {
			p.Live, p.LiveBlocks = t.EndLive, t.EndBlocks
		}
		out.Times, out.Cuts, out.Top = append(out.Times, end), append(out.Cuts, 0), append(out.Top, s.Top)
		out.All.Points = append(out.All.Points, p)
	}
	out.Rest.Points = out.All.Points
	return out, nil
}
