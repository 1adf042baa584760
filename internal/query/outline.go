package query

import (
	"context"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/profile"
)

// Outline is a tree in columns: of each node its parent, its group and its values. The root is node 0. Parents come
// before their children; of two siblings, the one with more of the first metric comes first.
type Outline struct {
	Answer
	Groups []Group // of the nodes, each once
	Parent []int32 // -1: of the root
	Group  []int32 // index into Groups; -1: of the root, unless it is at the end of Trim.Below
	Self   *Sums   // top-down: of the stacks that end here; bottom-up: of the stacks that begin here
	Total  *Sums
	// First is a number that is the lower, the earlier in the run the first of the node's call stacks was seen that
	// the query counts. 0: not known.
	First []uint32
	// Folded is the number of children that the Trim left out, and FoldedTotal their sum. At the Trim's depth, these
	// are all children.
	Folded      []int32
	FoldedTotal *Sums
}

// Trim says how much of a tree is wanted.
type Trim struct {
	// Nodes with a smaller share of the root (in a Sandwich: of the function) are left out, by the first metric.
	Share float64
	Depth int // levels; 0: all, unless a tree of callers would exceed maxSteps
	// Nodes is how many nodes there are at most (in a Sandwich: on each side), the root included; 0: all. Those with
	// the most of the first metric are chosen. By own peaks, which are known only later, those with the most bytes
	// allocated.
	Nodes int
	// Below is a path of groups from the root, by name: as Source.Text gives them, or a function's name alone. If
	// several groups have the name, the one with the most of the first metric that the path leads along is meant. The
	// tree is the one below the path, with the node at its end as the root; without such a path, the root has nothing.
	// A Sandwich ignores it.
	Below []string
	// Selves says that own peaks are needed of nodes' selves only, not of their totals.
	Selves bool
}

// maxSteps limits the sum of the lengths of all call stacks in a tree of callers: unlike in a tree from the root down,
// they share nothing, and one deep recursion may be above them all.
const maxSteps = 8 << 20

// Shape is the direction of a tree.
type Shape uint8

// The shapes.
const (
	Down Shape = iota // of callees: from main to the functions that allocate
	Up                // of callers: from the functions that allocate to main
)

// Draw answers with a tree in columns. If blocks are grouped, their groups are the first level of a tree of callees,
// and functions follow.
func Draw(ctx context.Context, s *Source, q *Query, shape Shape, trim Trim) (*Outline, error) {
	b, err := newBuilder(ctx, s, q)
	if err != nil {
		return nil, err
	}
	o, err := b.outline(shape, trim)
	if err != nil {
		return nil, err
	}
	if err := b.ownPeaks(o); err != nil {
		return nil, err
	}
	o.Answer = b.n.a.Answer
	b.n.release()
	return o, nil
}

// builder makes outlines of what was counted.
type builder struct {
	n     *nodeSums
	first []uint32          // by chain of the forest: as nodeSums.first, of the stacks that end there or below
	out   []ownPeak         // requested own peaks
	self  map[int32][]int32 // by chain of the forest: indexes into out for what is at its end,
	below map[int32][]int32 // and for what is there or below
}

// ownPeak is the place of an own peak.
type ownPeak struct {
	sums *Sums
	node int32
}

func newBuilder(ctx context.Context, s *Source, q *Query, more ...field) (*builder, error) {
	if q.By == ByStack {
		line := *q
		line.By = ByLine
		q = &line
	}
	a, err := newAsk(ctx, s, q)
	if err != nil {
		return nil, err
	}
	a.firsts = true
	a.estimate()
	n, err := a.nodeSums(true, more...)
	if err != nil {
		return nil, err
	}
	first := slices.Clone(n.first)
	for i := len(first) - 1; i > 0; i-- {
		first[n.above[i]] = firstOf(first[n.above[i]], first[i])
	}
	return &builder{n: n, first: first, self: make(map[int32][]int32), below: make(map[int32][]int32)}, nil
}

func (b *builder) outline(shape Shape, trim Trim) (*Outline, error) {
	if shape == Down {
		return b.downwards([]int32{0}, trim)
	}
	var list []item
	for i, c := range b.n.chain {
		if n := int32(i); b.n.end[c] == n && !b.n.self.isZero(c) {
			list = append(list, item{c, n})
		}
	}
	return b.upwards(list, false, trim)
}

