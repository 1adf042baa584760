package query

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"sort"

	"github.com/heaptap/heaptap/internal/event"
)

// HeapKind says what a band of the address space is, judging by where it is and by the sizes of its blocks.
type HeapKind uint8

// The kinds of bands.
const (
	BrkHeap  HeapKind = iota // beside the program, where brk puts it
	Arena                    // elsewhere, with small blocks
	Mappings                 // elsewhere, with large blocks only, which usually are mappings of their own
)

func (k HeapKind) String() string { return [...]string{"heap", "arena", "mappings"}[k] }

// HeapLayout arranges the pages on which blocks are in a row of cells, the lowest address first: so gaps between them
// need no room. A cell is one page or, if the row would be too long, several.
type HeapLayout struct {
	Bands    []HeapBand
	Capacity []uint64 // bytes of the pages of each cell; 0: the cell stands for a gap
	runs     []*HeapRun
}

// again returns the same layout for another answer: who allocated is left out.
func (l *HeapLayout) again() *HeapLayout {
	c := *l
	c.Bands = slices.Clone(l.Bands)
	for i := range c.Bands {
		c.Bands[i].Threads = nil
	}
	return &c
}

// HeapBand are neighbouring cells of one kind.
type HeapBand struct {
	Kind         HeapKind
	First, Cells int
	CellPages    uint64 // pages in a cell
	Pages        uint64
	Runs         []HeapRun
	// Threads are the threads that allocated small blocks there, with the number of blocks, the most active first.
	Threads []ThreadShare
}

// ThreadShare is a thread and what share of something is its own.
type ThreadShare struct {
	Thread uint32
	Name   string
	Share  float64
}

// HeapRun are neighbouring pages, by number.
type HeapRun struct {
	From, To uint64 // To is the first page after them
	band     int
	base     uint64 // where its first page is in the band, in pages
	shift    uint
	first    uint64 // cell of the band's first page
}

const (
	nearPages  = 16      // fewer pages on which no block ever was are no gap
	innerPages = 512     // large blocks of no more pages belong to the small ones around them
	arenaPages = 1 << 14 // glibc aligns its arenas to so many
	mostBands  = 10
	mostRuns   = 1 << 20
	mostShift  = 40
)

// cell returns the cell of a page of the run.
func (r *HeapRun) cell(page uint64) uint64 { return r.first + (r.base+page-r.From)>>r.shift }

// next returns the first page after the cell of a page of the run.
func (r *HeapRun) next(page uint64) uint64 {
	return min(r.From+((r.base+page-r.From)>>r.shift+1)<<r.shift-r.base, r.To)
}

// run returns the run of a page; nil: no block was ever there. The hint, which may be nil, is tried first.
func (l *HeapLayout) run(page uint64, hint *HeapRun) *HeapRun {
	if hint != nil && hint.From <= page && page < hint.To {
		return hint
	}
	i := sort.Search(len(l.runs), func(i int) bool { return l.runs[i].To > page })
	if i == len(l.runs) || l.runs[i].From > page {
		return nil
	}
	return l.runs[i]
}

// Find returns the cell of an address; false: no block was ever near it.
func (l *HeapLayout) Find(addr uint64) (cell int, ok bool) {
	r := l.run(addr/PageSize, nil)
	if r == nil {
		return 0, false
	}
	return int(r.cell(addr / PageSize)), true
}

// Start returns the first address of a cell, and the band that has it; false: the cell stands for a gap.
func (l *HeapLayout) Start(cell int) (addr uint64, band int, ok bool) {
	for i := range l.Bands {
		b := &l.Bands[i]
		if cell < b.First || cell >= b.First+b.Cells {
			continue
		}
		for k := range b.Runs {
			r := &b.Runs[k]
			if lo, hi := r.cell(r.From), r.cell(r.To-1); lo <= uint64(cell) && uint64(cell) <= hi {
				page := r.From
				if at := uint64(cell) - r.first; at<<r.shift > r.base {
					page += at<<r.shift - r.base
				}
				return page * PageSize, i, true
			}
		}
		return 0, i, false
	}
	return 0, 0, false
}

// pageRun are pages, by number, without the last one.
type pageRun struct{ from, to uint64 }

// reach knows on which pages blocks ever were.
type reach struct {
	small  bitGroups // pages, by the number of the huge page
	large  []pageRun // of blocks of at least ownMapping
	sorted int       // so many of these are sorted, and apart
}

// bitGroups has a bit for each of many numbers, most of which are near others: groups of them are created when needed.
// The zero value is ready for use.
type bitGroups struct {
	known  map[uint64]*usedBits
	recent []recentBits // by the lower bits of a group's number
}

// usedBits is a group: a bit for each page of a huge page, or for each eight bytes of a page.
type usedBits [groupPages / 64]uint64

type recentBits struct {
	number uint64
	bits   *usedBits // nil: none
}

