package massif

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/import/valgrind"
	"github.com/heaptap/heaptap/internal/merge"
)

// tree is a snapshot's tree while it is read. Below a function are its callers, a line for each, indented by its depth.
type tree struct {
	stacks map[int32]uint64
	way    []node // the nodes that are open, from the allocation functions on
}

// node is one line. Its bytes are those of its children, and of call stacks that end with it.
type node struct {
	pc       int32
	known    bool
	bytes    uint64
	children int // that are still to come
	rest     uint64
	cut      bool // the callers are unknown
}

// line takes in a line. It reports whether it was the last one.
func (t *tree) line(told *merge.Imported, text string) (done bool, err error) {
	depth := len(t.way)
	body := strings.TrimLeft(text, " ")
	if len(text)-len(body) != depth {
		return false, fmt.Errorf("the tree: %.80q is indented by %d, %d are expected", text, len(text)-len(body), depth)
	}
	n, what, err := parse(body)
	if err != nil {
		return false, err
	}
	n.rest = n.bytes
	if depth > 0 {
		up := &t.way[depth-1]
		if n.bytes > up.rest {
			return false, fmt.Errorf("the tree: %d bytes, and the caller's line leaves %d", n.bytes, up.rest)
		}
		up.rest -= n.bytes
		up.children--
		if n.cut = strings.HasPrefix(what, "in ") && strings.Contains(what, " massif's threshold"); !n.cut {
			n.pc, n.known = valgrind.PC(told, what)
		}
	}
	t.way = append(t.way, n)
	for len(t.way) > 0 && t.way[len(t.way)-1].children == 0 {
		t.end(told)
		t.way = t.way[:len(t.way)-1]
	}
	return len(t.way) == 0, nil
}

// end counts what is of the call stack that the way is.
func (t *tree) end(told *merge.Imported) {
	last := &t.way[len(t.way)-1]
	if last.rest == 0 {
		return
	}
	at := int32(0)
	for i := len(t.way) - 1; i > 0; i-- {
		switch n := &t.way[i]; {
		case n.known && last.cut && at == 0:
			at = told.Root(n.pc)
		case n.known:
			at = told.Node(at, n.pc)
		}
	}
	t.stacks[at] += last.rest
}

// parse reads a line: n, how many children it has, a colon, bytes, and what it is.
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
		return n, "", errors.New("the tree: a line begins with n, the number of its children, a colon, and bytes")
	}
	return n, what, nil
}
