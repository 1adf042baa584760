package profile

import (
	"cmp"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// ResidentSet is what the resident set consisted of at one moment.
type ResidentSet struct {
	Time  int64  // ns since the recording's start
	Bytes uint64 // the sum of the parts
	Parts []event.ResidentPart
}

// residentSets groups parts by time.
func residentSets(parts []event.ResidentPart) (list []ResidentSet) {
	for len(parts) > 0 {
		n := 1
		for n < len(parts) && parts[n].Time == parts[0].Time {
			n++
		}
		s := ResidentSet{Time: parts[0].Time, Parts: parts[:n:n]}
		for i := range s.Parts {
			s.Bytes += s.Parts[i].Bytes
		}
		list = append(list, s)
		parts = parts[n:]
	}
	slices.SortStableFunc(list, func(a, b ResidentSet) int { return cmp.Compare(a.Time, b.Time) })
	return list
}

// Sum returns the resident bytes and the size of all parts of a kind.
func (s *ResidentSet) Sum(kind event.ResidentKind) (bytes, size uint64) {
	for i := range s.Parts {
		if p := &s.Parts[i]; p.Kind == kind {
			bytes += p.Bytes
			size += p.Size
		}
	}
	return bytes, size
}

// Largest returns the parts of a kind, those with most resident bytes first.
func (s *ResidentSet) Largest(kind event.ResidentKind) (list []event.ResidentPart) {
	for _, p := range s.Parts {
		if p.Kind == kind {
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b event.ResidentPart) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return list
}

// OfStacks returns the resident bytes of mappings by call stack. s may be nil.
func (s *ResidentSet) OfStacks() map[uint32]uint64 {
	list := map[uint32]uint64{}
	if s != nil {
		for i := range s.Parts {
			if p := &s.Parts[i]; p.Kind == event.ResidentMapping {
				list[p.Stack] += p.Bytes
			}
		}
	}
	return list
}

// LargestResident returns the largest resident set whose parts were read, apart from what is heaptap's own. Of those
// that are nearly as large it is the one with the least free memory of the allocator's: what has been freed often stays
// resident, and the set before that shows what the memory was needed for. nil: none was read.
func (p *Profile) LargestResident() *ResidentSet {
	const nearly = 30 // by such a part less
	without := func(s *ResidentSet, kinds ...event.ResidentKind) uint64 {
		bytes := s.Bytes
		for _, k := range kinds {
			sum, _ := s.Sum(k)
			bytes -= sum
		}
		return bytes
	}
	most := uint64(0)
	for i := range p.ResidentSets {
		most = max(most, without(&p.ResidentSets[i], event.ResidentAgent))
	}
	var best *ResidentSet
	needed := uint64(0)
	for i := range p.ResidentSets {
		s := &p.ResidentSets[i]
		if without(s, event.ResidentAgent) < most-most/nearly {
			continue
		}
		if n := without(s, event.ResidentAgent, event.ResidentSlack); best == nil || n > needed {
			best, needed = s, n
		}
	}
	return best
}

// MostSlack returns the resident set in which the allocator had most besides live blocks; nil if none was read.
func (p *Profile) MostSlack() *ResidentSet {
	var best *ResidentSet
	most := uint64(0)
	for i := range p.ResidentSets {
		if bytes, _ := p.ResidentSets[i].Sum(event.ResidentSlack); best == nil || bytes > most {
			best, most = &p.ResidentSets[i], bytes
		}
	}
	return best
}

// ResidentAt returns the resident set whose parts were read nearest to a moment; nil if none was.
func (p *Profile) ResidentAt(time int64) *ResidentSet {
	var best *ResidentSet
	distance := func(s *ResidentSet) int64 { return max(s.Time-time, time-s.Time) }
	for i := range p.ResidentSets {
		if s := &p.ResidentSets[i]; best == nil || distance(s) < distance(best) {
			best = s
		}
	}
	return best
}

// Mapping is what the program has mapped itself, by call stack. The mappings of a heap that is known are one: which of
// its own functions was the one that mapped more says nothing.
type Mapping struct {
	Heap  *Heap  // nil: none that is known
	Stack uint32 // the call stack, or the one of the heap's that has most; 0: several
	Bytes uint64 // resident
	Size  uint64
}

// Mappings returns the mappings of a resident set, those with most in memory first.
func (p *Profile) Mappings(s *ResidentSet) (list []Mapping) {
	at := map[*Heap]int{}
	for _, m := range s.Largest(event.ResidentMapping) {
		h := p.HeapOf(m.Stack)
		if i, ok := at[h]; ok && h != nil {
			list[i].Bytes += m.Bytes
			list[i].Size += m.Size
			continue
		}
		at[h] = len(list)
		list = append(list, Mapping{h, m.Stack, m.Bytes, m.Size})
	}
	slices.SortStableFunc(list, func(a, b Mapping) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return list
}
