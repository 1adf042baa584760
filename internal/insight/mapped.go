package insight

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

const (
	// leastMapped is the least that is mapped: threads' arenas, buffers and tables of libraries have less.
	leastMapped = 8 << 20
	// largePart is the least share of all mappings that one is named for.
	largePart = .25
)

// mappings finds what the program maps itself, if that is more than the heap: the answer to "why is it so large?" is
// there, then, and not in the numbers of live blocks.
func (f *finder) mappings() error {
	set := f.p.LargestResident()
	if set == nil {
		return nil
	}
	mapped, _ := set.Sum(event.ResidentMapping)
	live, _ := set.Sum(event.ResidentLive)
	slack, _ := set.Sum(event.ResidentSlack)
	heap := live + slack
	if mapped < leastMapped || mapped <= heap {
		return nil
	}
	list := newGroups[uint64](f)
	for _, m := range f.p.Mappings(set) {
		if float64(m.Bytes) < largePart*float64(mapped) {
			continue
		}
		if m.Heap != nil {
			f.ofHeap(&m, heap, set)
			continue
		}
		if m.Stack != 0 {
			*list.add(m.Stack, float64(m.Bytes)) += m.Bytes
		}
	}
	for _, g := range list.list {
		x := g.finding(Mappings)
		x.Says = says(" holds ", value(float64(g.of), Bytes), " that it has mapped itself: more than the heap, which ",
			"has ", value(float64(heap), Bytes), ".")
		x.Show.Focus = g.focus()
		f.addMapping(x, g.of, set)
	}
	return nil
}

// ofHeap reports a language's own heap.
func (f *finder) ofHeap(m *profile.Mapping, heap uint64, set *profile.ResidentSet) {
	x := Finding{Rule: Mappings, Place: Place{Name: m.Heap.Name}, Stack: m.Stack, Stacks: 1}
	if frames := f.s.Frames(m.Stack); len(frames) > 0 {
		x.Place.Module = frames[0].Module
		x.Show.Focus = (&Place{Module: x.Place.Module}).focus()
	}
	x.Says = says(" hold ", value(float64(m.Bytes), Bytes), ", more than malloc's heap, which has ",
		value(float64(heap), Bytes), ": ", m.Heap.Hint, ".")
	if !plural(m.Heap.Name) {
		x.Says[0].Text = " holds "
	}
	f.addMapping(x, m.Bytes, set)
}

func (f *finder) addMapping(x Finding, bytes uint64, set *profile.ResidentSet) {
	x.Saves, x.Unit, x.Measured = float64(bytes), query.ByteCount, true
	x.Share, x.Confidence = x.Saves/f.fullest(), .5
	x.Basis = says("measured in the largest resident set, after ", value(float64(set.Time), Moment),
		"; how much of it is needed is not known")
	x.Show.Page, x.Show.Metric = "flame", query.MappedResident.String()
	f.list = append(f.list, x)
}

// plural reports whether a heap's name is a plural: Python's own pools.
func plural(name string) bool { return name != "" && name[len(name)-1] == 's' }
