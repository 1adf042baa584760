package query

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/heaptap/heaptap/internal/lru"
)

// Listing is a table that is shown page by page. It is kept, with the orders in which it was shown, so that a further
// page takes little. It is safe for concurrent use.
type Listing struct {
	Answer
	rows *rows
	s    *Source
	mu   sync.Mutex
	// What follows is made on first use.
	texts  []string // by group of the forest
	orders map[Order][]int32
}

// Order is the order of the rows of a page.
type Order struct {
	Metric Metric // if neither Name nor Query is set
	Self   bool   // by self instead of total
	Name   bool   // by name, in alphabetical order
	Query  bool   // as a Table of the query has them: by the first metric's total
}

// PageOf says which rows of a Listing are wanted.
type PageOf struct {
	Order
	Reverse bool
	// Match chooses rows by name, see Listing.Text. A row for a call stack is chosen if one of its frames is. nil: all
	Match  *regexp.Regexp
	Offset int
	Limit  int // 0: no limit
}

// Page is a part of a table.
type Page struct {
	Table
	Matching int // rows that match, on this page and on others
	All      int // rows
}

// keptListings keeps listings, of all recordings of this process together.
var keptListings = lru.New[listingKey, *Listing](lru.Process, 32<<20)

type listingKey struct {
	s     *Source
	query string
}

// List returns the table of a query, to be shown page by page.
func List(ctx context.Context, s *Source, q *Query) (*Listing, error) {
	first, last := s.Reader.Cuts()
	key := listingKey{s, fmt.Sprint(first, last, q.Key())}
	if q.Names == nil {
		if l, ok := keptListings.Get(key); ok {
			return l, nil
		}
	}
	r, err := tabulate(ctx, s, q)
	if err != nil {
		return nil, err
	}
	l := &Listing{Answer: r.Answer, rows: r, s: s, orders: map[Order][]int32{{Query: true}: r.order}}
	r.trim()
	if q.Names == nil {
		keptListings.Put(key, l, l.size())
	}
	return l, nil
}

// trim drops what only the answer needed.
func (r *rows) trim() {
	f := &forest{groups: r.n.groups}
	if r.nodes != nil {
		f.parent, f.group = r.n.parent, r.n.group
	}
	r.n = &nodeSums{forest: f}
}

// size returns about how many bytes a listing takes once it was shown in a few orders.
func (l *Listing) size() int64 {
	r := l.rows
	n := int64(len(r.groups)) * (int64(unsafe.Sizeof(Group{})) + 8*int64(len(r.self.cols)+len(r.total.cols)))
	return n + 4*4*int64(len(r.order)) + 64*int64(len(r.n.groups)) + 8*int64(len(r.n.parent))
}

// Key returns a text that is the same for queries with the same answer. It does not tell Names apart.
func (q *Query) Key() string {
	var b strings.Builder
	part := func(name string, wanted bool, v any) {
		if wanted {
			fmt.Fprintf(&b, " %s=%q", name, fmt.Sprintf("%+v", v))
		}
	}
	part("range", q.Range != nil, q.Range)
	if q.At != nil {
		part("at", true, *q.At)
	}
	part("processes", q.Processes != nil, q.Processes)
	part("threads", q.Threads != nil, q.Threads)
	part("sizes", q.Sizes != nil, q.Sizes)
	part("freed-by", q.FreedBy != nil, q.FreedBy)
	part("lifetimes", q.Lifetimes != nil, q.Lifetimes)
	part("old-sizes", q.OldSizes != nil, q.OldSizes)
	part("regions", q.Regions != nil, strings.Join(q.Regions, "\x00"))
	part("modules", q.Modules != nil, strings.Join(q.Modules, "\x00"))
	part("focus", q.Focus != nil, fmt.Sprintf("%q", q.Focus))
	part("ignore", q.Ignore != nil, fmt.Sprintf("%q", q.Ignore))
	part("hide", q.Hide != nil, q.Hide)
	part("runtime", q.Runtime, "")
	part("rough", q.Rough != 0, q.Rough)
	part("estimate", q.Estimate != nil, q.Estimate)
	part("by", true, q.By)
	part("metrics", true, q.metrics())
	return b.String()
}

