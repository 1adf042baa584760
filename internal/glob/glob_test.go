package glob

import "testing"

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a*c", "abc", true}, {"a*c", "ac", true}, {"a*c", "acd", false}, {"*a*", "xay", true}, {"a?c", "abc", true},
		{"a", "ab", false}, {"*.so*", "libx.so.1", true}, {"", "", true}, {"a**b*c", "axxbyyc", true},
		{"a", "a", true}, {"a*", "ab", true}, {"*", "", true}, {"a*c", "abcbc", true}, {"a*c", "ab", false},
		{"a*b*", "axbx", true}, {"a*b*c", "abac", true}, {"ab*ba", "aba", false},
	} {
		if got := Match(c.pattern, c.text); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.text, got)
		}
		var s Set
		s.Add("other")
		s.Add(c.pattern)
		if got := s.Match(c.text); got != c.want {
			t.Errorf("a set with %q matches %q: %v", c.pattern, c.text, got)
		}
		if s.Has(c.text) != (c.text == c.pattern) {
			t.Errorf("a set with %q has %q: %v", c.pattern, c.text, s.Has(c.text))
		}
	}
}
