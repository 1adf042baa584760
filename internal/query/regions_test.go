package query

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
)

// moveRegions has a thread enter or leave regions now and then.
func (r *recorder) moveRegions(rng *rand.Rand, threads int) {
	if rng.IntN(4) > 0 {
		return
	}
	if r.regions == nil {
		r.regions, r.moves = make(map[uint32][]string), make(map[uint32]int)
	}
	th := uint32(rng.IntN(threads))
	n := event.RegionNote{Time: r.now, Thread: th, Event: uint64(len(r.events)), Alloc: uint64(len(r.allocs))}
	if open := r.regions[th]; len(open) > 0 && rng.IntN(5) < 3 {
		n.Leaves = uint32(1 + rng.IntN(len(open)))
		n.Name = open[len(open)-int(n.Leaves)]
		r.regions[th] = open[:len(open)-int(n.Leaves)]
	} else {
		n.Name = []string{"load", "parse", "a/b"}[rng.IntN(3)]
		n.Count = uint8(rng.IntN(3))
		n.IDs = [event.RegionIDs]int64{rng.Int64N(3), -1}
		n.IDs[n.Count] = 0
		if n.Count == 0 {
			n.IDs = [event.RegionIDs]int64{}
		}
		r.regions[th] = append(open, n.Name)
	}
	r.moves[th]++
	r.w.Region(n)
}

// lateNote notes that the next event belongs to a region that its thread was in earlier.
func (r *recorder) lateNote(e *event.Event) {
	n := event.RegionNote{Time: r.now, Thread: e.Thread, Event: uint64(len(r.events)), Alloc: uint64(len(r.allocs)),
		Late: event.LateAlloc}
	switch {
	case e.Kind > event.Free || r.moves[e.Thread] == 0:
		return
	case e.Kind == event.Free:
		n.Late = event.LateFree
	default:
		n.Alloc-- // r.allocs has it already
	}
	n.Back = uint32(1 + len(r.events)%r.moves[e.Thread])
	r.w.Region(n)
}

// regionsAt returns the regions in which a thread made an allocation, innermost first, from the notes alone.
func regionsAt(s *Source, by By, thread uint32, alloc uint64) (list []Group) {
	var notes, late []event.RegionNote
	for _, n := range s.Reader.Regions() {
		switch {
		case n.Thread != thread || n.Alloc > alloc:
		case n.Late == event.NotLate:
			notes = append(notes, n)
		case n.Late == event.LateAlloc && n.Alloc == alloc:
			late = notes[:len(notes)-int(n.Back)]
		}
	}
	if late != nil {
		notes = late
	}
	for _, n := range notes {
		switch {
		case n.Leaves > 0:
			list = list[n.Leaves:]
		default:
			g := Group{By: by, Region: n.Name}
			for _, id := range n.IDs[:n.Count] {
				if by == ByRegion {
					g.Region += "/" + strconv.FormatInt(id, 10)
				}
			}
			list = append([]Group{g}, list...)
		}
	}
	if len(list) == 0 {
		return []Group{{By: by, Unknown: true}}
	}
	return list
}

// TestRegionRows compares the counts of each region, and the first allocation beyond limits, with what is added up
// event by event in all open regions.
func TestRegionRows(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		s, events := random(t, seed, 200)
		notes := s.Reader.Regions()
		var want []RegionRow
		var born []*event.Event
		open := make(map[uint32][]int)
		before := make(map[uint32][][]int) // by thread: what was open before each of its notes
		late := make(map[uint64][]int)     // by event
		limits := &RegionLimits{Allocations: seed % 7, Requested: 40 * seed}
		take := func() {
			n := notes[0]
			notes = notes[1:]
			list := open[n.Thread]
			if n.Late != event.NotLate {
				at := before[n.Thread]
				late[n.Event] = at[len(at)-int(n.Back)]
				return
			}
			before[n.Thread] = append(before[n.Thread], slices.Clone(list))
			if n.Leaves == 0 {
				open[n.Thread] = append(list, len(want))
				want = append(want, RegionRow{Title: n.Title(), Name: n.Name, Thread: n.Thread, Depth: len(list),
					Begin: n.Time, End: s.Profile.Duration, Open: true})
				return
			}
			for _, i := range list[len(list)-int(n.Leaves):] {
				want[i].End, want[i].Open = n.Time, false
			}
			open[n.Thread] = list[:len(list)-int(n.Leaves)]
		}
		for i := range events {
			for len(notes) > 0 && notes[0].Event <= uint64(i) {
				take()
			}
			e := &events[i]
			block := e
			switch e.Kind {
			case event.Alloc:
				born = append(born, e)
			case event.Free:
				block = born[e.Ref]
			}
			in, ok := late[uint64(i)]
			if !ok {
				in = open[e.Thread]
			}
			for _, k := range in {
				if e.Kind <= event.Free {
					want[k].observe(e, max(block.Usable, block.Size)-block.Size)
				}
				if e.Kind == event.Alloc {
					want[k].exceed(want[k].Allocations, want[k].Requested, limits, e.Stack)
				}
			}
		}
		for len(notes) > 0 {
			take()
		}
		got, err := RegionsWithin(t.Context(), s, &Query{}, limits)
		if err != nil {
			t.Fatal(err)
		}
		if len(late) > 0 { // then the highest and lowest balances of the regions around them are only approximate
			for _, list := range [][]RegionRow{want, got.Rows} {
				for k := range list {
					list[k].Highest, list[k].Lowest, list[k].HighestStack, list[k].LargestStack = 0, 0, 0, 0
				}
			}
		}
		if (len(late) > 0) != (seed%2 > 0) {
			t.Errorf("seed %d: %d events were settled late; only odd seeds have such events", seed, len(late))
		}
		if d := cmp.Diff(want, got.Rows); d != "" {
			t.Fatalf("seed %d:\n%s", seed, d)
		}
		compareSpans(t, s, want)
	}
}

