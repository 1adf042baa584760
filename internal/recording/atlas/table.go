package atlas

import (
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// table holds the running sums of stacks, all of which fit in T. A stack has an entry for each moment before which
// something happened there.
type table[T uint16 | uint32 | uint64] struct {
	rank  []uint32     // of each stack, rising
	first []uint32     // of each stack: its first entry; then the number of all entries; empty without stacks
	at    []uint16     // of each entry: the moment
	sums  [][columns]T // of each entry: up to that moment
}

// entryBytes is how much memory an entry takes, by the bytes of a number.
func entryBytes(number int) int64 { return 2 + columns*int64(number) }

// widthOf returns how many bytes numbers up to max need: 2, 4 or 8.
func widthOf(max uint64) int {
	switch {
	case max < 1<<16:
		return 2
	case max < 1<<32:
		return 4
	}
	return 8
}

// begin makes room for the next stack, which has so many entries, and returns the first one's place.
func (t *table[T]) begin(rank, entries uint32) uint32 {
	if len(t.first) == 0 {
		t.first = append(t.first, 0)
	}
	first := t.first[len(t.first)-1]
	t.rank, t.first = append(t.rank, rank), append(t.first, first+entries)
	return first
}

// make makes the entries.
func (t *table[T]) make() {
	if len(t.rank) > 0 {
		n := t.first[len(t.first)-1]
		t.at, t.sums = make([]uint16, n), make([][columns]T, n)
	}
}

// put fills in a stack's next entry: at a moment, sums were added to those before.
func (t *table[T]) put(p *place, moment uint16, added *Sums) {
	row := &t.sums[p.next]
	if p.began {
		*row = t.sums[p.next-1]
	}
	for k := range columns {
		row[k] += T(added[k])
	}
	t.at[p.next] = moment
	p.next, p.began = p.next+1, true
}

// upTo returns how many of a stack's entries are not after a moment.
func upTo(at []uint16, moment uint16) int {
	low, high := 0, len(at)
	for low < high {
		if mid := int(uint(low+high) >> 1); at[mid] <= moment {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// changes appends what happened between two moments.
func (t *table[T]) changes(stacks []uint32, from, to uint16, list []recording.Change) []recording.Change {
	for i, rank := range t.rank {
		first, end := t.first[i], t.first[i+1]
		at := t.at[first:end]
		if len(at) == 0 || at[0] > to || at[len(at)-1] <= from {
			continue
		}
		after := upTo(at, to)
		if at[after-1] <= from {
			continue
		}
		s := &t.sums[int(first)+after-1]
		c := recording.Change{Stack: stacks[rank], Allocs: uint64(s[Allocs]), Bytes: uint64(s[Bytes]),
			Frees: uint64(s[Frees]), FreedBytes: uint64(s[FreedBytes]), Temporary: uint64(s[Temporary])}
		if before := upTo(at[:after], from); before > 0 {
			s := &t.sums[int(first)+before-1]
			c.Allocs -= uint64(s[Allocs])
			c.Bytes -= uint64(s[Bytes])
			c.Frees -= uint64(s[Frees])
			c.FreedBytes -= uint64(s[FreedBytes])
			c.Temporary -= uint64(s[Temporary])
		}
		list = append(list, c)
	}
	return list
}

// live appends what is live at a moment.
func (t *table[T]) live(stacks []uint32, moment uint16, list []timetravel.Live) []timetravel.Live {
	for i, rank := range t.rank {
		first, end := t.first[i], t.first[i+1]
		at := t.at[first:end]
		if len(at) == 0 || at[0] > moment {
			continue
		}
		s := &t.sums[int(first)+upTo(at, moment)-1]
		if s[Allocs] != s[Frees] || s[Bytes] != s[FreedBytes] {
			list = append(list, timetravel.Live{Stack: stacks[rank],
				Blocks: uint64(s[Allocs]) - uint64(s[Frees]), Bytes: uint64(s[Bytes]) - uint64(s[FreedBytes])})
		}
	}
	return list
}

// add adds what happened before each moment. The ranks rise.
func (t *table[T]) add(sums []Sums, list []Ranks) {
	i := 0
	for _, r := range list {
		for i = t.from(i, r.First); i < len(t.rank) && t.rank[i] < r.End; i++ {
			t.addStack(sums, i)
		}
	}
}

// from returns the first stack from i on whose rank is not below one. It is most likely near.
func (t *table[T]) from(i int, rank uint32) int {
	step := 1
	for i+step < len(t.rank) && t.rank[i+step] < rank {
		step *= 2
	}
	low, high := i+step/2, min(i+step+1, len(t.rank))
	for low < high {
		if mid := int(uint(low+high) >> 1); t.rank[mid] < rank {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

func (t *table[T]) addStack(sums []Sums, i int) {
	var before [columns]T
	first, end := t.first[i], t.first[i+1]
	rows := t.sums[first:end]
	for k, at := range t.at[first:end] {
		s, row := &sums[at], &rows[k]
		s[Allocs] += uint64(row[Allocs] - before[Allocs])
		s[Bytes] += uint64(row[Bytes] - before[Bytes])
		s[Frees] += uint64(row[Frees] - before[Frees])
		s[FreedBytes] += uint64(row[FreedBytes] - before[FreedBytes])
		s[Temporary] += uint64(row[Temporary] - before[Temporary])
		before = *row
	}
}

func (t *table[T]) size() int64 {
	return int64(cap(t.rank)+cap(t.first))*4 + int64(cap(t.at))*2 + int64(cap(t.sums))*(entryBytes(t.width())-2)
}

// width is how many bytes a number has.
func (t *table[T]) width() int { return widthOf(uint64(^T(0))) }
