package query

import (
	"slices"
	"testing"
)

// TestSettledForest: a forest that was settled grows as if it had not been, and takes less memory until then.
func TestSettledForest(t *testing.T) {
	t.Parallel()
	s := wide(t)
	for _, by := range []By{ByFunction, ByLine, ByModule} {
		a, err := newAsk(t.Context(), s, &Query{By: by})
		if err != nil {
			t.Fatal(err)
		}
		want, got := emptyForest(a), emptyForest(a)
		for i := range s.sum.Stacks {
			if i%300 == 100 {
				before := got.size()
				if got.settle(); got.size() >= before {
					t.Errorf("%v: %d bytes, settled %d", by, before, got.size())
				}
			}
			id := s.sum.Stacks[i].ID
			if g, w := got.leaf(id, 0, true), want.leaf(id, 0, true); g != w {
				t.Fatalf("%v: stack %d ends at node %d, want %d", by, id, g, w)
			}
		}
		if !slices.Equal(got.parent, want.parent) || !slices.Equal(got.group, want.group) ||
			!slices.Equal(got.groups, want.groups) {
			t.Errorf("%v: it is another forest", by)
		}
	}
}