// Text returns the name of a group by which rows are matched and sorted: what is shown of it, not shortened.
func (s *Source) Text(g *Group) string {
	switch {
	case g.Unknown && g.By.ofBlocks():
		return "(no region)"
	case g.Unknown:
		return "(no call stack)"
	}
	switch g.By {
	case ByThread:
		if list := s.Reader.Threads(); int(g.Thread) < len(list) {
			return fmt.Sprintf("%s %d", list[g.Thread].Name, list[g.Thread].TID)
		}
		return strconv.Itoa(int(g.Thread))
	case BySizeClass:
		lowest, highest := SizeClass(g.Class)
		return fmt.Sprintf("%d-%d", lowest, highest)
	case ByAllocation:
		return g.Func.String()
	case ByRegion, ByRegionName:
		return g.Region
	}
	text := g.Function
	if text == "" && g.Offset != 0 {
		text = fmt.Sprintf("%#x", g.Offset)
	}
	for _, more := range []string{g.File, g.Module} {
		if more == "" {
			continue
		}
		if text != "" {
			text += " "
		}
		if text += more; more == g.File && g.Line > 0 {
			text += fmt.Sprintf(":%d", g.Line)
		}
	}
	if text == "" {
		return "(outside of any file)"
	}
	return text
}

// names returns the texts of the forest's groups.
func (l *Listing) names() []string {
	if l.texts == nil {
		groups := l.rows.n.groups
		l.texts = make([]string, len(groups))
		for i := range groups {
			l.texts[i] = l.s.Text(&groups[i])
		}
	}
	return l.texts
}

// order returns the rows in an order.
func (l *Listing) order(o Order) []int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, ok := l.orders[o]
	if ok {
		return list
	}
	list = slices.Clone(l.rows.order)
	if o.Name {
		place := l.alphabet()
		slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(place[a], place[b]) })
	} else {
		sums := l.rows.total
		if o.Self {
			sums = l.rows.self
		}
		rank := ranks(sums, o.Metric)
		slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(rank[b], rank[a]) })
	}
	l.orders[o] = list
	return list
}

// alphabet returns the place of each row's name in alphabetical order; equal names have the same place. The name of a
// call stack is that of its innermost frame.
func (l *Listing) alphabet() []int32 {
	names, r := l.names(), l.rows
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	groups := make([]int32, len(names))
	for i, name := range names {
		place, _ := slices.BinarySearch(sorted, name)
		groups[i] = int32(place)
	}
	if r.nodes == nil {
		return groups
	}
	list := make([]int32, len(r.nodes))
	for i, n := range r.nodes {
		list[i] = groups[r.n.group[n]]
	}
	return list
}

// matching returns which rows match; nil: all.
func (l *Listing) matching(match *regexp.Regexp) []bool {
	if match == nil {
		return nil
	}
	l.mu.Lock()
	names := l.names()
	l.mu.Unlock()
	r := l.rows
	groups := make([]bool, len(names))
	for i, name := range names {
		groups[i] = match.MatchString(name)
	}
	if r.nodes == nil {
		return groups
	}
	within := make([]bool, len(r.n.parent))
	for n := 1; n < len(within); n++ {
		within[n] = within[r.n.parent[n]] || groups[r.n.group[n]]
	}
	list := make([]bool, len(r.nodes))
	for i, n := range r.nodes {
		list[i] = within[n]
	}
	return list
}

// Page returns some of the rows.
func (l *Listing) Page(p PageOf) (*Page, error) {
	o := p.Order
	switch {
	case o.Query:
		o = Order{Query: true}
	case o.Name:
		o = Order{Name: true}
	case !slices.Contains(l.Metrics, o.Metric):
		return nil, fmt.Errorf("cannot sort by %s: it is not among the metrics", o.Metric)
	}
	if l.rows.self == l.rows.total {
		o.Self = false
	}
	if p.Offset < 0 || p.Limit < 0 {
		return nil, fmt.Errorf("offset %d and limit %d must not be negative", p.Offset, p.Limit)
	}
	list, match := l.order(o), l.matching(p.Match)
	room := len(list)
	if p.Limit > 0 {
		room = min(room, p.Limit)
	} else if match != nil {
		room = 0
	}
	page := &Page{Table: Table{Answer: l.Answer, Rows: make([]Row, 0, room)}, All: len(list)}
	for i := range list {
		n := list[i]
		if p.Reverse {
			n = list[len(list)-1-i]
		}
		if match != nil && !match[n] {
			continue
		}
		if page.Matching++; page.Matching > p.Offset && (p.Limit == 0 || len(page.Rows) < p.Limit) {
			page.Rows = append(page.Rows, l.rows.row(n))
		}
	}
	return page, nil
}
