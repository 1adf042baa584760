package query

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/profile"
)

// Suppressions are rules that leave out known leaks, in the syntax of LeakSanitizer and heaptrack: lines
// "leak:PATTERN". A pattern is searched for in the names of the functions, source files and modules of a stack, and in
// places in source files, such as /src/a.c:12. * matches anything; ^ at the beginning and $ at the end anchor the
// pattern.
type Suppressions struct {
	rules []Suppression
}

// Suppression is one rule, and what it has suppressed so far.
type Suppression struct {
	Pattern       string
	Where         string // file and line that it was read from
	Bytes, Blocks uint64
	Stacks        int      // call stacks
	Hidden        []uint32 // the first of them
}

// maxHidden is how many of its call stacks a rule remembers.
const maxHidden = 3

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
		s.rules = append(s.rules, Suppression{Pattern: pattern, Where: fmt.Sprintf("%s:%d", name, n)})
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
		out.rules = append(out.rules, Suppression{Pattern: r.Pattern, Where: r.Where})
	}
	return out
}

// Suppress reports whether a rule suppresses a stack with these frames, and adds bytes and blocks to the first rule
// that does.
func (s *Suppressions) Suppress(stack uint32, frames []profile.Frame, bytes, blocks uint64) bool {
	return s.leaveOut(s.first(frames), stack, bytes, blocks)
}

// first returns the index of the first rule that matches one of the frames; the number of rules if none does.
func (s *Suppressions) first(frames []profile.Frame) int {
	for i := range s.Rules() {
		r := &s.rules[i]
		for k := range frames {
			if r.matchesFrame(&frames[k]) {
				return i
			}
		}
	}
	return len(s.Rules())
}

// leaveOut adds a stack with bytes and blocks to a rule, and reports whether the rule exists.
func (s *Suppressions) leaveOut(rule int, stack uint32, bytes, blocks uint64) bool {
	if rule >= len(s.Rules()) {
		return false
	}
	r := &s.rules[rule]
	r.Bytes += bytes
	r.Blocks += blocks
	if r.Stacks++; len(r.Hidden) < maxHidden {
		r.Hidden = append(r.Hidden, stack)
	}
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

func (s *Suppression) matchesFrame(f *profile.Frame) bool {
	return s.matches(f.Function) || s.matches(f.Linkage) || s.matches(f.File) || s.matches(f.Module) ||
		f.Line > 0 && strings.Contains(s.Pattern, ":") && s.matches(fmt.Sprintf("%s:%d", f.File, f.Line))
}

func (s *Suppression) matches(name string) bool {
	return name != "" && matchesGlob(s.Pattern, name)
}

// matchesGlob matches as LeakSanitizer does: anywhere in the text, unless anchored, and ? is a plain character.
func matchesGlob(pattern, s string) bool {
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
