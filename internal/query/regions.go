package query

import (
	"fmt"
	"slices"
	"sort"

	"github.com/heaptap/heaptap/internal/event"
)

// regionTree says in which regions blocks were allocated: a block belongs to the innermost region that its thread was
// in at its allocation, and to the regions around it.
type regionTree struct {
	spans map[uint32][]regionSpan // by thread, ascending
	late  map[threadAlloc]uint32  // paths of allocations that were settled late
	paths []regionPath            // path 0: in no region
}

// regionSpan begins at an allocation and ends at the next span.
type regionSpan struct {
	alloc uint64
	path  uint32
}

// threadAlloc is an allocation of a thread.
type threadAlloc struct {
	thread uint32
	alloc  uint64
}

// earlier has where threads were before each of their notes, for threads with events that were settled late.
type earlier[T any] map[uint32][]T

func newEarlier[T any](notes []event.RegionNote) earlier[T] {
	e := make(earlier[T])
	for i := range notes {
		if notes[i].Late != event.NotLate {
			e[notes[i].Thread] = nil
		}
	}
	return e
}

// leave notes that a thread left a place.
func (e earlier[T]) leave(thread uint32, from T) {
	if list, ok := e[thread]; ok {
		e[thread] = append(list, from)
	}
}

// of returns where the thread was at a note's event; now is where it is now.
func (e earlier[T]) of(n *event.RegionNote, now T) T {
	list := e[n.Thread]
	if n.Back == 0 || len(list) == 0 {
		return now
	}
	return list[max(0, len(list)-int(n.Back))]
}

// regionPath is a region and those around it.
type regionPath struct {
	parent uint32
	depth  int
	title  string // with its numbers
	name   string
}

// regions returns the region tree. It is built at the first call.
func (s *Source) regions() *regionTree {
	s.regionsOnce.Do(func() { s.regionsMade = newRegionTree(s.Reader.Regions()) })
	return s.regionsMade
}

func newRegionTree(notes []event.RegionNote) *regionTree {
	t := &regionTree{spans: make(map[uint32][]regionSpan), late: make(map[threadAlloc]uint32),
		paths: make([]regionPath, 1)}
	type step struct {
		parent uint32
		title  string
	}
	known, at := make(map[step]uint32), make(map[uint32]uint32)
	earlier := newEarlier[uint32](notes)
	for i := range notes {
		n := &notes[i]
		p := at[n.Thread]
		if n.Late != event.NotLate {
			if n.Late == event.LateAlloc {
				t.late[threadAlloc{n.Thread, n.Alloc}] = earlier.of(n, p)
			}
			continue
		}
		earlier.leave(n.Thread, p)
		for range min(int(n.Leaves), t.paths[p].depth) {
			p = t.paths[p].parent
		}
		if n.Leaves == 0 {
			next := step{p, n.Title()}
			id, ok := known[next]
			if !ok {
				id = uint32(len(t.paths))
				known[next] = id
				t.paths = append(t.paths, regionPath{p, t.paths[p].depth + 1, next.title, n.Name})
			}
			p = id
		}
		at[n.Thread] = p
		list := t.spans[n.Thread]
		if k := len(list); k > 0 && list[k-1].alloc >= n.Alloc {
			list[k-1].path = p
		} else {
			t.spans[n.Thread] = append(list, regionSpan{n.Alloc, p})
		}
	}
	return t
}

// of returns the path of the region in which a thread made an allocation.
func (t *regionTree) of(thread uint32, alloc uint64) uint32 {
	if len(t.late) > 0 {
		if path, ok := t.late[threadAlloc{thread, alloc}]; ok {
			return path
		}
	}
	list := t.spans[thread]
	i := sort.Search(len(list), func(i int) bool { return list[i].alloc > alloc })
	if i == 0 {
		return 0
	}
	return list[i-1].path
}

// ofEvent returns the path of an event's block.
func (t *regionTree) ofEvent(ref uint64, e *event.Event) uint32 {
	if e.Kind == event.Alloc {
		return t.of(e.Thread, ref)
	}
	return t.of(e.BornBy, ref)
}

// RegionLabels returns a function that takes an allocation or a deallocation and returns the regions in which its block
// was allocated, as a label of StackRows by region; 0: in none.
func (s *Source) RegionLabels() func(ref uint64, e *event.Event) uint32 { return s.regions().ofEvent }

// matching reports for each path whether one of its regions matches one of the patterns.
func (t *regionTree) matching(patterns []string) []bool {
	in := make([]bool, len(t.paths))
	for i := 1; i < len(t.paths); i++ {
		p := &t.paths[i]
		in[i] = in[p.parent] || slices.ContainsFunc(patterns, p.matches)
	}
	return in
}

// matches reports whether a pattern matches the region's name, or its name with the numbers.
func (p *regionPath) matches(pattern string) bool {
	whole := "^" + pattern + "$"
	return matchesGlob(whole, p.title) || matchesGlob(whole, p.name)
}

// NoRegionError is the error of a pattern that matches no region of a recording.
type NoRegionError struct{ text string }

func (e *NoRegionError) Error() string { return e.text }

// CheckRegions returns a NoRegionError if a pattern matches no region of the recording.
func (s *Source) CheckRegions(patterns []string) error {
	t := s.regions()
	if len(patterns) > 0 && len(t.paths) == 1 {
		return &NoRegionError{"the recording has no regions: programs name them with heaptap_region_begin, see " +
			"docs/api.md"}
	}
	for _, pattern := range patterns {
		if !slices.ContainsFunc(t.paths[1:], func(p regionPath) bool { return p.matches(pattern) }) {
			return &NoRegionError{fmt.Sprintf("no region is called %q; \"heaptap regions\" lists them", pattern)}
		}
	}
	return nil
}

// groups returns the groups of a path, the outermost region first.
func (t *regionTree) groups(by By, path uint32) []Group {
	if path == 0 {
		return []Group{{By: by, Unknown: true}}
	}
	var list []Group
	for ; path != 0; path = t.paths[path].parent {
		g := Group{By: by, Region: t.paths[path].title}
		if by == ByRegionName {
			g.Region = t.paths[path].name
		}
		list = append(list, g)
	}
	slices.Reverse(list)
	return list
}
