package query

import (
	"context"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/tally"
)

// Narrowed is a recording's profile as if the recording held only what a query selects.
type Narrowed struct {
	Answer
	// Profile has the sums of the selected blocks, by stack and by thread. The peak is the process's within the range,
	// and what of the selected blocks was live then. It lacks what belongs to no block: failed calls, deallocations
	// that ended no block, mapping changes. Process, duration, modules and health are the recording's.
	Profile *profile.Profile
}

// Selection says which part of a recording a report is about.
type Selection struct {
	Asked  []string // the filters, as the user wrote them
	Answer *Answer
}

// narrowed are the metrics of a profile.
var narrowed = []Metric{Bytes, Allocations, ZeroSize, MinSize, MaxSize, Slack, Reallocations, Deallocations, FreedBytes,
	Temporary, TemporaryBytes, MeanLifetime, Peak, PeakBlocks, OwnPeak, Leaked, LeakedBlocks}

// Narrow answers with a profile. The query's grouping and metrics are ignored.
func Narrow(ctx context.Context, s *Source, q *Query) (*Narrowed, error) {
	one := *q
	one.By, one.Metrics, one.Runtime = ByStack, narrowed, true // they are told apart below
	a, err := newAsk(ctx, s, &one)
	if err != nil {
		return nil, err
	}
	c, err := a.collect()
	if err != nil {
		return nil, err
	}
	if !a.peaksHeld {
		if err := a.peaksOfCells(c); err != nil {
			return nil, err
		}
	}
	p := *s.Profile
	p.Stacks, p.Unmatched, p.Runtime = nil, nil, profile.Leak{}
	c.index()
	for i := range s.Profile.Stacks {
		old := &s.Profile.Stacks[i]
		place := *c.places.at(old.ID, 0)
		if place == 0 {
			continue
		}
		v := &c.get(int(place - 1)).Values
		if v.empty() {
			continue
		}
		st := profile.Stack{Class: old.Class, Truncated: old.Truncated,
			Leaked: profile.Leak{Bytes: v.LeakedBytes, Blocks: v.LeakedBlocks},
			Stack: &tally.Stack{ID: old.ID, Counts: v.counts(), LiveAtPeakBytes: v.PeakBytes,
				LiveAtPeakBlocks: v.PeakBlocks, OwnPeakBytes: v.OwnPeak},
			Variances: v.Variances}
		if st.Class == profile.Runtime {
			p.Runtime.Add(st.Leaked)
		}
		p.Stacks = append(p.Stacks, st)
	}
	t := &a.Total
	p.Leaked = profile.Leak{Bytes: t.LeakedBytes - p.Runtime.Bytes, Blocks: t.LeakedBlocks - p.Runtime.Blocks}
	p.Totals = tally.Totals{Counts: t.counts(), Events: t.Allocations + t.Deallocations,
		Peak: tally.Peak{Bytes: t.PeakBytes, Blocks: t.PeakBlocks, Event: a.PeakAt - a.first}}
	if p.Variances = t.Variances; t.Variances != nil {
		p.Totals.Samples = t.Variances.Samples
	}
	if p.Totals.Peak.Time, err = s.Reader.TimeAt(a.PeakAt); err != nil && !folded(err) {
		return nil, err
	}
	switch err := a.activity(&p); {
	case folded(err) && a.Plan != FromEvents: // only the events are missing
		a.Missing, p.Threads, p.Totals.Funcs = err.Error(), nil, [event.FuncCount]uint64{}
	case err != nil:
		return nil, err
	}
	p.Samples = slices.DeleteFunc(slices.Clone(p.Samples), func(x event.Sample) bool {
		return x.Time < a.Begin || x.Time > a.Begin+a.Span
	})
	return &Narrowed{Answer: a.Answer, Profile: hiding(&p, q.Hide)}, nil
}

// counts converts the values to those of a tally.
func (v *Values) counts() tally.Counts {
	return tally.Counts{Allocations: v.Allocations, Bytes: v.Bytes, Deallocations: v.Deallocations,
		FreedBytes: v.FreedBytes, Temporary: v.Temporary, TemporaryBytes: v.TemporaryBytes,
		Reallocations: v.Reallocations, InPlace: v.InPlace, ZeroSize: v.ZeroSize, MinSize: v.MinSize,
		MaxSize: v.MaxSize, Slack: v.Slack, SlackCount: v.SlackCount, Lifetime: v.Lifetime, Untimed: v.Untimed}
}

// peaksOfCells determines each stack's own peak.
func (a *ask) peaksOfCells(c *cells) error {
	nodes := make([]int32, c.len())
	for i := range nodes {
		nodes[i] = int32(i)
	}
	p := newPeaks(a, c, nodes, func(n int32) []int32 { return []int32{n} })
	for i := range c.len() {
		p.want(&c.get(i).OwnPeak)
	}
	return p.find()
}

// activity fills in what threads did with the selected blocks and which functions they called. As in package tally, a
// deallocation counts for the thread that made it.
func (a *ask) activity(p *profile.Profile) error {
	p.Threads = slices.Clone(p.Threads)
	for i := range p.Threads {
		p.Threads[i].Counts = tally.Thread{}
	}
	if err := a.prepare(a.From, a.To); err != nil {
		return err
	}
	return a.scan(a.From, a.To, 0, func(recording.Stretch) (observer, func()) {
		part := &activity{threads: make(map[uint32]*tally.Thread)}
		observe := func(b *recording.Batch, counts []bool) {
			for i := range b.Events {
				if n := b.First + uint64(i); counts[i] && a.From <= n && n < a.To {
					part.observe(&b.Events[i])
				}
			}
		}
		return observe, func() { part.addTo(p) }
	})
}

// activity is what threads did in one block of events.
type activity struct {
	funcs   [event.FuncCount]uint64
	unseen  uint64
	threads map[uint32]*tally.Thread
	latest  *tally.Thread // of the event before; nil: there is none
	of      uint32        // its thread
}

func (a *activity) observe(e *event.Event) {
	n, bytes := e.Weight()
	if f := e.Func; f < event.FuncCount && (e.Kind == event.Alloc || e.Flags&event.Realloc == 0) {
		a.funcs[f] += n // both events of a realloc are one call
	}
	t := a.latest
	if t == nil || a.of != e.Thread {
		if t = a.threads[e.Thread]; t == nil {
			t = &tally.Thread{}
			a.threads[e.Thread] = t
		}
		a.latest, a.of = t, e.Thread
	}
	switch {
	case e.Kind == event.Alloc:
		t.Allocations += n
		t.Bytes += bytes
	case e.Func == event.FuncUnknown:
		a.unseen += n
	default:
		t.Deallocations += n
		t.FreedBytes += bytes
		if e.Flags&event.Temporary != 0 {
			t.Temporary++
		}
		if e.BornBy != e.Thread {
			t.Foreign += n
		}
	}
}

func (a *activity) addTo(p *profile.Profile) {
	for f, n := range a.funcs {
		p.Totals.Funcs[f] += n
	}
	p.Totals.Unseen += a.unseen
	for i, o := range a.threads {
		if uint64(i) >= uint64(len(p.Threads)) {
			continue
		}
		t := &p.Threads[i].Counts
		t.Allocations += o.Allocations
		t.Bytes += o.Bytes
		t.Deallocations += o.Deallocations
		t.FreedBytes += o.FreedBytes
		t.Temporary += o.Temporary
		t.Foreign += o.Foreign
	}
}
