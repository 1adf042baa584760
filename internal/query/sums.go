package query

import (
	"slices"

	"github.com/heaptap/heaptap/internal/tally"
)

// Sums are the values of many groups in columns. There is a column for each field that the metrics of the answer need,
// and no other: a tree of 100,000 nodes has three Sums.
type Sums struct {
	fields    []field
	cols      [][]uint64         // by field, then by group
	variances []*tally.Variances // by group; nil: the values are exact
	margins   *marginColumns     // of estimates; nil: there are none
}

// field is a number of Values, or a part of one, that can be summed up by itself.
type field uint8

const (
	fieldAllocations field = iota
	fieldBytes
	fieldZeroSize
	fieldMinSize
	fieldMaxSize
	fieldSlack
	fieldReallocations
	fieldCopied
	fieldTime
	fieldDepth
	fieldDeallocations
	fieldFreedBytes
	fieldTemporary
	fieldTemporaryBytes
	fieldLifetime0 // 32 bits of Lifetime, so that sums of billions of them have no carry
	fieldLifetime1 // the next 32
	fieldLifetime2 // the rest
	fieldUntimed
	fieldMinLifetime
	fieldMaxLifetime
	fieldLiveBytes
	fieldLiveBlocks
	fieldPeakBytes
	fieldPeakBlocks
	fieldLeakedBytes
	fieldLeakedBlocks
	fieldKeptBytes
	fieldKeptBlocks
	fieldMapped
	fieldMappedPeak
	fieldMappedResident
	fieldOwnPeak // never summed up: type peaks finds it
	fieldCells   // how many cells there are
	fieldCount
)

// fieldInfo says how a field is read and written. The field of several groups is the sum of theirs or, if most is set,
// the largest. A minimum is stored inverted, and so is a maximum as well.
type fieldInfo struct {
	get   func(*Values) uint64
	set   func(*Values, uint64)
	most  bool
	whole func(*tally.Stack) uint64 // the field of a stack in the whole run; nil: the tally lacks it
}

// number describes a field that is a number of Values.
func number(of func(*Values) *uint64, whole func(*tally.Stack) uint64) fieldInfo {
	return fieldInfo{func(v *Values) uint64 { return *of(v) }, func(v *Values, n uint64) { *of(v) = n }, false, whole}
}

// most describes a field that is a maximum.
func most(of func(*Values) *uint64, whole func(*tally.Stack) uint64) fieldInfo {
	f := number(of, whole)
	f.most = true
	return f
}

// least describes a field that is a minimum of things that are counted: without any it is 0, and so is its column.
func least(of, counted func(*Values) *uint64, whole func(*tally.Stack) uint64) fieldInfo {
	return fieldInfo{func(v *Values) uint64 {
		if *counted(v) == 0 {
			return 0
		}
		return ^*of(v)
	}, func(v *Values, n uint64) {
		if n != 0 {
			*of(v) = ^n
		}
	}, true, whole}
}

// lifetimePart describes the part of the sum of lifetimes that counts in units of 2^shift.
func lifetimePart(shift uint, get func(s *tally.Sum) uint64) fieldInfo {
	return fieldInfo{func(v *Values) uint64 { return get(&v.Lifetime) }, func(v *Values, n uint64) {
		if shift == 64 {
			v.Lifetime.Hi += n
			return
		}
		v.Lifetime.Add(1<<shift, n)
	}, false, func(s *tally.Stack) uint64 { return get(&s.Lifetime) }}
}

