// Package resident says what a process's resident set consists of: it divides the kernel's list of mappings among the
// live blocks, the rest of the allocator's memory, what the program mapped itself, by call stack, the threads' stacks,
// and the files.
//
// What the program mapped itself comes first, since that is known from events. A mapping that has live blocks was made
// by an allocator other than libc's, whose calls of mmap are events, too: it counts as the allocator's. Mappings
// without a file that are left are the allocator's if it is known to have given out memory there; else they are part
// of the rest. The parts add up to the resident set as the kernel counts it by mapping.
package resident

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/sampler"
	"github.com/heaptap/heaptap/internal/tally"
)

// Set follows what is known about one process's mappings. The zero value is ready for use.
type Set struct {
	mapped    tally.Mapper
	allocated []event.AddrRange // areas that were the allocator's, ascending and disjoint
	lent      map[mapping]bool  // mappings of which an allocator has given out blocks
	next      time.Time         // when live blocks may be looked at again
	absent    uint64            // how much of them was not in memory then
}

// mapping tells apart what was mapped.
type mapping struct {
	start uint64
	stack uint32
}

// Known is what else is known when the mappings are read.
type Known struct {
	Modules []event.Module
	Stacks  []sampler.Stack
	// Blocks are the live blocks, in any order; nil: single blocks are not known.
	Blocks    iter.Seq[event.Block]
	LiveBytes uint64 // requested bytes of all live blocks
}

// Parts of one reading that are named one by one: at most so many, and only if they are no smaller than such a part of
// the resident set. The others are one part.
const (
	namedStacks = 512
	namedFiles  = 64
	namedShare  = 5000
)

// blocksDuty bounds the time that the live blocks are looked at to a part of all time.
const blocksDuty = 100

// Map follows a change of the mappings that the program made itself.
func (s *Set) Map(e *event.Event) { s.mapped.See(e) }

// Inherit takes what a process has mapped from the one that it was forked from. The call stacks of that one's recording
// mean nothing in its own: they are not known.
func (s *Set) Inherit(from *Set) {
	for _, r := range from.mapped.Ranges() {
		s.mapped.See(&event.Event{Kind: event.Map, Func: event.Mmap, Addr: r.Start, Size: r.End - r.Start})
	}
	s.allocated = slices.Clone(from.allocated)
}

// Divide returns what the resident set of these areas consists of. The parts' times are not set.
func (s *Set) Divide(areas []sampler.Area, known *Known) []event.ResidentPart {
	d := &division{set: s, areas: areas, known: known, stacks: map[uint32]*event.ResidentPart{},
		files: map[string]*event.ResidentPart{}, rest: make([]amount, len(areas)), allocator: make([]bool, len(areas)),
		threads: make([]bool, len(areas)), listed: make([]uint64, len(areas))}
	for k := range d.parts {
		d.parts[k].Kind = event.ResidentKind(k)
	}
	now := time.Now()
	look := known.Blocks != nil && !now.Before(s.next)
	took := time.Duration(0)
	ranges := s.mapped.Ranges()
	if look {
		took = sampler.ProcessorTime(func() { s.lend(ranges, known.Blocks) })
	}
	d.mappings(ranges)
	d.stackTops()
	live := known.LiveBytes - min(s.absent, known.LiveBytes)
	if look {
		took += sampler.ProcessorTime(func() { live = d.blocks() })
		s.absent = known.LiveBytes - min(live, known.LiveBytes)
		s.next = now.Add(took * blocksDuty)
	}
	for i := range areas {
		d.area(i)
	}
	return d.result(live)
}

// amount is memory: resident bytes, and bytes of address space.
type amount struct{ bytes, size uint64 }

// division is one reading that is being divided.
type division struct {
	set       *Set
	areas     []sampler.Area
	known     *Known
	parts     [event.ResidentKinds]event.ResidentPart
	stacks    map[uint32]*event.ResidentPart // of mappings, by call stack
	files     map[string]*event.ResidentPart // by path
	rest      []amount                       // by area: what the program has not mapped itself
	allocator []bool                         // by area: it has live blocks
	threads   []bool                         // by area: it is a thread's stack
	listed    []uint64                       // by area: bytes of Pages; 0: not counted
}

