package query

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
)

// Join returns the group into which a group is merged; false: it is not wanted.
type Join func(*Group) (Group, bool)

// Joined answers with a table for each of the joins. Its rows merge several groups of the query's grouping, such as the
// lines of a template's instances. A call stack on which several of them occur counts once in the total, as everywhere.
//
// With calls, one more table follows: what is called from the groups of the first join. A row has the file and the line
// of such a group, and the function, module and offset of what it calls.
func Joined(ctx context.Context, s *Source, q *Query, calls bool, joins ...Join) ([]*Table, error) {
	a, err := newAsk(ctx, s, q)
	if err != nil {
		return nil, err
	}
	n, err := a.nodeSums(true)
	if err != nil {
		return nil, err
	}
	plain := n.forest
	var forests []*forest
	for _, j := range joins {
		f, err := joined(ctx, plain, j)
		if err != nil {
			return nil, err
		}
		forests = append(forests, f)
	}
	if calls {
		f, err := called(ctx, plain, forests[0])
		if err != nil {
			return nil, err
		}
		forests = append(forests, f)
	}
	var tables []*Table
	for _, f := range forests {
		n.forest = f
		rows, err := n.rows()
		if err != nil {
			return nil, err
		}
		t := rows.table()
		t.Rows = slices.DeleteFunc(t.Rows, func(r Row) bool { return r.Group == unwanted })
		tables = append(tables, t)
	}
	return tables, nil
}

// unwanted is the group of all nodes that a Join does not want.
var unwanted = Group{By: byCount}

// joined returns the forest with the groups that a Join returns for its own.
func joined(ctx context.Context, f *forest, j Join) (*forest, error) {
	g := *f
	g.groups, g.ids = nil, make(map[Group]int32)
	g.id(unwanted)
	to := make([]int32, len(f.groups))
	for i := range f.groups {
		if into, ok := j(&f.groups[i]); ok {
			to[i] = g.id(into)
		}
	}
	g.group = make([]int32, len(f.group))
	for n, old := range f.group {
		if g.group[n] = -1; old >= 0 {
			g.group[n] = to[old]
		}
	}
	return &g, g.topmosts(ctx)
}

// called returns the forest with the groups of calls: from a group that a Join wanted, to a function.
func called(ctx context.Context, f, callers *forest) (*forest, error) {
	g := *f
	g.groups, g.ids = nil, make(map[Group]int32)
	none := g.id(unwanted)
	known := make(map[[2]int32]int32) // by caller and callee
	g.group = make([]int32, len(f.group))
	for n, callee := range f.group {
		if g.group[n] = -1; callee < 0 {
			continue
		}
		g.group[n] = none
		caller := callers.group[f.parent[n]]
		if caller < 0 || callers.groups[caller] == unwanted {
			continue
		}
		call := [2]int32{caller, callee}
		id, ok := known[call]
		if !ok {
			from, to := &callers.groups[caller], &f.groups[callee]
			into := Group{By: ByLine, File: from.File, Line: from.Line, Function: to.Function, Module: to.Module}
			if to.Function == "" {
				into.Offset = to.Offset
			}
			id = g.id(into)
			known[call] = id
		}
		g.group[n] = id
	}
	return &g, g.topmosts(ctx)
}

// Place is a function and a file in which it has code on a call stack. Either is "" if it is unknown.
type Place struct{ Function, File string }

// Places returns all places of the recording, whatever call stacks count. Files have clean paths, see CleanFile.
func (s *Source) Places() []Place {
	seen := make(map[Place]bool)
	var list []Place
	s.Reader.PCs().All(func(pc uint32, _ event.PC) bool {
		for _, f := range s.frames(pc) {
			p := Place{f.Function, CleanFile(f.File)}
			if p != (Place{}) && !seen[p] {
				seen[p] = true
				list = append(list, p)
			}
		}
		return true
	})
	return list
}

// CleanFile returns a source file's path from the debug information without "." and ".." elements; "" stays "".
func CleanFile(file string) string {
	if file == "" {
		return ""
	}
	return path.Clean(file)
}

// PlainName returns a function's name without return type, parameters and template arguments: a::B::f for
// "void a::B<int>::f<char>(char) const".
func PlainName(function string) string {
	const anonymous = "(anonymous namespace)"
	s := strings.ReplaceAll(function, anonymous, "{anonymous}")
	var b strings.Builder
	depth := 0
	for i := 0; i < len(s); i++ {
		operator := strings.HasSuffix(b.String(), "operator")
		switch c := s[i]; {
		case operator && depth == 0 && strings.IndexByte("<>(-=", c) >= 0:
			k := i
			for k < len(s) && strings.IndexByte("<>()-=", s[k]) >= 0 && (s[k] != '(' || k == i) {
				k++
			}
			b.WriteString(s[i:k])
			i = k - 1
		case c == '<':
			depth++
		case c == '>':
			depth = max(0, depth-1)
		case depth > 0:
		case c == '(':
			i = len(s)
		case c == ' ' && i+1 < len(s) && strings.IndexByte("<(", s[i+1]) >= 0:
		case c == ' ' && !operator:
			b.Reset() // what came before was the return type
		default:
			b.WriteByte(c)
		}
	}
	if b.Len() == 0 {
		return function
	}
	return strings.ReplaceAll(b.String(), "{anonymous}", anonymous)
}
