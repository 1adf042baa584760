package endings

import (
	"fmt"
	"testing"
)

// TestSignalStack finds the smallest signal stack on which a handler can allocate, and adds the headroom that the guide
// documents, 1 KiB: then heaptap makes no difference.
func TestSignalStack(t *testing.T) {
	t.Parallel()
	const headroom = 1024
	works := func(bare bool, size int) (*target, bool) {
		r := prepare(t, bare, nil, nil, program(t, "sigstack"), fmt.Sprint(size))
		return r, r.run(t) == 7
	}
	low, high := 0, 64<<10 // fails; works
	for high-low > 16 {
		middle := (low + high) / 2
		if _, ok := works(true, middle); ok {
			high = middle
		} else {
			low = middle
		}
	}
	r, ok := works(false, high+headroom)
	if !ok {
		t.Fatalf("with %d bytes, %d more than are needed without heaptap, the program fails:\n%s", high+headroom,
			headroom, r.stderr.String())
	}
	r.judge(t, 0)
	t.Logf("%d bytes without heaptap, %d with it", high, high+headroom)
}