// at finds the area of an address.
func (d *division) at(addr uint64) (int, bool) {
	i := sort.Search(len(d.areas), func(i int) bool { return d.areas[i].End > addr })
	return i, i < len(d.areas) && d.areas[i].Start <= addr
}

// lend notes which mappings have live blocks, besides those that had some.
func (s *Set) lend(ranges []tally.Range, blocks iter.Seq[event.Block]) {
	had := s.lent
	s.lent = map[mapping]bool{}
	if len(ranges) == 0 {
		return
	}
	for _, r := range ranges {
		if m := (mapping{r.Start, r.Stack}); had[m] {
			s.lent[m] = true
		}
	}
	var last tally.Range
	more := len(ranges)
	for b := range blocks {
		end := endOf(&b)
		if last.Start <= b.Addr && end <= last.End {
			continue
		}
		i := sort.Search(len(ranges), func(i int) bool { return ranges[i].End > b.Addr })
		for k := i; k < len(ranges) && ranges[k].Start < end && (k == i || more > 0); k++ {
			if k > i {
				more--
			} else if ranges[k].Start > b.Addr {
				break
			}
			last = ranges[k]
			s.lent[mapping{last.Start, last.Stack}] = true
		}
	}
}

// endOf returns the first address after a block.
func endOf(b *event.Block) uint64 {
	if end := b.Addr + max(b.Size, 1); end > b.Addr {
		return end
	}
	return math.MaxUint64
}

// mappings takes what the program has mapped itself out of the areas.
func (d *division) mappings(ranges []tally.Range) {
	for i := range d.areas {
		d.rest[i] = amount{d.areas[i].Resident, d.areas[i].Size()}
	}
	i := 0
	for _, r := range ranges {
		if d.set.lent[mapping{r.Start, r.Stack}] {
			continue
		}
		const page = 4096 // what is left of a range's last page is the range's, too
		end := (r.End + page - 1) &^ (page - 1)
		for i < len(d.areas) && d.areas[i].End <= r.Start {
			i++
		}
		for k := i; k < len(d.areas) && d.areas[k].Start < end; k++ {
			a := &d.areas[k]
			low, high := max(r.Start, a.Start), min(end, a.End)
			n := min(d.resident(k, low, high), d.rest[k].bytes)
			size := min(high-low, d.rest[k].size)
			d.rest[k].bytes -= n
			d.rest[k].size -= size
			p := d.stacks[r.Stack]
			if p == nil {
				p = &event.ResidentPart{Kind: event.ResidentMapping, Stack: r.Stack}
				d.stacks[r.Stack] = p
			}
			p.Bytes += n
			p.Size += size
		}
	}
	for i := range d.rest {
		if r := &d.rest[i]; r.size == 0 { // what rounding has left
			d.parts[event.ResidentRest].Bytes += r.bytes
			r.bytes = 0
		}
	}
}

// resident returns how much between two addresses of an area is in memory. If single pages are not known, they are
// taken to be spread evenly. The page of zeros, which is in no process's resident set, is listed like others.
func (d *division) resident(i int, from, to uint64) uint64 {
	a := &d.areas[i]
	part := float64(to-from) / float64(a.Size())
	switch {
	case a.Resident >= a.Size():
		return to - from
	case a.Resident == 0:
		return 0
	case a.Pages == nil:
		return uint64(float64(a.Resident) * part)
	}
	if d.listed[i] == 0 {
		for _, r := range a.Pages {
			d.listed[i] += r.End - r.Start
		}
	}
	k := sort.Search(len(a.Pages), func(k int) bool { return a.Pages[k].End > from })
	sum := uint64(0)
	for ; k < len(a.Pages) && a.Pages[k].Start < to; k++ {
		sum += min(a.Pages[k].End, to) - max(a.Pages[k].Start, from)
	}
	if d.listed[i] > a.Resident {
		return uint64(float64(sum) * (float64(a.Resident) / float64(d.listed[i])))
	}
	return sum
}

