package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/owncode"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// maxIndent is how many levels branches are indented at most; deeper ones stay there.
const maxIndent = 30

// Tree writes a tree: for each node its total of the first metric and its share. An only child is not indented, and a
// function that only calls itself takes one line. Runs of functions of libraries and wrappers are folded to a count.
// up says that it is a tree of callers.
func Tree(w io.Writer, s *query.Source, t *query.Tree, up bool, trim query.Trim, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&t.Answer)
	if t.Root.Total == (query.Values{}) {
		a.printf("  nothing was counted\n")
		a.runtimesOwn(&t.Answer, "")
		return a.Flush()
	}
	shown, name := t.Answer, "all"
	if len(trim.Below) > 0 { // shares are those of the root
		shown.Total, name = t.Root.Total, a.groupName(&t.Root.Group, 60)
	}
	b := &branches{answerText: a, t: &shown, trim: trim, up: up}
	b.root(t.Root, name)
	a.runtimesOwn(&t.Answer, "")
	a.names()
	return a.Flush()
}

// Sandwich writes the callers and the callees of functions.
func Sandwich(w io.Writer, s *query.Source, t *query.SandwichTree, trim query.Trim, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&t.Answer)
	if len(t.Groups) == 0 {
		a.printf("  no function on a call stack matches\n")
		return a.Flush()
	}
	name := a.groupName(&t.Groups[0], 60)
	if n := len(t.Groups) - 1; n > 0 {
		name += fmt.Sprintf(" and %d more", n)
	}
	b := &branches{answerText: a, t: &t.Answer, trim: trim}
	a.printf("%s\n", a.title("CALLERS"))
	b.up = true
	b.root(t.Callers, name)
	b.up = false
	a.printf("\n%s\n", a.title("CALLEES"))
	b.root(t.Callees, name)
	a.runtimesOwn(&t.Answer, "")
	return a.Flush()
}

// branches writes a tree line by line.
type branches struct {
	*answerText
	t     *query.Answer
	trim  query.Trim
	up    bool // from the functions that allocate to those that call them
	owned bool // a node is the user's own
	lines int
	cut   int // lines that were left out
	wider int // by how much the columns of numbers are wider than usual
}

func (b *branches) root(root *query.Node, name string) {
	m := b.t.Metrics[0]
	if b.p.Sampled() {
		b.wider = 10 // for standard errors
	}
	head := padLeft(m.String()+b.unitNote(m), 13+b.wider) + padLeft("share", 9)
	for _, k := range b.t.Metrics[1:] {
		head += padLeft(k.String()+b.unitNote(k), 16+b.wider)
	}
	b.printf("%s\n", b.faint(head))
	b.lines, b.cut = 0, 0
	b.owned = b.hasOwn(root)
	b.line(&root.Total, "", b.bold(name))
	type work struct {
		child
		parent *expanded // if not nil, this line says what of it is left out
		prefix string    // what is drawn before its descendants
		mark   string    // and instead of that before itself
	}
	limit := min(maxIndent, (b.Width-24-b.wider-narrowWidth)/2)
	var todo []work
	push := func(x *expanded, prefix string) {
		if x.left > 0 {
			mark, _ := branch(prefix, limit, true)
			todo = append(todo, work{parent: x, mark: mark})
		}
		for i, c := range slices.Backward(x.list) {
			w := work{child: c, prefix: prefix, mark: prefix}
			if len(x.list) > 1 || x.left > 0 {
				w.mark, w.prefix = branch(prefix, limit, i == len(x.list)-1 && x.left == 0)
			}
			todo = append(todo, w)
		}
	}
	push(b.expand(root, true), "")
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if w.parent != nil {
			b.leftOut(w.parent, w.mark)
			continue
		}
		times, x := 1, b.expand(w.n, false)
		for len(x.list) == 1 && x.left == 0 && x.within == 0 && x.list[0].via == 0 && x.list[0].n.Group == w.n.Group {
			w.n = x.list[0].n
			x = b.expand(w.n, false)
			times++
		}
		more := ""
		if times > 1 {
			more = fmt.Sprintf(" ×%d", times)
		}
		if b.up {
			w.via, x.within = x.within, w.via
		}
		if w.via > 0 {
			more += fmt.Sprintf(" (%d %s)", w.via, map[bool]string{false: "between", true: "outside"}[b.up])
		}
		if x.within > 0 {
			more += fmt.Sprintf(" (%d within)", x.within)
		}
		room := max(b.leastName(), b.Width-24-b.wider-(16+b.wider)*(len(b.t.Metrics)-1)-runes(w.mark))
		b.line(&w.n.Total, w.mark, b.groupName(&w.n.Group, room-runes(more))+b.faint(more))
		push(x, w.prefix)
	}
	if b.cut > 0 {
		b.printf("  %s\n", b.faint(fmt.Sprintf("and %s (--limit)", humanize.Plural(uint64(b.cut), "more line"))))
	}
}