// downwards makes the tree of everything below some nodes of the forest together.
func (b *builder) downwards(from []int32, trim Trim) (*Outline, error) {
	x := b.explorer(trim, b.n.total)
	for _, n := range from {
		x.items = append(x.items, item{b.n.chain[n], n})
	}
	return x.run()
}

// upwards makes the tree of the paths from nodes of the forest to its root. deep says that a node's values include
// those below it.
func (b *builder) upwards(list []item, deep bool, trim Trim) (*Outline, error) {
	if trim.Depth == 0 && trim.Nodes == 0 {
		trim.Depth = b.stepLimit(list)
	}
	values := b.n.self
	if deep {
		values = b.n.total
	}
	x := b.explorer(trim, values)
	x.up, x.deep, x.items = true, deep, list
	return x.run()
}

// stepLimit returns how many levels a tree of callers can have; 0: all.
func (b *builder) stepLimit(list []item) int {
	level := make([]int, len(b.n.parent))
	for n := 1; n < len(level); n++ {
		level[n] = level[b.n.parent[n]] + 1
	}
	depths := make([]int, len(list))
	for i, s := range list {
		depths[i] = level[max(s.next, 0)]
	}
	return profile.DepthLimit(depths, maxSteps, 100)
}

// item is a chain of the forest whose values count in a branch, and the node that is in the branch: downwards, of the
// chain; upwards, where the path from it goes on.
type item struct{ origin, next int32 }

// branch is a node of a tree that may be added to an outline: all of its values are those of items in a row.
type branch struct {
	from, to int32 // in the explorer's items
	parent   int32 // in the outline
	group    int32
	level    int32
	number   int32  // branches are numbered as they are found
	rank     uint64 // those with the largest are added first
}

// explorer makes an outline. It adds the branch with the largest rank, finds those below it, and so on. No branch is
// looked into before it is added, so a small outline of a large forest takes little.
//
// The items of a branch are sorted by where they go on, so that the branches below it are parts of them; upwards, they
// even stay in place. So there are never more items than nodes in the forest.
type explorer struct {
	b       *builder
	trim    Trim
	up      bool
	deep    bool
	values  *Sums // of items
	rankOf  []uint64
	least   float64 // branches with a smaller rank are left out
	items   []item
	sorted  []item  // memory for split
	ends    []item  // the same
	count   []int32 // of items, by group; 0 outside of split
	order   []int32 // memory for split
	waiting branches
	found   int32
	groups  []int32 // by group: index into the outline's plus 1
	out     *Outline
}

func (b *builder) explorer(trim Trim, values *Sums) *explorer {
	x := &explorer{b: b, trim: trim, values: values, count: make([]int32, len(b.n.groups)),
		groups: make([]int32, len(b.n.groups))}
	if m := b.n.a.Metrics[0]; len(fieldsOf[m]) == 1 || m == OwnPeak || m == Recycling {
		x.rankOf = values.column(fieldsOf[m][0])
	}
	x.out = &Outline{Self: values.empty(), Total: values.empty(), FoldedTotal: values.empty()}
	return x
}

// run makes the outline of all items.
func (x *explorer) run() (*Outline, error) {
	root, err := x.find(branch{to: int32(len(x.items)), parent: -1, group: -1, number: -1}, x.trim.Below)
	if err != nil {
		return nil, err
	}
	root.parent, root.level = -1, 0
	if m := x.b.n.a.Metrics[0]; m != OwnPeak && m != Recycling {
		x.least = x.trim.Share * float64(x.rank(&root))
	}
	limit := x.trim.Nodes
	if limit <= 0 {
		limit = math.MaxInt32
	}
	x.waiting.push(root)
	w := watch{ctx: x.b.n.a.ctx}
	for len(x.waiting) > 0 && len(x.out.Parent) < limit {
		if err := w.err(); err != nil {
			return nil, err
		}
		x.add(x.waiting.pop())
	}
	for i := range x.waiting {
		x.fold(&x.waiting[i])
	}
	return x.out, w.ctx.Err()
}

// finder looks for the branch at the end of a path. It keeps what it has split: that can be done only once.
type finder struct {
	*explorer
	watch
	parts map[int32][]branch // by number of their branch
}

