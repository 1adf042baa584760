package endings

import (
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
)

// TestForks makes children in every way that there is: each has a recording of its own, in which its parent's blocks
// that it frees are inherited, and its parent's recording knows nothing of it.
func TestForks(t *testing.T) {
	t.Parallel()
	forks := program(t, "forks")
	for _, c := range []struct{ how, children, steps string }{
		{"fork", "3", "20000"}, {"threads", "20", "5000"}, {"clone", "3", "20000"}, {"_Fork", "3", "20000"},
		{"vfork", "3", "20000"}, {"many", "1000", "100"},
	} {
		t.Run(c.how, func(t *testing.T) {
			recorded(t, 0, forks, c.how, c.children, c.steps).judge(t, 0)
		})
	}
}

// TestDaemon forks twice and outlives run, whose recorder continues to the end.
func TestDaemon(t *testing.T) {
	t.Parallel()
	r := prepare(t, false, nil, nil, program(t, "forks"), "daemon", "1", "20000")
	kit.Same(t, "exit status", r.run(t), 0)
	r.complete(t, 3)
	if s := r.stderr.String(); s != "" && !strings.Contains(s, "still run") {
		t.Errorf("standard error: %s", s)
	}
	r.judge(t, 0)
}