// note notes where a block is.
func (r *reach) note(addr, size uint64) {
	size = max(size, 1)
	if !fits(addr, size) {
		return
	}
	first, last := addr/PageSize, (addr+size-1)/PageSize
	if size >= ownMapping {
		r.addLarge(pageRun{first, last + 1})
		return
	}
	for p := first; p <= last; p++ {
		r.small.of(p / groupPages)[p%groupPages/64] |= 1 << (p % 64)
	}
}

// of returns the group with a number.
func (b *bitGroups) of(n uint64) *usedBits {
	if b.known == nil {
		b.known = make(map[uint64]*usedBits)
	}
	if len(b.recent) == 0 {
		b.recent = make([]recentBits, 64)
	}
	recent := &b.recent[n%uint64(len(b.recent))]
	if recent.bits != nil && recent.number == n {
		return recent.bits
	}
	g := b.known[n]
	if g == nil {
		g = new(usedBits)
		b.known[n] = g
	}
	*recent = recentBits{n, g}
	return g
}

// find returns the group with a number; nil: none of its bits was ever set.
func (b *bitGroups) find(n uint64) *usedBits {
	if len(b.recent) == 0 {
		return nil
	}
	if recent := &b.recent[n%uint64(len(b.recent))]; recent.number == n && recent.bits != nil {
		return recent.bits
	}
	return b.known[n]
}

// add sets the bits that are set in another one.
func (b *bitGroups) add(o *bitGroups) {
	for n, g := range o.known {
		to := b.of(n)
		for i := range g {
			to[i] |= g[i]
		}
	}
}

func (r *reach) addLarge(p pageRun) {
	if r.large = append(r.large, p); len(r.large) > 2*r.sorted+1024 {
		r.large = joinedRuns(r.large, 0)
		r.sorted = len(r.large)
	}
}

// add adds what another one knows. It returns false if blocks are in too many places.
func (r *reach) add(o *reach) bool {
	r.small.add(&o.small)
	for _, p := range o.large {
		r.addLarge(p)
	}
	return len(r.small.known) <= mostGroups && r.sorted <= mostRuns
}

// joinedRuns sorts runs, and joins those that overlap, or have no more than so many pages between them.
func joinedRuns(list []pageRun, gap uint64) []pageRun {
	slices.SortFunc(list, func(a, b pageRun) int { return cmp.Compare(a.from, b.from) })
	n := 0
	for _, p := range list {
		if n > 0 && p.from <= list[n-1].to+gap {
			list[n-1].to = max(list[n-1].to, p.to)
			continue
		}
		list[n] = p
		n++
	}
	return list[:n]
}

// smallRuns returns the pages on which small blocks were, with the large blocks among them.
func (r *reach) smallRuns() (list []pageRun) {
	add := func(p uint64) {
		if n := len(list); n > 0 && p <= list[n-1].to+nearPages {
			list[n-1].to = p + 1
			return
		}
		list = append(list, pageRun{p, p + 1})
	}
	for _, n := range slices.Sorted(maps.Keys(r.small.known)) {
		for i, word := range r.small.known[n] {
			for ; word != 0; word &= word - 1 {
				add(n*groupPages + uint64(i)*64 + uint64(bits.TrailingZeros64(word)))
			}
		}
	}
	n, next := 0, 0
	for _, p := range list {
		if n == 0 {
			list[0], n = p, 1
			continue
		}
		before := &list[n-1]
		for next < len(r.large) && r.large[next].to+nearPages < p.from {
			next++
		}
		filled := next < len(r.large) && r.large[next].from <= before.to+nearPages &&
			p.from <= r.large[next].to+nearPages
		if filled && p.from-before.to <= innerPages {
			before.to = p.to
			continue
		}
		list[n] = p
		n++
	}
	return list[:n]
}

// without returns the parts of runs that no other run has. Both lists are sorted.
func without(list, others []pageRun) (left []pageRun) {
	next := 0
	for _, p := range list {
		for next < len(others) && others[next].to <= p.from {
			next++
		}
		for i := next; p.from < p.to; i++ {
			if i == len(others) || others[i].from >= p.to {
				left = append(left, p)
				break
			}
			if others[i].from > p.from {
				left = append(left, pageRun{p.from, others[i].from})
			}
			p.from = others[i].to
		}
	}
	return left
}

// brkRange returns the pages between the program's own file and the first library, where brk puts the heap.
func brkRange(exe string, modules []event.Module) (r pageRun) {
	for i := range modules {
		if m := &modules[i]; m.Path == exe && m.End > r.from*PageSize {
			r.from = (m.End + PageSize - 1) / PageSize
		}
	}
	if r.from == 0 {
		return r
	}
	r.to = r.from + 1<<40/PageSize
	for i := range modules {
		if first := modules[i].Start / PageSize; first >= r.from {
			r.to = min(r.to, first)
		}
	}
	return r
}

