package question

import "testing"

// TestEither: two patterns become one.
func TestEither(t *testing.T) {
	t.Parallel()
	if got := Either("", "b") + Either("a", "") + Either("", ""); got != "ba" {
		t.Errorf("%q", got)
	}
	if got := Either("", "a|b", "c", "", "d"); got != "(?:(?:a|b)|c)|d" || Either() != "" {
		t.Errorf("%q", got)
	}
	if got := Either("a|b", "c"); got != "(?:a|b)|c" {
		t.Errorf("%q", got)
	}
}
