package tally

import (
	"cmp"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// Mapped sums up what the program itself has mapped by mmap, mremap and brk. A range belongs to the call stack that
// mapped it, whoever unmaps it. Bytes are requested bytes: the rest of a range's last page is not counted.
type Mapped struct {
	LiveBytes uint64  // at the latest event
	PeakBytes uint64  // the most that were live
	PeakTime  int64   // the first time at which they were
	Sites     []Site  // by stack
	Ranges    []Range // live ranges, ascending
}

// Site sums up what one call stack has mapped.
type Site struct {
	Stack      uint32
	Calls      uint64
	Ended      uint64 // those of Bytes that were unmapped, moved, or mapped over
	Bytes      uint64
	OwnPeak    uint64 // the most that were live at once
	LiveAtPeak uint64 // at PeakTime
}

// LiveBytes returns the mapped bytes that are live.
func (s *Site) LiveBytes() uint64 { return s.Bytes - s.Ended }

// Range is a live mapping, or what is left of it.
type Range struct {
	Start, End uint64
	Stack      uint32
}

const (
	mapPage   = 4096
	maxRanges = 1 << 20 // kept separately; by default, Linux allows a process 65,530
	spanPage  = 512
)

// Mapper follows mapping changes. As in Tally, a site saves its level at the peak before it changes for the first time
// since.
type Mapper struct {
	sum    Mapped
	number uint64 // of the latest change
	peak   uint64 // number of the change that reached the peak
	sites  map[uint32]*mapSite
	spans  [][]Range // ascending and disjoint, in slices that are never empty
	count  int
}

type mapSite struct {
	Site
	last uint64 // number of its last change
}

func (m *Mapper) site(stack uint32) *mapSite {
	s := m.sites[stack]
	if s == nil {
		if m.sites == nil {
			m.sites = make(map[uint32]*mapSite)
		}
		s = &mapSite{Site: Site{Stack: stack}}
		m.sites[stack] = s
	}
	return s
}

// change must be called before a site's live bytes change.
func (m *Mapper) change(s *mapSite) {
	if s.last <= m.peak {
		s.LiveAtPeak = s.LiveBytes()
	}
	s.last = m.number
}

// add adds a range that a stack has mapped.
func (m *Mapper) add(start, size uint64, stack uint32, time int64) {
	end := start + size
	if size == 0 || end < start {
		return
	}
	m.remove(start, size) // mapped over
	s := m.site(stack)
	m.change(s)
	s.Calls++
	s.Bytes += size
	s.OwnPeak = max(s.OwnPeak, s.LiveBytes())
	if m.sum.LiveBytes += size; m.sum.LiveBytes > m.sum.PeakBytes {
		m.sum.PeakBytes, m.sum.PeakTime, m.peak = m.sum.LiveBytes, time, m.number
	}
	if m.count < maxRanges {
		m.insert(Range{start, end, stack})
	}
}

// remove removes a range, up to the end of its last page, and returns how many bytes of it were mapped.
func (m *Mapper) remove(start, size uint64) (bytes uint64) {
	end := (start + size + mapPage - 1) &^ (mapPage - 1)
	if end < start {
		end = ^uint64(0)
	}
	for {
		p, i := m.locate(start)
		if p == len(m.spans) || m.spans[p][i].Start >= end {
			return bytes
		}
		r := m.spans[p][i]
		low, high := max(r.Start, start), min(r.End, end)
		s := m.site(r.Stack)
		m.change(s)
		s.Ended += high - low
		m.sum.LiveBytes -= high - low
		bytes += high - low
		left, right := Range{r.Start, low, r.Stack}, Range{high, r.End, r.Stack}
		switch {
		case left.Start < left.End:
			m.spans[p][i] = left
			if right.Start < right.End {
				m.insert(right)
			}
		case right.Start < right.End:
			m.spans[p][i] = right
		default:
			m.spans[p] = slices.Delete(m.spans[p], i, i+1)
			if m.count--; len(m.spans[p]) == 0 {
				m.spans = slices.Delete(m.spans, p, p+1)
			}
		}
	}
}

// locate finds the first range that ends after an address.
func (m *Mapper) locate(at uint64) (p, i int) {
	after := func(r Range, at uint64) int {
		if r.End <= at {
			return -1
		}
		return 1
	}
	p, _ = slices.BinarySearchFunc(m.spans, at, func(l []Range, at uint64) int { return after(l[len(l)-1], at) })
	if p < len(m.spans) {
		i, _ = slices.BinarySearchFunc(m.spans[p], at, after)
	}
	return p, i
}

// insert adds a range that overlaps no other.
func (m *Mapper) insert(r Range) {
	m.count++
	p, i := m.locate(r.Start)
	if p == len(m.spans) {
		if p == 0 || len(m.spans[p-1]) >= spanPage {
			m.spans = append(m.spans, []Range{r})
			return
		}
		p, i = p-1, len(m.spans[p-1])
	}
	m.spans[p] = slices.Insert(m.spans[p], i, r)
	if l := m.spans[p]; len(l) > 2*spanPage {
		m.spans = slices.Insert(m.spans, p+1, slices.Clone(l[spanPage:]))
		m.spans[p] = l[:spanPage:spanPage]
	}
}

// See counts a mapping change. For munmap it returns the bytes that were really mapped.
func (m *Mapper) See(e *event.Event) (unmapped uint64) {
	if e.Addr == 0 {
		return 0
	}
	m.number++
	switch e.Func {
	case event.Mmap:
		m.add(e.Addr, e.Size, e.Stack, e.Time)
	case event.Munmap:
		return m.remove(e.Addr, e.Size)
	case event.Mremap:
		if e.OldSize > 0 {
			m.remove(e.OldAddr, e.OldSize)
		}
		m.add(e.Addr, e.Size, e.Stack, e.Time)
	case event.Brk:
		switch {
		case e.OldAddr == 0:
		case e.Addr > e.OldAddr:
			m.add(e.OldAddr, e.Addr-e.OldAddr, e.Stack, e.Time)
		case e.Addr < e.OldAddr:
			m.remove(e.Addr, e.OldAddr-e.Addr)
		}
	}
	return 0
}

// summary returns the sums so far; nil if nothing was mapped.
func (m *Mapper) summary() *Mapped {
	if len(m.sites) == 0 {
		return nil
	}
	sum := m.sum
	for _, s := range m.sites {
		one := s.Site
		if s.last <= m.peak {
			one.LiveAtPeak = one.LiveBytes()
		}
		sum.Sites = append(sum.Sites, one)
	}
	slices.SortFunc(sum.Sites, func(a, b Site) int { return cmp.Compare(a.Stack, b.Stack) })
	sum.Ranges = m.Ranges()
	return &sum
}

// Ranges returns the live ranges, ascending.
func (m *Mapper) Ranges() []Range { return slices.Concat(m.spans...) }

// resume continues from a summary.
func (m *Mapper) resume(sum *Mapped) {
	if sum == nil {
		return
	}
	m.sum, m.number = *sum, 1
	m.sum.Sites, m.sum.Ranges = nil, nil
	for _, s := range sum.Sites {
		one := m.site(s.Stack)
		one.Site, one.last = s, 1 // as if it had changed since the peak
	}
	for _, r := range sum.Ranges {
		m.insert(r)
	}
}
