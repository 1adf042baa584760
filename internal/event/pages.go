package event

import (
	"cmp"
	"slices"
)

// PageReading says which pages of a process's private writable memory without a file were in memory at one moment.
type PageReading struct {
	Time     int64  // when the reading began, ns since the recording's start
	Took     int64  // ns of a processor's time
	PageSize uint64 // bytes
	// Areas are the mappings that were looked at, by address; of all other memory, nothing is known.
	Areas    []AddrRange
	Resident []AddrRange // pages in memory within the areas, as ascending runs
}

// ToggleAreas returns the ranges that are in one of two lists only. Both are by start and end, and so is the result. A
// list toggled by what differs from another list is that other list.
func ToggleAreas(a, b []AddrRange) []AddrRange {
	list := make([]AddrRange, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch c := byAddress(a[0], b[0]); {
		case c == 0:
			a, b = a[1:], b[1:]
		case c < 0:
			list, a = append(list, a[0]), a[1:]
		default:
			list, b = append(list, b[0]), b[1:]
		}
	}
	return append(append(list, a...), b...)
}

func byAddress(a, b AddrRange) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
}

// TogglePages returns the addresses that are in the ranges of one of two lists only. Both lists are ascending and
// disjoint, and so is the result, in which no range touches the next one.
func TogglePages(a, b []AddrRange) []AddrRange {
	list := make([]AddrRange, 0, max(len(a), len(b)))
	var inA, inB bool
	for len(a) > 0 || len(b) > 0 {
		was := inA != inB
		// The next address at which one of the lists begins or ends a range.
		at := ^uint64(0)
		if len(a) > 0 {
			at = edge(a[0], inA)
		}
		if len(b) > 0 {
			at = min(at, edge(b[0], inB))
		}
		for len(a) > 0 && edge(a[0], inA) == at {
			if inA {
				a = a[1:]
			}
			inA = !inA
		}
		for len(b) > 0 && edge(b[0], inB) == at {
			if inB {
				b = b[1:]
			}
			inB = !inB
		}
		switch is := inA != inB; {
		case is && !was:
			if n := len(list); n > 0 && list[n-1].End == at {
				continue
			}
			list = append(list, AddrRange{Start: at})
		case was && !is:
			list[len(list)-1].End = at
		}
	}
	return list
}

func edge(r AddrRange, inside bool) uint64 {
	if inside {
		return r.End
	}
	return r.Start
}

// InRanges reports whether an address lies in one of the ranges, which are ascending and disjoint.
func InRanges(list []AddrRange, addr uint64) bool {
	i, _ := slices.BinarySearchFunc(list, addr, func(r AddrRange, addr uint64) int {
		if r.End <= addr {
			return -1
		}
		return 1
	})
	return i < len(list) && list[i].Start <= addr
}
