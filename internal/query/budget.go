package query

// RegionLimit is the limit that a budget sets for one number of each region.
type RegionLimit struct {
	What  string
	Bytes bool // its unit
	Most  int64
	// of returns the number, and the call stack of the allocation that made it so high; 0: no single one did.
	of func(r *RegionRow) (n int64, stack uint32)
}

// Budgets are the numbers that a budget may limit, without their limits.
var Budgets = []RegionLimit{
	{What: "allocations", of: func(r *RegionRow) (int64, uint32) { return int64(r.Allocations), r.Over.Allocations }},
	{What: "requested", Bytes: true, of: func(r *RegionRow) (int64,
		uint32) {
		return int64(r.Requested), r.Over.Requested
	}},
	{What: "added", Bytes: true, of: func(r *RegionRow) (int64, uint32) { return r.Added(), r.HighestStack }},
	{What: "peak", Bytes: true, of: func(r *RegionRow) (int64, uint32) { return r.Highest, r.HighestStack }},
	{What: "largest", Bytes: true, of: func(r *RegionRow) (int64, uint32) { return int64(r.Largest), r.LargestStack }},
}

// OverLimit is a number of a region that exceeds its limit.
type OverLimit struct {
	Region *RegionRow
	Limit  RegionLimit
	Value  int64
	Stack  uint32 // of the allocation that made the number so high; 0: no single one did
}

// Over returns the numbers of regions that exceed their limits.
func (t *RegionTable) Over(limits []RegionLimit) (list []OverLimit) {
	for i := range t.Rows {
		for _, l := range limits {
			if n, stack := l.of(&t.Rows[i]); n > l.Most {
				list = append(list, OverLimit{&t.Rows[i], l, n, stack})
			}
		}
	}
	return list
}
