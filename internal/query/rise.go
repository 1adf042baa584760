package query

import (
	"cmp"
	"context"
	"slices"
)

// Rise explains how live bytes changed between the ends of a range. It adds up: Begin, the changes of the rows, and
// what the others grew and shrank, are End.
type Rise struct {
	Answer
	Begin, End uint64 // live bytes of everything that the query selects
	Rows       []RiseRow
	Others     Others
}

// RiseRow is by how much a group's live bytes changed.
type RiseRow struct {
	Group
	Bytes, Blocks int64
	Begin, End    uint64 // live bytes
}

// Others are the groups that changed, but have no row.
type Others struct {
	Groups        int
	Grown, Shrunk uint64 // bytes of those that grew, and of those that shrank
}

// Bytes is what they changed together.
func (o Others) Bytes() int64 { return int64(o.Grown - o.Shrunk) }

// explained is how much of a change has to be accounted for.
const explained = 4. / 5

// riseMetrics are what a change is computed from.
var riseMetrics = []Metric{Live, LiveBlocks, Bytes, FreedBytes, Allocations, Deallocations}

// Explain answers with the fewest groups that account for 80 % of the change of live bytes over the range: those that
// changed most, growing or shrinking, until all others together changed by a fifth of it at most, and none of them by
// more than all of it. There are at most limit; 0: as many as it takes. Those that grew come first, the largest first,
// then those that shrank, the largest last: in this order a waterfall goes up once and down once.
//
// A block belongs to one group, so that changes add up: a call stack is its function's, line's, file's or module's that
// allocated; with Query.Hide, the innermost one that is left.
func Explain(ctx context.Context, s *Source, q *Query, limit int) (*Rise, error) {
	one := *q
	one.Metrics, one.At = riseMetrics, nil
	a, err := newAsk(ctx, s, &one)
	if err != nil {
		return nil, err
	}
	a.noStacks = q.By.ofBlocks()
	n, err := a.nodeSums(!q.By.ofBlocks())
	if err != nil {
		return nil, err
	}
	defer n.release()
	t, _ := n.grouped()
	r := &Rise{Answer: t.Answer, Begin: begun(&t.Total), End: t.Total.LiveBytes}
	in, out := t.self.column(fieldBytes), t.self.column(fieldFreedBytes)
	changes := make([]int64, len(in))
	for i := range in {
		if changes[i] = int64(in[i] - out[i]); changes[i] != 0 {
			r.Others.add(changes[i])
		}
	}
	order := largest(changes, limit)
	named := fewest(int64(r.End-r.Begin), len(order), func(i int) int64 { return changes[order[i]] })
	for _, i := range order[:named] {
		v := t.self.Values(i)
		r.Rows = append(r.Rows, RiseRow{t.groups[i], changes[i], int64(v.Allocations - v.Deallocations), begun(&v),
			v.LiveBytes})
		r.Others.remove(changes[i])
	}
	slices.SortStableFunc(r.Rows, func(a, b RiseRow) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return r, nil
}

// largest returns the indexes of the largest changes, growing or shrinking, the largest first; those that are 0 apart.
// limit 0: of all.
func largest(changes []int64, limit int) []int {
	larger := func(a, b int) int { return cmp.Compare(magnitude(changes[b]), magnitude(changes[a])) }
	var list []int
	for i := range changes {
		switch full := limit > 0 && len(list) == limit; {
		case changes[i] == 0, full && larger(i, list[limit-1]) >= 0:
		case limit > 0:
			// Few changes are among the largest so far.
			at, _ := slices.BinarySearchFunc(list, i, func(x, i int) int { return cmp.Or(larger(x, i), -1) })
			if full {
				list = list[:limit-1]
			}
			list = slices.Insert(list, at, i)
		default:
			list = append(list, i)
		}
	}
	if limit <= 0 {
		slices.SortStableFunc(list, larger)
	}
	return list
}

// begun is what was live at the beginning of the range.
func begun(v *Values) uint64 { return v.LiveBytes - v.Bytes + v.FreedBytes }

// fewest returns how many of n changes, the largest first, account for all of it: see Explain.
func fewest(all int64, n int, change func(i int) int64) int {
	rest := all
	for i := range n {
		c := change(i)
		if float64(magnitude(rest)) <= (1-explained)*float64(magnitude(all)) && magnitude(c) <= magnitude(all) {
			return i
		}
		rest -= c
	}
	return n
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return uint64(-n)
	}
	return uint64(n)
}

func (o *Others) add(change int64) {
	o.Groups++
	if change < 0 {
		o.Shrunk += magnitude(change)
	} else {
		o.Grown += uint64(change)
	}
}

func (o *Others) remove(change int64) {
	o.Groups--
	if change < 0 {
		o.Shrunk -= magnitude(change)
	} else {
		o.Grown -= uint64(change)
	}
}
