package query

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/profile"
)

// Suppressions are rules that leave out known leaks, in the syntax of LeakSanitizer and heaptrack: lines
// "leak:PATTERN". A pattern is searched for in the names of the functions, source files and modules of a stack. *
// matches anything; ^ at the beginning and $ at the end anchor the pattern.
type Suppressions struct {
	rules []Suppression
}

// Suppression is one rule, and what it has suppressed so far.
type Suppression struct {
	Pattern       string
	Bytes, Blocks uint64
}

// ParseSuppressions reads rules. A line that is not a rule is an error that names the line; name is the file's, for
// messages.
func ParseSuppressions(r io.Reader, name string) (*Suppressions, error) {
	s := &Suppressions{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		kind, pattern, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("%s:%d: %q is not a suppression; expected leak:PATTERN", name, n, line)
		}
		if kind != "leak" {
			continue // a rule of another sanitizer: the file may be shared
		}
		if pattern = strings.TrimSpace(pattern); pattern == "" {
			return nil, fmt.Errorf("%s:%d: the pattern is empty: it would suppress everything", name, n)
		}
		s.rules = append(s.rules, Suppression{Pattern: pattern})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// Add adds the rules of another list.
func (s *Suppressions) Add(o *Suppressions) { s.rules = append(s.rules, o.rules...) }

// Rules returns the rules and what each has suppressed.
func (s *Suppressions) Rules() []Suppression {
	if s == nil {
		return nil
	}
	return s.rules
}

// Fresh returns the same rules, with nothing suppressed yet.
func (s *Suppressions) Fresh() *Suppressions {
	out := &Suppressions{}
	for _, r := range s.Rules() {
		out.rules = append(out.rules, Suppression{Pattern: r.Pattern})
	}
	return out
}

// Suppress reports whether a rule suppresses a stack with these frames, and adds bytes and blocks to the first rule
// that does.
func (s *Suppressions) Suppress(frames []profile.Frame, bytes, blocks uint64) bool {
	return s.leaveOut(s.first(frames), bytes, blocks)
}

// first returns the index of the first rule that matches one of the frames; the number of rules if none does.
func (s *Suppressions) first(frames []profile.Frame) int {
	for i := range s.Rules() {
		r := &s.rules[i]
		for k := range frames {
			f := &frames[k]
			if r.matches(f.Function) || r.matches(f.Linkage) || r.matches(f.File) || r.matches(f.Module) {
				return i
			}
		}
	}
	return len(s.Rules())
}

// leaveOut adds bytes and blocks to a rule, and reports whether the rule exists.
func (s *Suppressions) leaveOut(rule int, bytes, blocks uint64) bool {
	if rule >= len(s.Rules()) {
		return false
	}
	s.rules[rule].Bytes += bytes
	s.rules[rule].Blocks += blocks
	return true
}

// ruleMatches caches the first rule that matches each stack. Stacks share their outer frames: each node is examined
// once.
type ruleMatches struct {
	s          *Source
	rules      *Suppressions
	pcs, nodes map[uint32]int
	path       []uint32
}

func (m *ruleMatches) stack(id uint32) int {
	first := len(m.rules.Rules())
	m.path = m.s.pathToRoot(m.path[:0], id, func(id uint32) bool {
		known, ok := m.nodes[id]
		if ok {
			first = known
		}
		return ok
	})
	for _, id := range slices.Backward(m.path) {
		n, _ := m.s.Reader.Nodes().Get(id)
		rule, ok := m.pcs[n.PC]
		if !ok {
			rule = m.rules.first(m.s.frames(n.PC))
			m.pcs[n.PC] = rule
		}
		first = min(first, rule)
		m.nodes[id] = first
	}
	return first
}

func (s *Suppression) matches(name string) bool {
	return name != "" && glob(s.Pattern, name)
}

// glob matches as LeakSanitizer does.
func glob(pattern, s string) bool {
	pattern, fromStart := strings.CutPrefix(pattern, "^")
	pattern, toEnd := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	for i, p := range parts {
		last := i == len(parts)-1
		switch {
		case i == 0 && fromStart && last && toEnd:
			return s == p
		case i == 0 && fromStart:
			if !strings.HasPrefix(s, p) {
				return false
			}
			s = s[len(p):]
		case last && toEnd:
			return strings.HasSuffix(s, p)
		default:
			at := strings.Index(s, p)
			if at < 0 {
				return false
			}
			s = s[at+len(p):]
		}
	}
	return true
}

// Suggest returns the rule that would suppress a stack: by the function nearest to the allocation that belongs neither
// to the runtime nor to the standard library (as library says). If that is main, by what main called, since main is on
// nearly every stack. By the module if there is no such function, or it has no name.
func Suggest(frames []profile.Frame, library func(*profile.Frame) bool) string {
	for i := range frames {
		f := &frames[i]
		if f.Function == "" || library(f) {
			continue
		}
		if f.Function == "main" && i > 0 {
			if f = &frames[i-1]; f.Function == "" {
				break // stripped: main is the only name
			}
		}
		return "leak:^" + escape(f.Function) + "$"
	}
	for i := range frames {
		if f := &frames[i]; f.Module != "" && (i == len(frames)-1 || !library(f)) {
			return "leak:" + escape(path.Base(f.Module))
		}
	}
	return ""
}

// escape replaces characters of a name that have a meaning in patterns by *, which matches them.
func escape(name string) string {
	return strings.NewReplacer("^", "*", "$", "*", "\n", "*").Replace(name)
}

// ReadSuppressions reads the rules of several files.
func ReadSuppressions(files []string) (*Suppressions, error) {
	rules := &Suppressions{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		more, err := ParseSuppressions(f, name)
		f.Close()
		if err != nil {
			return nil, err
		}
		rules.Add(more)
	}
	return rules, nil
}