var fieldTable = [fieldCount]fieldInfo{
	fieldAllocations: number(func(v *Values) *uint64 { return &v.Allocations },
		func(s *tally.Stack) uint64 { return s.Allocations }),
	fieldBytes: number(func(v *Values) *uint64 { return &v.Bytes },
		func(s *tally.Stack) uint64 { return s.Bytes }),
	fieldZeroSize: number(func(v *Values) *uint64 { return &v.ZeroSize },
		func(s *tally.Stack) uint64 { return s.ZeroSize }),
	fieldMinSize: least(func(v *Values) *uint64 { return &v.MinSize },
		func(v *Values) *uint64 { return &v.Allocations },
		func(s *tally.Stack) uint64 {
			if s.Allocations == 0 {
				return 0
			}
			return ^s.MinSize
		}),
	fieldMaxSize: most(func(v *Values) *uint64 { return &v.MaxSize },
		func(s *tally.Stack) uint64 { return s.MaxSize }),
	fieldSlack: number(func(v *Values) *uint64 { return &v.Slack },
		func(s *tally.Stack) uint64 { return s.Slack }),
	fieldReallocations: number(func(v *Values) *uint64 { return &v.Reallocations },
		func(s *tally.Stack) uint64 { return s.Reallocations }),
	fieldCopied: number(func(v *Values) *uint64 { return &v.Copied }, nil),
	fieldTime:   number(func(v *Values) *uint64 { return &v.Time }, nil),
	fieldDepth:  most(func(v *Values) *uint64 { return &v.Depth }, nil),
	fieldDeallocations: number(func(v *Values) *uint64 { return &v.Deallocations },
		func(s *tally.Stack) uint64 { return s.Deallocations }),
	fieldFreedBytes: number(func(v *Values) *uint64 { return &v.FreedBytes },
		func(s *tally.Stack) uint64 { return s.FreedBytes }),
	fieldTemporary: number(func(v *Values) *uint64 { return &v.Temporary },
		func(s *tally.Stack) uint64 { return s.Temporary }),
	fieldTemporaryBytes: number(func(v *Values) *uint64 { return &v.TemporaryBytes },
		func(s *tally.Stack) uint64 { return s.TemporaryBytes }),
	fieldLifetime0: lifetimePart(0, func(s *tally.Sum) uint64 { return s.Lo & (1<<32 - 1) }),
	fieldLifetime1: lifetimePart(32, func(s *tally.Sum) uint64 { return s.Lo >> 32 }),
	fieldLifetime2: lifetimePart(64, func(s *tally.Sum) uint64 { return s.Hi }),
	fieldUntimed: number(func(v *Values) *uint64 { return &v.Untimed },
		func(s *tally.Stack) uint64 { return s.Untimed }),
	fieldMinLifetime: least(func(v *Values) *uint64 { return &v.MinLifetime },
		func(v *Values) *uint64 { return &v.Deallocations }, nil),
	fieldMaxLifetime: most(func(v *Values) *uint64 { return &v.MaxLifetime }, nil),
	fieldLiveBytes: number(func(v *Values) *uint64 { return &v.LiveBytes },
		func(s *tally.Stack) uint64 { return s.LeakedBytes() }),
	fieldLiveBlocks: number(func(v *Values) *uint64 { return &v.LiveBlocks },
		func(s *tally.Stack) uint64 { return s.LeakedBlocks() }),
	fieldPeakBytes: number(func(v *Values) *uint64 { return &v.PeakBytes },
		func(s *tally.Stack) uint64 { return s.LiveAtPeakBytes }),
	fieldPeakBlocks: number(func(v *Values) *uint64 { return &v.PeakBlocks },
		func(s *tally.Stack) uint64 { return s.LiveAtPeakBlocks }),
	fieldLeakedBytes: number(func(v *Values) *uint64 { return &v.LeakedBytes },
		func(s *tally.Stack) uint64 { return s.LeakedBytes() }),
	fieldLeakedBlocks: number(func(v *Values) *uint64 { return &v.LeakedBlocks },
		func(s *tally.Stack) uint64 { return s.LeakedBlocks() }),
	fieldKeptBytes: number(func(v *Values) *uint64 { return &v.KeptBytes },
		func(s *tally.Stack) uint64 { return s.LeakedBytes() }),
	fieldKeptBlocks: number(func(v *Values) *uint64 { return &v.KeptBlocks },
		func(s *tally.Stack) uint64 { return s.LeakedBlocks() }),
	fieldMapped:         number(func(v *Values) *uint64 { return &v.Mapped }, nil),
	fieldMappedPeak:     number(func(v *Values) *uint64 { return &v.MappedPeak }, nil),
	fieldMappedResident: number(func(v *Values) *uint64 { return &v.MappedResident }, nil),
	fieldOwnPeak: {get: func(*Values) uint64 { return 0 }, set: func(v *Values, n uint64) { v.OwnPeak = n },
		most: true},
	fieldCells: {get: func(*Values) uint64 { return 1 }, set: func(*Values, uint64) {},
		whole: func(*tally.Stack) uint64 { return 1 }},
}

