package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// maxIndent is how far branches are indented; deeper ones stay there.
const maxIndent = 30

// Tree writes a tree: for each node its total of the first metric and its share. An only child is not indented, and a
// function that only calls itself takes one line.
func Tree(w io.Writer, s *query.Source, t *query.Tree, trim query.Trim, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&t.Answer)
	if t.Root.Total == (query.Values{}) {
		a.printf("  nothing was counted\n")
		return a.Flush()
	}
	b := &branches{answerText: a, t: &t.Answer, trim: trim}
	b.root(t.Root, "all")
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
	b.root(t.Callers, name)
	a.printf("\n%s\n", a.title("CALLEES"))
	b.root(t.Callees, name)
	return a.Flush()
}

// branches writes a tree line by line.
type branches struct {
	*answerText
	t     *query.Answer
	trim  query.Trim
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
	b.line(&root.Total, "", b.bold(name))
	type work struct {
		n      *query.Node
		parent *query.Node
		folded bool // this line says what of parent is left out
		indent int
		mark   string
	}
	var todo []work
	push := func(n *query.Node, indent int) {
		if n.Folded > 0 {
			todo = append(todo, work{parent: n, folded: true, indent: indent, mark: "└ "})
		}
		alone := len(n.Children) == 1 && n.Folded == 0
		for i := len(n.Children) - 1; i >= 0; i-- {
			w := work{n: n.Children[i], indent: indent}
			if !alone {
				w.indent = min(indent+1, maxIndent)
				w.mark = "├ "
				if i == len(n.Children)-1 && n.Folded == 0 {
					w.mark = "└ "
				}
			}
			todo = append(todo, w)
		}
	}
	push(root, 0)
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if w.folded {
			b.folded(w.parent, min(w.indent+1, maxIndent))
			continue
		}
		times := 1
		for len(w.n.Children) == 1 && w.n.Folded == 0 && w.n.Children[0].Group == w.n.Group {
			w.n = w.n.Children[0]
			times++
		}
		more := ""
		if times > 1 {
			more = fmt.Sprintf(" ×%d", times)
		}
		prefix := strings.Repeat("  ", max(w.indent-1, 0)) + w.mark
		if w.mark == "" {
			prefix = strings.Repeat("  ", w.indent)
		}
		room := max(nameWidth, b.renderer.Width-22-b.wider-(16+b.wider)*(len(b.t.Metrics)-1)-runes(prefix)-2)
		b.line(&w.n.Total, prefix, b.groupName(&w.n.Group, room-runes(more))+more)
		push(w.n, w.indent)
	}
	if b.cut > 0 {
		b.printf("  %s\n", b.faint(fmt.Sprintf("and %s (--limit)", humanize.Plural(uint64(b.cut), "more line"))))
	}
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

// folded writes which children of a node are left out.
func (b *branches) folded(n *query.Node, indent int) {
	why := "deeper"
	if b.trim.Depth == 0 || b.trim.Share > 0 && len(n.Children) > 0 {
		why = fmt.Sprintf("of less than %.3g %%", 100*b.trim.Share)
	}
	name := fmt.Sprintf("(%s %s)", humanize.Plural(uint64(n.Folded), "more branch"), why)
	name = strings.Replace(name, "branchs", "branches", 1)
	b.line(&n.FoldedTotal, strings.Repeat("  ", max(indent-1, 0))+"└ ", b.faint(name))
}
