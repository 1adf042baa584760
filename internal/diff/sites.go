package diff

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// maxTrials limits the pairs of call sites that are tried as the measure of how far code has moved.
const maxTrials = 1 << 12

// pairFunction pairs the call sites of one function, by callee. Callees with as many calls on either side are
// unambiguous and come first; they then say how far the others have moved.
func pairFunction(list []call, from, to calls) map[call]map[place]place {
	slices.SortFunc(list, func(a, b call) int {
		return cmp.Or(cmp.Compare(surplus(from[a], to[a]), surplus(from[b], to[b])), a.to.compare(b.to))
	})
	all := make(map[call]map[place]place)
	moved := make(map[place]place)
	for _, c := range list {
		a := slices.SortedFunc(maps.Keys(from[c]), comparePlaces)
		b := slices.SortedFunc(maps.Keys(to[c]), comparePlaces)
		all[c] = make(map[place]place)
		for _, k := range pairSites(a, b, from[c], to[c], shiftOf(moved)) {
			all[c][a[k[0]]] = b[k[1]]
		}
		maps.Copy(moved, all[c])
	}
	return all
}

func surplus(a, b map[place]weight) int { return max(len(a)-len(b), len(b)-len(a)) }

// shiftOf returns by how many lines the pair nearest to a line has moved; false if there are no pairs.
func shiftOf(pairs map[place]place) func(line uint32) (int64, bool) {
	known := slices.SortedFunc(maps.Keys(pairs), comparePlaces)
	return func(line uint32) (shift int64, ok bool) {
		near := int64(math.MaxInt64)
		for _, p := range known {
			if d := distance(int64(p.line), int64(line)); d < near {
				near, shift, ok = d, int64(pairs[p].line)-int64(p.line), true
			}
		}
		return shift, ok
	}
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// pairSites pairs two lists that are sorted by line, and returns the pairs' indexes. All of the shorter list are
// paired.
func pairSites(a, b []place, wa, wb map[place]weight, shift func(uint32) (int64, bool)) (best [][2]int) {
	if len(a) == len(b) {
		for i := range a {
			best = append(best, [2]int{i, i})
		}
		return best
	}
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	measure := func(move func(uint32) int64) ([][2]int, cost) {
		return cheapest(len(a), len(b), func(i, j int) cost {
			c := cost{lines: distance(int64(b[j].line), int64(a[i].line)+move(a[i].line))}
			if !wa[a[i]].alike(wb[b[j]]) {
				c.unlike = 1
			}
			return c
		})
	}
	if _, known := shift(a[0].line); known || len(a)*len(b) > maxTrials/max(len(a), len(b)) {
		best, _ = measure(func(line uint32) int64 { s, _ := shift(line); return s })
		return best
	}
	// It is unknown how far the code has moved: take the distance that fits the most pairs.
	least, moved := cost{unlike: math.MaxInt64}, int64(0)
	for _, p := range a {
		for _, q := range b {
			s := int64(q.line) - int64(p.line)
			pairs, c := measure(func(uint32) int64 { return s })
			if d := c.compare(least); d < 0 || d == 0 && distance(s, 0) < distance(moved, 0) {
				best, least, moved = pairs, c, s
			}
		}
	}
	return best
}

// cost says how different the sites of a pair are.
type cost struct {
	unlike int64 // pairs of different mean sizes
	lines  int64 // between actual and expected lines
}

func (c cost) compare(o cost) int {
	return cmp.Or(cmp.Compare(c.unlike, o.unlike), cmp.Compare(c.lines, o.lines))
}

func (c cost) plus(o cost) cost { return cost{c.unlike + o.unlike, c.lines + o.lines} }

// cheapest pairs all elements of the shorter of two lists with elements of the longer one, in order, at the least cost.
func cheapest(n, m int, of func(i, j int) cost) ([][2]int, cost) {
	if n > m {
		pairs, c := cheapest(m, n, func(i, j int) cost { return of(j, i) })
		for k, p := range pairs {
			pairs[k] = [2]int{p[1], p[0]}
		}
		return pairs, c
	}
	// least[i][j]: cost of pairing the first i with some of the first j.
	least := make([][]cost, n+1)
	for i := range least {
		least[i] = make([]cost, m+1)
		for j := range i {
			least[i][j] = cost{unlike: math.MaxInt32}
		}
	}
	for i := 1; i <= n; i++ {
		for j := i; j <= m; j++ {
			paired := least[i-1][j-1].plus(of(i-1, j-1))
			if least[i][j] = least[i][j-1]; paired.compare(least[i][j]) < 0 {
				least[i][j] = paired
			}
		}
	}
	var pairs [][2]int
	for i, j := n, m; i > 0; j-- {
		if least[i][j].compare(least[i][j-1]) < 0 {
			i--
			pairs = append(pairs, [2]int{i, j - 1})
		}
	}
	slices.Reverse(pairs)
	return pairs, least[n][m]
}