// find returns the branch at the end of a path of names. It has no items and no group if there is none.
func (x *explorer) find(at branch, names []string) (branch, error) {
	f := &finder{x, watch{ctx: x.b.n.a.ctx}, make(map[int32][]branch)}
	if found, err := f.direct(at, names); err != nil || found.group >= 0 {
		return found, err
	}
	for _, name := range names {
		var err error
		if at, err = f.follow(at, name); err != nil || at.group < 0 {
			return at, err
		}
	}
	return at, nil
}

// below returns the branches below another one.
func (f *finder) below(at *branch) []branch {
	parts, ok := f.parts[at.number]
	if !ok {
		_, parts = f.split(at)
		f.parts[at.number] = parts
	}
	return parts
}

func (f *finder) named(p *branch, name string) bool {
	g := &f.b.n.groups[p.group]
	return g.Function != "" && name == g.Function || name == f.b.n.a.Text(g)
}

// direct follows a path of which each name is that of a branch directly below the one before. Of several branches with
// a name, those that count most come first, but the rest of the path may be below another one.
func (f *finder) direct(at branch, names []string) (branch, error) {
	if len(names) == 0 {
		return at, nil
	}
	if err := f.err(); err != nil {
		return branch{group: -1}, err
	}
	var list branches
	for _, p := range f.below(&at) {
		if f.named(&p, names[0]) && !f.isZero(&p) {
			list.push(p)
		}
	}
	for len(list) > 0 {
		if found, err := f.direct(list.pop(), names[1:]); err != nil || found.group >= 0 {
			return found, err
		}
	}
	return branch{group: -1}, nil
}

// follow returns the branch with a name that counts most: of those directly below another one or, if none of them has
// it, of all below, since few users know what is above main.
func (f *finder) follow(at branch, name string) (branch, error) {
	best := branch{group: -1}
	waiting := branches{at}
	for direct := true; len(waiting) > 0 && (best.group < 0 || waiting[0].rank > best.rank); direct = false {
		if err := f.err(); err != nil {
			return best, err
		}
		from := waiting.pop()
		for _, p := range f.below(&from) {
			switch {
			case f.isZero(&p):
			case !f.named(&p, name):
				waiting.push(p)
			case best.group < 0 || p.rank > best.rank:
				best = p
			}
		}
		if direct && best.group >= 0 {
			break
		}
	}
	return best, nil
}

// add adds a branch to the outline, and those below it to the ones that wait.
func (x *explorer) add(at branch) {
	o, node := x.out, int32(len(x.out.Parent))
	group := int32(-1)
	if at.group >= 0 {
		if x.groups[at.group] == 0 {
			o.Groups = append(o.Groups, x.b.n.groups[at.group])
			x.groups[at.group] = int32(len(o.Groups))
		}
		group = x.groups[at.group] - 1
	}
	o.Parent, o.Group, o.Folded = push(o.Parent, at.parent), push(o.Group, group), push(o.Folded, 0)
	o.First = push(o.First, x.first(x.items[at.from:at.to]))
	for _, s := range []*Sums{o.Self, o.Total, o.FoldedTotal} {
		s.grow()
	}
	x.sum(o.Total, node, x.values, x.items[at.from:at.to])
	x.want(o.Total, node, !x.up || x.deep, x.items[at.from:at.to])
	ends, parts := x.split(&at)
	if x.up {
		x.sum(o.Self, node, x.values, ends)
		x.want(o.Self, node, x.deep, ends)
	} else {
		x.sum(o.Self, node, x.b.n.self, ends)
		x.want(o.Self, node, false, ends)
	}
	for i := range parts {
		p := &parts[i]
		p.parent, p.level = node, at.level+1
		switch {
		case x.isZero(p):
		case float64(p.rank) < x.least, x.trim.Depth > 0 && int(at.level) >= x.trim.Depth:
			x.fold(p)
		default:
			x.waiting.push(*p)
		}
	}
}

// first returns the first of the stacks of items.
func (x *explorer) first(list []item) (n uint32) {
	of := x.b.first
	if x.up && !x.deep {
		of = x.b.n.first
	}
	for _, s := range list {
		n = firstOf(n, of[s.origin])
	}
	return n
}