// stackTops finds the areas that are the stacks of threads that are known.
func (d *division) stackTops() {
	for _, t := range d.known.Stacks {
		if i, ok := d.at(t.Top - 1); ok && d.areas[i].Path == "" {
			d.threads[i] = true
		}
	}
}

// blocks returns how much of the live blocks is in memory, and notes the areas that they lie in. A block may lie in
// several: the kernel divides a mapping where a part of it was given other attributes.
func (d *division) blocks() (live uint64) {
	i := 0
	// Blocks that do not overlap cross no more ends of areas than there are. Only if what the process reports
	// contradicts itself do some blocks count by their first area.
	more := len(d.areas)
	for b := range d.known.Blocks {
		if i >= len(d.areas) || b.Addr < d.areas[i].Start || b.Addr >= d.areas[i].End {
			var ok bool
			if i, ok = d.at(b.Addr); !ok {
				continue
			}
		}
		end := endOf(&b)
		for k := i; k < len(d.areas) && d.areas[k].Start < end && (k == i || more > 0); k++ {
			if k > i {
				more--
			}
			live += d.within(k, &b, end)
		}
	}
	return live
}

// within returns how much of a block is in memory in an area, and notes that the area has blocks.
func (d *division) within(i int, b *event.Block, end uint64) uint64 {
	const page = 4096
	if d.rest[i].size == 0 {
		return 0 // it lies in what the program mapped itself
	}
	a := &d.areas[i]
	d.allocator[i] = true
	from, to := max(b.Addr, a.Start), min(end, a.End)
	switch {
	case b.Size == 0:
		return 0
	case b.Size < page:
		return to - from
	}
	return d.resident(i, from, to)
}

// area adds what the program has not mapped itself of an area to the parts.
func (d *division) area(i int) {
	n, a := d.rest[i], &d.areas[i]
	if n.size == 0 || a.NoAccess && n.bytes == 0 {
		return
	}
	kind := d.kind(i, a)
	if kind == event.ResidentFile {
		p := d.files[a.Path]
		if p == nil {
			p = &event.ResidentPart{Kind: kind, Name: a.Path}
			d.files[a.Path] = p
		}
		p.Bytes += n.bytes
		p.Size += n.size
		return
	}
	if kind == event.ResidentSlack {
		d.set.note(a)
	}
	d.parts[kind].Bytes += n.bytes
	d.parts[kind].Size += n.size
}

// kind says what an area is, apart from what the program has mapped itself.
func (d *division) kind(i int, a *sampler.Area) event.ResidentKind {
	name := strings.TrimSuffix(a.Path, " (deleted)")
	switch {
	case name == "[heap]":
		return event.ResidentSlack
	case name == "[stack]", d.threads[i]:
		return event.ResidentStacks
	case path.Base(name) == "libheaptap.so", strings.HasSuffix(name, ".spool") && strings.Contains(name, "heaptap-"):
		return event.ResidentAgent
	case strings.HasPrefix(name, "/") && a.Writable && !a.Shared:
		return event.ResidentStatic
	case strings.HasPrefix(name, "/"):
		return event.ResidentFile
	case name != "":
		return event.ResidentRest
	case d.allocator[i]:
		return event.ResidentSlack
	case d.ofModule(a):
		return event.ResidentStatic
	case !a.Writable:
		return event.ResidentRest
	case d.guarded(i):
		return event.ResidentStacks
	case d.set.wasAllocated(a), d.arena(i):
		return event.ResidentSlack
	case a.NoReserve && !d.foreign():
		return event.ResidentAgent // the agent's tables are mapped like this
	case d.known.Blocks == nil && a.Size() >= 1<<20:
		return event.ResidentSlack // most likely
	}
	return event.ResidentRest
}

// foreign says whether the process has an allocator that maps its own tables as the agent does.
func (d *division) foreign() bool {
	return slices.ContainsFunc(d.known.Modules, func(m event.Module) bool {
		name := path.Base(m.Path)
		return strings.Contains(name, "jemalloc") || strings.Contains(name, "mimalloc") ||
			strings.Contains(name, "tcmalloc")
	})
}

