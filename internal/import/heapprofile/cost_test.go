package heapprofile

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// endless is a text whose lines go on until somebody stops reading, or, so that a test ends, for some 100 MB.
type endless struct {
	line func(i int) string
	i, n int
	rest string
}

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		if e.n > 100<<20 {
			return 0, io.EOF
		}
		e.rest = e.line(e.i)
		e.i++
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	e.n += n
	return n, nil
}

// TestCost reads what makes most of few bytes: it is refused as soon as there is more than a program has.
func TestCost(t *testing.T) {
	const gperftools = "heap profile: 1: 2 [ 1: 2] @ heapprofile\n"
	for name, c := range map[string]struct {
		head string
		line func(i int) string
		want string
	}{
		"addresses": {gperftools, func(i int) string { return fmt.Sprintf("1: 1 [1: 1] @ 0x%x\n", i) }, "different addresses"},
		"stacks":    {gperftools, func(int) string { return "1: 1 [1: 1] @ 0x1\n" }, "call stacks"},
		"frames":    {gperftools, func(int) string { return "1: 1 [1: 1] @" + strings.Repeat(" 0x1", 1<<16) + "\n" }, "frames"},
		"jemalloc":  {"heap_v2/1\n", func(i int) string { return fmt.Sprintf("@ 0x%x\n t*: 1: 1 [1: 1]\n", i) }, "different addresses"},
		"mappings": {gperftools + "1: 1 [1: 1] @ 0x1\nMAPPED_LIBRARIES:\n",
			func(i int) string { return fmt.Sprintf("%x-%x r-xp 0 0 0 /%x\n", 2*i+1, 2*i+2, i) }, "mappings"},
		"mappings of a memory map": {gperftools + "1: 1 [1: 1] @ 0x1\n--- Memory map: ---\n",
			func(i int) string { return fmt.Sprintf("%x-%x: /%x\n", 2*i+1, 2*i+2, i) }, "mappings"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			in := &endless{line: c.line}
			_, err := Read(io.MultiReader(strings.NewReader(c.head), in), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || in.n > 80<<20 {
				t.Errorf("after %d bytes: %v; expected %q", in.n, err, c.want)
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 3<<28 {
				t.Errorf("it cost %d bytes", n)
			}
		})
	}
}