// fold counts a branch as one that its parent lacks.
func (x *explorer) fold(p *branch) {
	x.out.Folded[p.parent]++
	x.sum(x.out.FoldedTotal, p.parent, x.values, x.items[p.from:p.to])
}

// split divides the items of a branch into those that end there and the branches below it. The former are valid until
// the next call.
func (x *explorer) split(at *branch) (ends []item, parts []branch) {
	list := x.items[at.from:at.to]
	start, end := at.from, at.to // of those that go on
	if x.up {
		// Those that end come first.
		n := 0
		for i := range list {
			if list[i].next <= 0 {
				list[i], list[n] = list[n], list[i]
				n++
			}
		}
		ends = list[:n]
		start += int32(n)
	} else {
		f := x.b.n.forest
		x.ends = x.ends[:0]
		start = int32(len(x.items))
		for _, s := range list {
			if f.isEnd(s.next) {
				x.ends = append(x.ends, s)
			}
			for _, n := range f.below(s.next) {
				x.items = push(x.items, item{f.chain[n], n})
			}
		}
		ends = x.ends
		end = int32(len(x.items))
	}
	list = x.items[start:end]
	x.order = x.order[:0]
	for _, s := range list {
		g := x.b.n.group[s.next]
		if x.count[g] == 0 {
			x.order = append(x.order, g)
		}
		x.count[g]++
	}
	for _, g := range x.order {
		n := x.count[g]
		parts = append(parts, branch{from: start, to: start + n, group: g, number: x.found})
		x.found++
		x.count[g] = start // where its next item goes
		start += n
	}
	first := end - int32(len(list))
	x.sorted = append(x.sorted[:0], list...)
	for _, s := range x.sorted {
		g := x.b.n.group[s.next]
		if x.up {
			s.next = x.b.n.parent[s.next]
		}
		list[x.count[g]-first] = s
		x.count[g]++
	}
	for i, g := range x.order {
		x.count[g] = 0
		parts[i].rank = x.rank(&parts[i])
	}
	return ends, parts
}

// sum adds up a row of sums for items.
func (x *explorer) sum(to *Sums, node int32, from *Sums, list []item) {
	for k, f := range from.fields {
		col := from.cols[k]
		n := to.cols[k][node]
		if fieldTable[f].most {
			for _, s := range list {
				n = max(n, col[s.origin])
			}
		} else {
			for _, s := range list {
				n += col[s.origin]
			}
		}
		to.cols[k][node] = n
	}
	if from.variances != nil {
		for _, s := range list {
			to.variances[node] = to.variances[node].Plus(from.variances[s.origin])
		}
	}
}

// rank returns by what branches are ordered: the first metric.
func (x *explorer) rank(p *branch) (n uint64) {
	list := x.items[p.from:p.to]
	if x.rankOf != nil {
		for _, s := range list {
			n += x.rankOf[s.origin]
		}
		return n
	}
	all := x.values.empty()
	all.grow()
	x.sum(all, 0, x.values, list)
	v := all.Values(0)
	n, _ = x.b.n.a.Metrics[0].Integer(&v)
	return n
}

// isZero reports whether nothing was counted in a branch.
func (x *explorer) isZero(p *branch) bool {
	if p.rank != 0 {
		return false
	}
	return !slices.ContainsFunc(x.items[p.from:p.to], func(s item) bool { return !x.values.isZero(s.origin) })
}

// want requests the own peak of what is at the origins of items or, if below is set, at or below them.
func (x *explorer) want(s *Sums, node int32, below bool, list []item) {
	b := x.b
	if a := b.n.a; !a.ownPeaks && a.draw == nil || x.trim.Selves && s == x.out.Total && !x.up {
		return
	}
	at := b.self
	if below {
		at = b.below
	}
	for _, n := range list {
		at[n.origin] = append(at[n.origin], int32(len(b.out)))
	}
	b.out = append(b.out, ownPeak{s, node})
}