// ofModule says whether an area without a file is the end of a file's data, which is zero at first.
func (d *division) ofModule(a *sampler.Area) bool {
	return slices.ContainsFunc(d.known.Modules, func(m event.Module) bool {
		return m.Unload < 0 && a.Start < m.End && m.Start < a.End
	})
}

// guarded says whether a small area that cannot be accessed lies below: a thread's stack that libc has mapped.
func (d *division) guarded(i int) bool {
	const most = 64 << 10
	return i > 0 && d.areas[i-1].NoAccess && d.areas[i-1].Path == "" && d.areas[i-1].End == d.areas[i].Start &&
		d.areas[i-1].Size() <= most
}

// arena says whether an area looks like one of glibc's arenas: it begins at a multiple of 64 MiB, and what is reserved
// behind it reaches up to the next one.
func (d *division) arena(i int) bool {
	const length = 64 << 20
	a := &d.areas[i]
	if a.Start%length != 0 || a.Size() > length {
		return false
	}
	return a.Size() == length || i+1 < len(d.areas) && d.areas[i+1].NoAccess && d.areas[i+1].Start == a.End &&
		d.areas[i+1].End >= a.Start+length
}

// note remembers that an area was the allocator's.
func (s *Set) note(a *sampler.Area) {
	i := sort.Search(len(s.allocated), func(i int) bool { return s.allocated[i].End >= a.Start })
	r, k := event.AddrRange{Start: a.Start, End: a.End}, i
	for ; k < len(s.allocated) && s.allocated[k].Start <= a.End; k++ {
		r.Start, r.End = min(r.Start, s.allocated[k].Start), max(r.End, s.allocated[k].End)
	}
	s.allocated = slices.Replace(s.allocated, i, k, r)
}

// wasAllocated says whether an area, or a part of it, was the allocator's.
func (s *Set) wasAllocated(a *sampler.Area) bool {
	i := sort.Search(len(s.allocated), func(i int) bool { return s.allocated[i].End > a.Start })
	return i < len(s.allocated) && s.allocated[i].Start < a.End
}

// result returns the parts, given what is in memory of the live blocks.
func (d *division) result(live uint64) []event.ResidentPart {
	slack, blocks := &d.parts[event.ResidentSlack], &d.parts[event.ResidentLive]
	blocks.Bytes, blocks.Size = min(live, slack.Bytes), d.known.LiveBytes
	slack.Bytes -= blocks.Bytes
	slack.Size = max(slack.Bytes, slack.Size-min(slack.Size, blocks.Size))
	list := []event.ResidentPart{*blocks, *slack}
	least := uint64(0)
	for i := range d.areas {
		least += d.areas[i].Resident / namedShare
	}
	list = append(list, largest(maps.Values(d.stacks), namedStacks, least)...)
	for _, k := range []event.ResidentKind{event.ResidentStacks, event.ResidentStatic} {
		list = append(list, d.parts[k])
	}
	list = append(list, largest(maps.Values(d.files), namedFiles, least)...)
	return append(list, d.parts[event.ResidentAgent], d.parts[event.ResidentRest])
}

// largest returns the largest parts, at most so many, and one with the sums of all others.
func largest(parts iter.Seq[*event.ResidentPart], most int, least uint64) []event.ResidentPart {
	var list []event.ResidentPart
	var others event.ResidentPart
	for p := range parts {
		if p.Bytes >= least {
			list = append(list, *p)
			continue
		}
		others = plus(others, p)
	}
	slices.SortFunc(list, func(a, b event.ResidentPart) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Size, a.Size), cmp.Compare(a.Stack, b.Stack),
			cmp.Compare(a.Name, b.Name))
	})
	for i := most; i < len(list); i++ {
		others = plus(others, &list[i])
	}
	list = list[:min(most, len(list))]
	if others.Size > 0 {
		list = append(list, others)
	}
	return list
}

// plus returns the sum of parts of one kind.
func plus(sum event.ResidentPart, p *event.ResidentPart) event.ResidentPart {
	return event.ResidentPart{Kind: p.Kind, Bytes: sum.Bytes + p.Bytes, Size: sum.Size + p.Size}
}