// branch returns what is drawn before a node with siblings, and before its descendants. Below limit levels, the lines
// of the outermost ones are not drawn.
func branch(prefix string, limit int, last bool) (mark, below string) {
	if cut := runes(prefix)/2 - limit + 1; cut > 0 {
		prefix = string([]rune(prefix)[2*cut:])
	}
	if last {
		return prefix + "└ ", prefix + "  "
	}
	return prefix + "├ ", prefix + "│ "
}

// line writes a node.
func (b *branches) line(v *query.Values, prefix, name string) {
	if b.lines++; b.Limit > 0 && b.lines > b.Limit {
		b.cut++
		return
	}
	m := b.t.Metrics[0]
	text := b.bold(padLeft(b.value(m, v, b.t.Span), 13+b.wider)) + padLeft(b.share(m, v, &b.t.Total), 9)
	for _, k := range b.t.Metrics[1:] {
		text += padLeft(b.value(k, v, b.t.Span), 16+b.wider)
	}
	b.printf("%s  %s%s\n", text, b.faint(prefix), name)
}

// leftOut writes which children of a node are left out.
func (b *branches) leftOut(x *expanded, prefix string) {
	why := "deeper"
	if b.trim.Depth == 0 || b.trim.Share > 0 && len(x.list) > 0 {
		why = fmt.Sprintf("of less than %.3g %%", 100*b.trim.Share)
	}
	if b.trim.Nodes > 0 {
		why = "left out"
	}
	name := fmt.Sprintf("(%s %s)", humanize.Plural(uint64(x.left), "more branch"), why)
	b.line(&x.leftTotal, prefix, b.faint(name))
}

// child is a node below another one, with via folded ones between.
type child struct {
	n   *query.Node
	via int
}

// expanded is what is shown below a node: its children and, instead of those that are folded, theirs.
type expanded struct {
	list      []child
	within    int // folded nodes with nothing but folded ones below
	left      int // children that the trim left out
	leftTotal query.Values
}

// maxExplored is how many folded nodes are followed below one node.
const maxExplored = 10_000

// expand returns what is shown below a node. A folded child is shown nevertheless if a node below it would otherwise
// stand twice below the same one, and below the root if there is nothing else to show.
func (b *branches) expand(n *query.Node, root bool) *expanded {
	x := &expanded{left: n.Folded, leftTotal: n.FoldedTotal}
	parts := make([]*expanded, len(n.Children))
	seen := make(map[query.Group]int)
	for i, c := range n.Children {
		if !b.folds(c) {
			seen[c.Group]++
			continue
		}
		parts[i] = b.through(c)
		for _, d := range parts[i].list {
			seen[d.n.Group]++
		}
	}
	for i, c := range n.Children {
		p := parts[i]
		twice := p != nil && slices.ContainsFunc(p.list, func(d child) bool { return seen[d.n.Group] > 1 })
		switch {
		case p == nil, twice, p.within > maxExplored, root && len(p.list) == 0 && !isStart(c):
			x.list = append(x.list, child{n: c})
			continue
		case len(p.list) == 0:
			x.within += p.within
		}
		x.list = append(x.list, p.list...)
		x.left += p.left
		x.leftTotal.Add(&p.leftTotal)
	}
	m := b.t.Metrics[0]
	slices.SortStableFunc(x.list, func(a, c child) int {
		return cmp.Compare(m.Of(&c.n.Total, 1e9), m.Of(&a.n.Total, 1e9))
	})
	if !slices.ContainsFunc(b.t.Metrics, func(m query.Metric) bool { return m.Of(&x.leftTotal, 1e9) != 0 }) {
		x.left = 0 // nothing to tell
	}
	return x
}

// through returns what is reached from a folded node by folded ones only; within counts these.
func (b *branches) through(n *query.Node) *expanded {
	x := &expanded{}
	todo := []child{{n, 0}}
	for len(todo) > 0 && x.within <= maxExplored {
		c := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !b.folds(c.n) {
			x.list = append(x.list, c)
			continue
		}
		if !isStart(c.n) {
			x.within++
			c.via++
		}
		x.left += c.n.Folded
		x.leftTotal.Add(&c.n.FoldedTotal)
		for _, d := range slices.Backward(c.n.Children) {
			todo = append(todo, child{d, c.via})
		}
	}
	return x
}

// folds reports whether a node is folded.
func (b *branches) folds(n *query.Node) bool {
	if b.fold.Whole() || !answer.OfFrames(n.By) {
		return false
	}
	kind := b.kind(&n.Group)
	return isStart(n) || kind == owncode.Wrapper || kind == owncode.Library && b.owned
}

func isStart(n *query.Node) bool { return profile.BeforeMain(n.Function) }

// hasOwn reports whether a node below another one is the user's own.
func (b *branches) hasOwn(root *query.Node) bool {
	todo := []*query.Node{root}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = append(todo[:len(todo)-1], n.Children...)
		if n != root && !isStart(n) && b.kind(&n.Group) == owncode.Own {
			return true
		}
	}
	return false
}