// compareSpans compares the regions of timelines with rows.
func compareSpans(t *testing.T, s *Source, rows []RegionRow) {
	t.Helper()
	_, n := s.Reader.Cuts()
	for _, r := range []Range{{0, n}, {n / 4, n / 2}} {
		timeline, err := Timeline(t.Context(), s, &Query{Range: &r}, 7, true)
		if err != nil {
			t.Fatal(err)
		}
		var want []RegionSpan
		for _, r := range rows {
			if r.End >= timeline.Begin && r.Begin <= timeline.Begin+timeline.Span {
				want = append(want, RegionSpan{r.Title, r.Depth, r.Begin, r.End})
			}
		}
		if d := cmp.Diff(want, timeline.Regions); d != "" {
			t.Errorf("from %d to %d:\n%s", r.From, r.To, d)
		}
		for k := range len(want) {
			few := s.longestRegions(timeline.Begin, timeline.Begin+timeline.Span, k)
			left := slices.Clone(want) // in the end, those that few does not have
			for _, span := range few {
				i := slices.Index(left, span)
				left = slices.Delete(left, i, i+1)
			}
			for i := range few {
				length := few[i].End - few[i].Begin
				longer := func(r RegionSpan) bool { return r.End-r.Begin > length }
				if slices.ContainsFunc(left, longer) || i > 0 && few[i].Begin < few[i-1].Begin || len(few) != k {
					t.Errorf("the %d longest of %v are %v", k, want, few)
				}
			}
		}
	}
}

// TestRegionPatterns: a pattern matches the name, or the name with its numbers.
func TestRegionPatterns(t *testing.T) {
	t.Parallel()
	p := &regionPath{title: "load/7/-1", name: "load"}
	for pattern, want := range map[string]bool{"load": true, "l*": true, "load/7": false, "load/7/*": true,
		"load/*": true, "*/-1": true, "oad": false, "load/8*": false, "": false, "*": true} {
		if p.matches(pattern) != want {
			t.Errorf("%q: %v", pattern, !want)
		}
	}
	s, _ := random(t, 7, 100)
	if err := s.CheckRegions([]string{"load", "none"}); err == nil {
		t.Error("no error for a region that does not exist")
	}
	if !slices.Equal(newRegionTree(nil).matching([]string{"*"}), []bool{false}) {
		t.Error("a pattern matches outside of all regions")
	}
}

// TestPeriods: the periods sum up to the whole, and the largest peak is the recording's.
func TestPeriods(t *testing.T) {
	t.Parallel()
	s, _ := random(t, 4, 250)
	var sum, last Period
	for _, every := range []int64{100, 1000, 1 << 40} {
		sum = Period{}
		if err := NewPeriodCounter(every, func(p *Period) error {
			sum.Allocations += p.Allocations
			sum.Bytes += p.Bytes
			sum.Deallocations += p.Deallocations
			sum.Peak = max(sum.Peak, p.Peak)
			last = *p
			return nil
		}).Whole(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		c := &s.Profile.Totals
		if sum.Allocations != c.Allocations || sum.Bytes != c.Bytes || sum.Deallocations != c.Deallocations ||
			sum.Peak != c.Peak.Bytes ||
			last.Live != c.Bytes-c.FreedBytes || last.End != s.Profile.Duration {
			t.Errorf("every %d ns: %+v, at the end %+v; in all %+v", every, sum, last, c.Counts)
		}
	}
}
