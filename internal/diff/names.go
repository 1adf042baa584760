package diff

import (
	"path"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/lazy"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// unpaired marks the line of a call site, or the number of a thread, that has no counterpart in the other recording. No
// real number is that large, so it is in no group of the other side.
const unpaired = 1 << 31

// own gives frames the names that they have in their recording, without what compilers add.
type own struct {
	s     *query.Source
	cache map[uint32][]profile.Frame
}

func newOwn(s *query.Source) *own { return &own{s, make(map[uint32][]profile.Frame)} }

// Frames implements query.Names.
func (o *own) Frames(pc uint32) []profile.Frame {
	list, ok := o.cache[pc]
	if !ok {
		list = append(list, o.s.PCFrames(pc)...)
		for i := range list {
			f := &list[i]
			f.Function, f.Inlined = withoutClone(f.Function), false
			if f.Function == "" && f.Module == "" {
				f.Address, f.Offset = 0, 0 // differs in every run
			}
		}
		o.cache[pc] = list
	}
	return list
}

// Thread implements query.Names.
func (o *own) Thread(index uint32) uint32 { return index }

// translated gives frames of one recording the names that they have in the other.
type translated struct {
	*own
	a       *alignment
	by      query.By
	cache   map[uint32][]profile.Frame
	threads map[uint32]uint32
}

// Frames implements query.Names.
func (t *translated) Frames(pc uint32) []profile.Frame {
	list, ok := t.cache[pc]
	if !ok {
		callee := t.a.callees[pc]
		for _, f := range t.own.Frames(pc) {
			next := t.a.functionOf(&f)
			t.a.rename(&f, callee, t.by)
			list, callee = append(list, f), next
		}
		t.cache[pc] = list
	}
	return list
}

// Thread implements query.Names.
func (t *translated) Thread(index uint32) uint32 {
	if other, ok := t.threads[index]; ok {
		return other
	}
	return index | unpaired
}

// pairThreads pairs the threads of two recordings by name, threads of the same name in order. The main threads, which
// are named after their programs, are a pair.
func pairThreads(before, after *query.Source) map[uint32]uint32 {
	places := make(map[string][]uint32)
	for i, t := range after.Reader.Threads() {
		name := threadName(after, &t)
		places[name] = append(places[name], uint32(i))
	}
	pairs := make(map[uint32]uint32)
	for i, t := range before.Reader.Threads() {
		name := threadName(before, &t)
		if list := places[name]; len(list) > 0 {
			pairs[uint32(i)] = list[0]
			places[name] = list[1:]
		}
	}
	return pairs
}

func threadName(s *query.Source, t *event.Thread) string {
	if int(t.TID) == s.Reader.Process().PID {
		return "\x00main"
	}
	return t.Name
}

// clone matches the suffix of a function that the compiler split or specialised.
var clone = lazy.Regexp(`( \[clone [^\]]*\]|\.(part|isra|constprop|cold|lto_priv)(\.[0-9]+)?)+$`)

func withoutClone(name string) string {
	if strings.ContainsAny(name, ".[") {
		if short := clone().ReplaceAllString(name, ""); short != "" {
			return short
		}
	}
	return name
}

// pairRenamed pairs functions whose parameters have changed, or are unknown on one side, as for functions that were
// inlined everywhere. Both must have no counterpart and be the only such function of their name on their side.
func pairRenamed(before, after map[function]bool) map[function]string {
	lonely := func(these, those map[function]bool) map[function][]string {
		list := make(map[function][]string)
		for f := range these {
			if !those[f] {
				short := function{withoutParameters(f.name), f.module}
				list[short] = append(list[short], f.name)
			}
		}
		return list
	}
	pairs := make(map[function]string)
	news := lonely(after, before)
	for short, names := range lonely(before, after) {
		if others := news[short]; len(names) == 1 && len(others) == 1 {
			pairs[function{names[0], short.module}] = others[0]
		}
	}
	return pairs
}

// withoutParameters cuts the parameters off a C++ function's name.
func withoutParameters(name string) string {
	rest := strings.TrimRight(name, " &")
	rest = strings.TrimSuffix(strings.TrimSuffix(rest, " volatile"), " const")
	if !strings.HasSuffix(rest, ")") {
		return name
	}
	depth := 0
	for i := len(rest) - 1; i > 0; i-- {
		switch rest[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				if strings.HasSuffix(rest[:i], "operator") {
					return name
				}
				return rest[:i]
			}
		}
	}
	return name
}

// pairModules returns, for the path of each module of the first recording, that of the same module in the second, and
// the paths of modules that are the same build.
func pairModules(before, after *query.Source) (pairs map[string]string, same map[string]bool) {
	pairs, same = make(map[string]string), make(map[string]bool)
	type module struct{ path, build, kind string }
	modules := func(s *query.Source) (list []module) {
		exe := s.Reader.Process().Exe
		for _, m := range s.Reader.Modules() {
			kind, _, _ := strings.Cut(path.Base(m.Path), ".so")
			if m.Path == exe {
				kind = "\x00executable"
			}
			list = append(list, module{m.Path, string(m.BuildID), kind})
		}
		return list
	}
	others := modules(after)
	for _, m := range modules(before) {
		best, which := 0, -1
		for i, o := range others {
			score := 4 * commonEnd(m.path, o.path)
			switch {
			case m.build != "" && m.build == o.build:
				score += 1 << 22
			case m.path == o.path:
				score += 1 << 21
			case m.kind == o.kind:
				score += 1 << 20
			default:
				continue
			}
			if score > best {
				best, which = score, i
			}
		}
		if which >= 0 {
			o := others[which]
			pairs[m.path] = o.path
			same[o.path] = m.build != "" && m.build == o.build
		}
	}
	return pairs, same
}

// commonEnd returns the number of bytes that two paths have in common at their ends.
func commonEnd(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
