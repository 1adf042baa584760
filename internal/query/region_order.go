package query

import (
	"cmp"
	"slices"
)

// RegionColumn is a number of each region by which a table can be sorted.
type RegionColumn struct {
	Name  string
	Unit  Unit
	Value func(r *RegionRow) int64
}

// RegionColumns are all columns.
var RegionColumns = []RegionColumn{
	{"time", Nanoseconds, func(r *RegionRow) int64 { return r.End - r.Begin }},
	{"allocations", Count, func(r *RegionRow) int64 { return int64(r.Allocations) }},
	{"deallocations", Count, func(r *RegionRow) int64 { return int64(r.Deallocations) }},
	{"requested", ByteCount, func(r *RegionRow) int64 { return int64(r.Requested) }},
	{"added", ByteCount, func(r *RegionRow) int64 { return r.Added() }},
	{"highest", ByteCount, func(r *RegionRow) int64 { return r.Highest }},
	{"lowest", ByteCount, func(r *RegionRow) int64 { return r.Lowest }},
	{"largest", ByteCount, func(r *RegionRow) int64 { return int64(r.Largest) }},
}

// RegionOrders returns the names of all orders: begin, and the columns.
func RegionOrders() []string {
	list := []string{"begin"}
	for _, c := range RegionColumns {
		list = append(list, c.Name)
	}
	return list
}

// Sort sorts by one of RegionOrders, largest first.
func (t *RegionTable) Sort(by string) {
	for _, c := range RegionColumns {
		if c.Name == by {
			slices.SortStableFunc(t.Rows, func(a, b RegionRow) int { return cmp.Compare(c.Value(&b), c.Value(&a)) })
		}
	}
}
