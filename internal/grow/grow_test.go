package grow_test

import (
	"testing"

	"github.com/heaptap/heaptap/internal/grow"
)

func TestFor(t *testing.T) {
	t.Parallel()
	var list []int
	moves := 0
	for i := range 100_000 {
		before := cap(list)
		if list = grow.For(list, 1); cap(list) == len(list) {
			t.Fatalf("no room for one more than %d", len(list))
		}
		if cap(list) != before {
			moves++
		}
		list = append(list, i)
	}
	if moves > 18 {
		t.Errorf("the list has moved %d times", moves)
	}
	for i, v := range list {
		if v != i {
			t.Fatalf("%d: %d", i, v)
		}
	}
	if more := grow.For(list, 1<<20); len(more) != len(list) || cap(more)-len(more) < 1<<20 {
		t.Errorf("%d of %d", len(more), cap(more))
	}
}