// fieldsOf are the fields that each metric needs. The first one ranks groups if it alone is the metric.
var fieldsOf = [metricCount][]field{
	Allocations:    {fieldAllocations},
	Bytes:          {fieldBytes},
	Deallocations:  {fieldDeallocations},
	FreedBytes:     {fieldFreedBytes},
	Live:           {fieldLiveBytes},
	LiveBlocks:     {fieldLiveBlocks},
	Peak:           {fieldPeakBytes},
	PeakBlocks:     {fieldPeakBlocks},
	OwnPeak:        {fieldBytes, fieldAllocations, fieldDeallocations, fieldOwnPeak, fieldCells},
	Leaked:         {fieldLeakedBytes},
	LeakedBlocks:   {fieldLeakedBlocks},
	Kept:           {fieldKeptBytes},
	KeptBlocks:     {fieldKeptBlocks},
	Temporary:      {fieldTemporary},
	TemporaryBytes: {fieldTemporaryBytes},
	ZeroSize:       {fieldZeroSize},
	MinSize:        {fieldMinSize, fieldAllocations},
	MeanSize:       {fieldBytes, fieldAllocations},
	MaxSize:        {fieldMaxSize, fieldAllocations},
	Recycling:      {fieldBytes, fieldOwnPeak, fieldCells},
	Slack:          {fieldSlack},
	Reallocations:  {fieldReallocations},
	Copied:         {fieldCopied},
	MinLifetime:    {fieldMinLifetime, fieldDeallocations},
	MeanLifetime:   {fieldLifetime0, fieldLifetime1, fieldLifetime2, fieldDeallocations, fieldUntimed},
	MaxLifetime:    {fieldMaxLifetime, fieldDeallocations},
	Churn:          {fieldBytes},
	Time:           {fieldTime},
	Depth:          {fieldDepth, fieldAllocations},
	Mapped:         {fieldMapped},
	MappedPeak:     {fieldMappedPeak},
	MappedResident: {fieldMappedResident},
}

