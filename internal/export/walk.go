package export

import "github.com/heaptap/heaptap/internal/query"

// Walk goes through what is below a node: enter is called for each node before its children, leave after them. If enter returns false,
// neither its children nor leave are called. Trees may be deep: Walk does not recurse.
func Walk(root *query.Node, enter func(n *query.Node, depth int) bool, leave func(n *query.Node)) {
	type level struct {
		node *query.Node
		next int
	}
	for levels := []level{{node: root}}; len(levels) > 0; {
		l := &levels[len(levels)-1]
		if l.next == len(l.node.Children) {
			if levels = levels[:len(levels)-1]; len(levels) > 0 && leave != nil {
				leave(l.node)
			}
			continue
		}
		child := l.node.Children[l.next]
		l.next++
		if enter(child, len(levels)-1) {
			levels = append(levels, level{node: child})
		}
	}
}
