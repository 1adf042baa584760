package export

import "github.com/heaptap/heaptap/internal/query"

// Walk visits the nodes below root. It calls enter for each node before its children and leave after them. If enter
// returns false, Walk skips the node's children and its leave. Trees may be deep, so Walk does not recurse.
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