// fieldsFor returns the fields that metrics need, and more, in the order of the fields.
func fieldsFor(metrics []Metric, more ...field) []field {
	list := slices.Clone(more)
	for _, m := range metrics {
		list = append(list, fieldsOf[m]...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// newSums returns sums of n groups, all 0.
func newSums(fields []field, n int, estimated bool) *Sums {
	s := &Sums{fields: fields, cols: make([][]uint64, len(fields))}
	for k := range s.cols {
		s.cols[k] = make([]uint64, n)
	}
	if estimated {
		s.variances = make([]*tally.Variances, n)
	}
	return s
}

// empty returns empty sums of the same fields.
func (s *Sums) empty() *Sums { return newSums(s.fields, 0, s.variances != nil) }

func (s *Sums) clone() *Sums {
	c := &Sums{fields: s.fields, cols: make([][]uint64, len(s.cols)), variances: slices.Clone(s.variances)}
	for k := range s.cols {
		c.cols[k] = slices.Clone(s.cols[k])
	}
	return c
}

// Len is the number of groups.
func (s *Sums) Len() int { return len(s.cols[0]) }

// Values returns the values of a group.
func (s *Sums) Values(i int) (v Values) {
	for k, f := range s.fields {
		fieldTable[f].set(&v, s.cols[k][i])
	}
	if s.variances != nil {
		v.Variances = s.variances[i]
	}
	v.Margins = s.margins.of(i)
	return v
}

// Column returns the values of a metric of all groups; false if it is not a single column of the sums: then Values has
// it. The column must not be changed.
func (s *Sums) Column(m Metric) ([]uint64, bool) {
	if len(fieldsOf[m]) != 1 || m == Churn {
		return nil, false
	}
	k := slices.Index(s.fields, fieldsOf[m][0])
	if k < 0 {
		return nil, false
	}
	return s.cols[k], true
}

// column returns the column of a field, which must be there.
func (s *Sums) column(f field) []uint64 { return s.cols[slices.Index(s.fields, f)] }

// drop drops a field, which must be there.
func (s *Sums) drop(f field) {
	k := slices.Index(s.fields, f)
	s.fields = slices.Delete(slices.Clone(s.fields), k, k+1) // other sums have the same list
	s.cols = slices.Delete(s.cols, k, k+1)
}

// grow adds a group.
func (s *Sums) grow() {
	for k := range s.cols {
		s.cols[k] = push(s.cols[k], 0)
	}
	if s.variances != nil {
		s.variances = append(s.variances, nil)
	}
}

// push appends to a list that may become long: append would then grow it by a quarter each time.
func push[T any](list []T, v T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, max(len(list), 16))
	}
	return append(list, v)
}

// set makes v the values of a group.
func (s *Sums) set(i int, v *Values) {
	for k, f := range s.fields {
		s.cols[k][i] = fieldTable[f].get(v)
	}
	if s.variances != nil {
		s.variances[i] = v.Variances
	}
}

// add adds group j of other sums with the same fields.
func (s *Sums) add(i int32, o *Sums, j int32) {
	for k, f := range s.fields {
		if to, n := &s.cols[k][i], o.cols[k][j]; fieldTable[f].most {
			*to = max(*to, n)
		} else {
			*to += n
		}
	}
	if s.variances != nil {
		s.variances[i] = s.variances[i].Plus(o.variances[j])
	}
}

// addAll adds the groups of other sums: group i to group to[i], if that is not negative.
func (s *Sums) addAll(to []int32, o *Sums) {
	for k, f := range s.fields {
		col, from := s.cols[k], o.cols[k]
		if fieldTable[f].most {
			for i, n := range to {
				if n >= 0 {
					col[n] = max(col[n], from[i])
				}
			}
			continue
		}
		for i, n := range to {
			if n >= 0 {
				col[n] += from[i]
			}
		}
	}
	if s.variances != nil {
		for i, n := range to {
			if n >= 0 {
				s.variances[n] = s.variances[n].Plus(o.variances[i])
			}
		}
	}
}

// addFrom adds groups of other sums: group from[i] to group to[i].
func (s *Sums) addFrom(from, to []int32, o *Sums) {
	for k, f := range s.fields {
		col, other := s.cols[k], o.cols[k]
		if fieldTable[f].most {
			for i, n := range to {
				col[n] = max(col[n], other[from[i]])
			}
			continue
		}
		for i, n := range to {
			col[n] += other[from[i]]
		}
	}
	if s.variances != nil {
		for i, n := range to {
			s.variances[n] = s.variances[n].Plus(o.variances[from[i]])
		}
	}
}

// addUp adds each group to its parent, the last ones first; group 0 has none.
func (s *Sums) addUp(parent []int32) {
	for k, f := range s.fields {
		col := s.cols[k]
		if fieldTable[f].most {
			for n := len(col) - 1; n > 0; n-- {
				col[parent[n]] = max(col[parent[n]], col[n])
			}
			continue
		}
		for n := len(col) - 1; n > 0; n-- {
			col[parent[n]] += col[n]
		}
	}
	if s.variances != nil {
		for n := s.Len() - 1; n > 0; n-- {
			s.variances[parent[n]] = s.variances[parent[n]].Plus(s.variances[n])
		}
	}
}

// isZero reports whether nothing was counted in a group.
func (s *Sums) isZero(i int32) bool {
	for k := range s.cols {
		if s.cols[k][i] != 0 {
			return false
		}
	}
	return true
}
