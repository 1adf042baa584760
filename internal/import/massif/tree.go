package massif

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/import/valgrind"
	"github.com/heaptap/heaptap/internal/merge"
)

// tree is a snapshot's tree being read. Below a function are its callers, one per line, indented by their depth.
type tree struct {
	stacks map[int32]uint64
	path   []node // the nodes on the path to the current line, from the allocation functions on
}

// node is one line. Its bytes are those of its children, and of call stacks that end with it.
type node struct {
	pc       int32
	known    bool
	bytes    uint64
	children int // not yet read
	rest     uint64
	cut      bool // the callers are unknown
}

// line takes a line. It reports whether it was the last one.
func (t *tree) line(imported *merge.Imported, text string) (done bool, err error) {
	depth := len(t.path)
	body := strings.TrimLeft(text, " ")
	if len(text)-len(body) != depth {
		return false, fmt.Errorf("the tree: %.80q is indented by %d, expected %d", text, len(text)-len(body), depth)
	}
	n, what, err := parse(body)
	if err != nil {
		return false, err
	}
	n.rest = n.bytes
	if depth > 0 {
		up := &t.path[depth-1]
		if n.bytes > up.rest {
			return false, fmt.Errorf("the tree: %d bytes, but the line above leaves only %d", n.bytes, up.rest)
		}
		up.rest -= n.bytes
		up.children--
		if n.cut = strings.HasPrefix(what, "in ") && strings.Contains(what, " massif's threshold"); !n.cut {
			n.pc, n.known = valgrind.PC(imported, what)
		}
	}
	t.path = append(t.path, n)
	for len(t.path) > 0 && t.path[len(t.path)-1].children == 0 {
		t.end(imported)
		t.path = t.path[:len(t.path)-1]
	}
	return len(t.path) == 0, nil
}

// end adds the remaining bytes of the current path to its call stack.
func (t *tree) end(imported *merge.Imported) {
	last := &t.path[len(t.path)-1]
	if last.rest == 0 {
		return
	}
	at := int32(0)
	for i := len(t.path) - 1; i > 0; i-- {
		switch n := &t.path[i]; {
		case n.known && last.cut && at == 0:
			at = imported.Root(n.pc)
		case n.known:
			at = imported.Node(at, n.pc)
		}
	}
	t.stacks[at] += last.rest
}

// parse reads a line: n, the number of its children, a colon, bytes, and a description.
func parse(text string) (n node, what string, err error) {
	head, what, ok := strings.Cut(text, " ")
	count, ok2 := strings.CutPrefix(strings.TrimSuffix(head, ":"), "n")
	if !ok || !ok2 || !strings.HasSuffix(head, ":") {
		return n, "", fmt.Errorf("the tree: %.80q is not understood", text)
	}
	number, what, _ := strings.Cut(what, " ")
	if n.children, err = strconv.Atoi(count); err == nil && n.children >= 0 {
		n.bytes, err = strconv.ParseUint(number, 10, 63)
	}
	if err != nil || n.children < 0 {
		return n, "", errors.New("the tree: a line must begin with n, the number of its children, a colon, and bytes")
	}
	return n, what, nil
}