// layout arranges the pages in at most so many cells.
func (r *reach) layout(room int, brk pageRun) *HeapLayout {
	r.large = joinedRuns(r.large, 0)
	small := r.smallRuns()
	large := without(r.large, small)
	var runs []kindRun
	add := func(list []pageRun, kind HeapKind) {
		for _, p := range list {
			if brk.from <= p.from && p.from < brk.to {
				runs = append(runs, kindRun{p, BrkHeap})
			} else {
				runs = append(runs, kindRun{p, kind})
			}
		}
	}
	add(small, Arena)
	add(large, Mappings)
	slices.SortFunc(runs, func(a, b kindRun) int { return cmp.Compare(a.from, b.from) })
	l := &HeapLayout{}
	for _, p := range runs {
		n := len(l.Bands)
		if n > 0 && l.Bands[n-1].Kind == p.kind {
			b := &l.Bands[n-1]
			last := &b.Runs[len(b.Runs)-1]
			if p.from-last.To <= nearPages {
				last.To = p.to
				continue
			}
			if p.kind != Arena || last.From/arenaPages == p.from/arenaPages {
				b.Runs = append(b.Runs, HeapRun{From: p.from, To: p.to})
				continue
			}
		}
		l.Bands = append(l.Bands, HeapBand{Kind: p.kind, Runs: []HeapRun{{From: p.from, To: p.to}}})
	}
	for i := range l.Bands {
		b := &l.Bands[i]
		for k := range b.Runs {
			b.Pages += b.Runs[k].To - b.Runs[k].From
		}
	}
	l.Bands = fewBands(l.Bands)
	l.place(room)
	return l
}

// kindRun are pages of a kind.
type kindRun struct {
	pageRun
	kind HeapKind
}

// fewBands joins neighbouring bands, those of one kind and the smallest ones first, until there are few.
func fewBands(list []HeapBand) []HeapBand {
	for len(list) > 64 { // pairs of them, since to look for the smallest would take long
		for i := 0; 2*i < len(list); i++ {
			list[i] = list[2*i]
			if 2*i+1 < len(list) {
				list[i].join(&list[2*i+1])
			}
		}
		list = list[:(len(list)+1)/2]
	}
	for len(list) > mostBands {
		best := 0
		for i := 1; i+1 < len(list); i++ {
			if joinCost(&list[i], &list[i+1]) < joinCost(&list[best], &list[best+1]) {
				best = i
			}
		}
		list[best].join(&list[best+1])
		list = slices.Delete(list, best+1, best+2)
	}
	return list
}

// joinCost says which bands are joined rather than others.
func joinCost(a, b *HeapBand) float64 {
	cost := float64(a.Pages + b.Pages)
	if a.Kind != b.Kind {
		cost *= 64
	}
	return cost
}

// join adds the next band. The larger one says of what kind they are.
func (b *HeapBand) join(next *HeapBand) {
	if next.Pages > b.Pages {
		b.Kind = next.Kind
	}
	b.Pages += next.Pages
	b.Runs = append(b.Runs, next.Runs...)
}

// place gives each page its cell. Large blocks have as many pages to a cell as they need to leave room for the small
// ones, and the other way round.
func (l *HeapLayout) place(room int) {
	gaps := -len(l.Bands)
	for i := range l.Bands {
		gaps += len(l.Bands[i].Runs)
	}
	apart := gaps <= room/16 // each run has cells of its own, and one before it for the gap
	var shift [2]uint        // of small blocks, of large ones
	class := func(b *HeapBand) int {
		if b.Kind == Mappings {
			return 1
		}
		return 0
	}
	total := 0
	for {
		var cells [2]int
		for i := range l.Bands {
			b := &l.Bands[i]
			cells[class(b)] += b.place(shift[class(b)], apart)
		}
		most := 0
		if cells[1] > cells[0] {
			most = 1
		}
		if total = cells[0] + cells[1]; total <= room || shift[most] == mostShift {
			break
		}
		shift[most]++
	}
	l.Capacity = make([]uint64, total)
	first := 0
	for i := range l.Bands {
		b := &l.Bands[i]
		b.First = first
		first += b.Cells
		for k := range b.Runs {
			r := &b.Runs[k]
			r.band, r.first = i, uint64(b.First)
			l.runs = append(l.runs, r)
			for p := r.From; p < r.To; {
				next := r.next(p)
				l.Capacity[r.cell(p)] += (next - p) * PageSize
				p = next
			}
		}
	}
}

// place arranges the band's runs, and returns how many cells they take.
func (b *HeapBand) place(shift uint, apart bool) int {
	size := uint64(1) << shift
	at := uint64(0)
	for i := range b.Runs {
		r := &b.Runs[i]
		if apart && i > 0 {
			at = (at+size-1)&^(size-1) + size
		}
		r.base, r.shift = at, shift
		at += r.To - r.From
	}
	b.CellPages = size
	b.Cells = int((at + size - 1) >> shift)
	return b.Cells
}

// Place returns the cell of the run's first page, and how many pages of the cell are before it.
func (r *HeapRun) Place() (cell int, page uint64) {
	return int(r.cell(r.From)), r.base & (1<<r.shift - 1)
}
