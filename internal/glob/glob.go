// Package glob matches texts with patterns, in which * stands for anything and ? for one byte.
package glob

import "strings"

// Match reports whether a pattern matches the whole text.
func Match(pattern, text string) bool {
	star, mark := -1, 0 // the latest *, and where what it stands for ends
	i, k := 0, 0
	for i < len(text) {
		switch {
		case k < len(pattern) && pattern[k] == '*':
			star, mark = k, i
			k++
		case k < len(pattern) && (pattern[k] == text[i] || pattern[k] == '?'):
			i++
			k++
		case star >= 0:
			mark++
			i, k = mark, star+1
		default:
			return false
		}
	}
	return strings.Trim(pattern[k:], "*") == ""
}

// Set is a set of patterns: fast if most of them are plain texts or beginnings. Its zero value has none.
type Set struct {
	exact    map[string]bool
	prefixes map[byte][]string // by first byte
	others   []string
}

// Add adds a pattern.
func (s *Set) Add(pattern string) {
	at := strings.IndexAny(pattern, "*?")
	switch {
	case at < 0:
		if s.exact == nil {
			s.exact = make(map[string]bool)
		}
		s.exact[pattern] = true
	case at > 0 && pattern[at:] == "*":
		if s.prefixes == nil {
			s.prefixes = make(map[byte][]string)
		}
		s.prefixes[pattern[0]] = append(s.prefixes[pattern[0]], pattern[:at])
	default:
		s.others = append(s.others, pattern)
	}
}

// Has reports whether a text itself is in the set.
func (s *Set) Has(text string) bool { return s.exact[text] }

// Match reports whether one of the patterns matches the whole text.
func (s *Set) Match(text string) bool {
	if s.exact[text] {
		return true
	}
	if text != "" {
		for _, prefix := range s.prefixes[text[0]] {
			if strings.HasPrefix(text, prefix) {
				return true
			}
		}
	}
	for _, p := range s.others {
		if Match(p, text) {
			return true
		}
	}
	return false
}