// ownPeaks determines what was requested of outlines, and sorts them if own peaks are their order. Of estimates, the
// margins were requested.
func (b *builder) ownPeaks(list ...*Outline) error {
	a := b.n.a
	if a.draw != nil {
		outs := make([]marginPlace, len(b.out))
		for i, o := range b.out {
			if o.sums.margins == nil {
				o.sums.wantMargins(a.draw, nil)
			}
			outs[i] = marginPlace{o.sums.margins, o.node}
		}
		a.draw.spread(outs, b.n.ofCell, b.slots())
		return nil
	}
	if !a.ownPeaks {
		return nil
	}
	p := newPeaks(a, b.n.cells, b.n.ofCell, b.slots())
	for _, o := range b.out {
		p.want(&o.sums.column(fieldOwnPeak)[o.node])
	}
	if err := p.find(); err != nil {
		return err
	}
	if m := a.Metrics[0]; m == OwnPeak || m == Recycling {
		for _, o := range list {
			o.sort(m)
		}
	}
	return nil
}

// slots returns what finds the requests for which a chain counts.
func (b *builder) slots() func(chain int32) []int32 {
	up := make([]int32, len(b.n.above)) // by chain: the nearest one above with a request
	for n, p := range b.n.above {
		if up[n] = -1; p >= 0 {
			if up[n] = up[p]; len(b.below[p]) > 0 {
				up[n] = p
			}
		}
	}
	return func(n int32) []int32 {
		list := slices.Clone(b.self[n])
		for ; n >= 0; n = up[n] {
			list = append(list, b.below[n]...)
		}
		return list
	}
}

// sort sorts siblings anew, by a metric. Parents stay before their children.
func (o *Outline) sort(m Metric) {
	ranks := make([]float64, len(o.Parent))
	for i := range ranks {
		v := o.Total.Values(i)
		ranks[i] = m.Of(&v, 1e9)
	}
	kids := o.Children()
	order := []int32{0}
	for i := 0; i < len(order); i++ {
		list := kids(order[i])
		slices.SortStableFunc(list, func(a, b int32) int {
			switch {
			case ranks[a] > ranks[b]:
				return -1
			case ranks[a] < ranks[b]:
				return 1
			}
			return 0
		})
		order = append(order, list...)
	}
	to := make([]int32, len(order))
	for i, n := range order {
		to[n] = int32(i)
	}
	parent, group, folded := slices.Clone(o.Parent), slices.Clone(o.Group), slices.Clone(o.Folded)
	first := slices.Clone(o.First)
	for i, n := range order {
		o.First[i] = first[n]
		if o.Group[i], o.Folded[i], o.Parent[i] = group[n], folded[n], -1; n > 0 {
			o.Parent[i] = to[parent[n]]
		}
	}
	for _, s := range []*Sums{o.Self, o.Total, o.FoldedTotal} {
		old := s.clone()
		for k := range s.cols {
			for i, n := range order {
				s.cols[k][i] = old.cols[k][n]
			}
		}
		for i := range s.variances {
			s.variances[i] = old.variances[order[i]]
		}
	}
}

// Children returns a function that returns the children of a node, in order.
func (o *Outline) Children() func(node int32) []int32 {
	first := make([]int32, len(o.Parent)+1)
	for _, p := range o.Parent[1:] {
		first[p+1]++
	}
	for i := range o.Parent {
		first[i+1] += first[i]
	}
	next, list := slices.Clone(first), make([]int32, len(o.Parent)-1)
	for n := 1; n < len(o.Parent); n++ {
		p := o.Parent[n]
		list[next[p]] = int32(n)
		next[p]++
	}
	return func(node int32) []int32 { return list[first[node]:first[node+1]] }
}

// branches is a heap: the branch to be added next is the first.
type branches []branch

// before reports whether a branch is added before another one.
func (h branches) before(i, j int) bool {
	if h[i].rank != h[j].rank {
		return h[i].rank > h[j].rank
	}
	return h[i].number < h[j].number
}

func (h *branches) push(b branch) {
	*h = push(*h, b)
	for i := len(*h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.before(i, up) {
			return
		}
		(*h)[i], (*h)[up] = (*h)[up], (*h)[i]
		i = up
	}
}

func (h *branches) pop() branch {
	old := *h
	top, n := old[0], len(old)-1
	old[0] = old[n]
	*h = old[:n]
	for i := 0; ; {
		down := 2*i + 1
		if down >= n {
			return top
		}
		if down+1 < n && h.before(down+1, down) {
			down++
		}
		if !h.before(down, i) {
			return top
		}
		old[i], old[down] = old[down], old[i]
		i = down
	}
}
