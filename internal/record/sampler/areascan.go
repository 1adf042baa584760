package sampler

import (
	"bufio"
	"os"
	"sort"
)

// scan reads the list of mappings without what the kernel counts for each, and counts their pages with a scan. rss is
// the resident set just before. What only the long list says, MAP_NORESERVE, is taken from the latest long list. It
// returns nil if the long list has to be read: if the kernel cannot scan, if the pages found are not the resident set
// (huge pages from a pool are not part of it), or if too much is in mappings that the latest long list did not have.
// resident is the resident set just after.
func (g *areas) scan(p *Process, rss int64) (list []Area, resident int64) {
	if len(g.known) == 0 {
		return nil, 0
	}
	f, err := os.Open(p.dir + "/maps")
	if err != nil {
		return nil, 0
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 16<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			break
		}
		if a, ok := areaOf(line); ok && a.Start>>63 == 0 { // above is the kernel's
			list = append(list, a)
		}
	}
	if len(list) == 0 || len(list) > maxAreas || !countPages(p, list) {
		return nil, 0
	}
	after := Unknown
	if !p.statm(&after) {
		return nil, 0
	}
	const least = 1 << 20
	off := max(rss, after.RSS)/topShare + least
	if sum := residentOf(list); sum > max(rss, after.RSS)+off || sum < min(rss, after.RSS)-off ||
		g.takeFlags(list) > uint64(max(0, after.RSS))/growthShare {
		return nil, 0
	}
	return list, after.RSS
}

// countPages sets what is in memory of areas, and the pages of those in which an allocator's memory can be.
func countPages(p *Process, list []Area) bool {
	m, err := openPageMap(p.dir)
	if err != nil {
		return false // not ours to read
	}
	defer m.close()
	i, runs := 0, maxPageRuns
	ok := m.scan(list[0].Start, list[len(list)-1].End, isPresent, isPageZero, func(start, end uint64) bool {
		for start < end {
			for i < len(list) && list[i].End <= start {
				i++
			}
			if i == len(list) {
				return false
			}
			a := &list[i]
			if start = max(start, a.Start); start >= end {
				break // it is of a mapping that is not listed
			}
			until := min(end, a.End)
			a.Resident += until - start
			if runs > 0 && a.canBeHeap() {
				n := len(a.Pages)
				a.Pages, _ = withRun(a.Pages, start, until, runs)
				runs -= len(a.Pages) - n
			}
			start = until
		}
		return true
	})
	for i := range list {
		a := &list[i]
		listed := uint64(0)
		for _, r := range a.Pages {
			listed += r.End - r.Start
		}
		if a.Resident == a.Size() || listed < a.Resident { // there was no room for all
			a.Pages = nil
		}
	}
	return ok
}

// takeFlags takes over what is known of the mappings of which a part was in the latest long list. It returns how much
// is in memory of those of which something matters that is not known.
func (g *areas) takeFlags(list []Area) (unknown uint64) {
	for i := range list {
		a := &list[i]
		if !a.canBeHeap() || a.Path != "" {
			continue
		}
		k := sort.Search(len(g.known), func(k int) bool { return g.known[k].End > a.Start })
		if k < len(g.known) && g.known[k].Start < a.End {
			a.NoReserve = g.known[k].NoReserve
		} else {
			unknown += a.Resident
		}
	}
	return unknown
}
