package api

import (
	"fmt"
	"strings"
	"testing"
)

// TestAround: of a source file, only the lines around one are sent.
func TestAround(t *testing.T) {
	t.Parallel()
	lines := strings.Split("a b c d e", " ")
	for _, c := range []struct {
		line    uint32
		context int
		want    string
	}{
		{3, 1, "2 b c d"},
		{1, 2, "1 a b c"},
		{5, 2, "3 c d e"},
		{3, 100, "1 a b c d e"},
		{4_000_000_000, 1, "4 d e"}, // beyond the end: the file is not the one that was compiled
	} {
		part, first := around(lines, c.line, c.context)
		if got := fmt.Sprint(first, " ", strings.Join(part, " ")); got != c.want {
			t.Errorf("line %d, context %d: %s, want %s", c.line, c.context, got, c.want)
		}
	}
	if part, first := around(nil, 7, 2); len(part) != 0 || first != 1 {
		t.Errorf("empty file: %v from %d", part, first)
	}
}
