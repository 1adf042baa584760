package heapprofile

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// endless is a text whose lines go on until the reader stops, or, so that a test ends, for some 100 MB.
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

// TestCost reads files that are small for what they describe: they are refused once they describe more than a program
// has.
func TestCost(t *testing.T) {
	const goHead = "heap profile: 1: 2 [ 1: 2] @ heap/1\n1: 1 [1: 1] @ 0x1\n"
	const gperftools = "heap profile: 1: 2 [ 1: 2] @ heapprofile\n"
	for name, c := range map[string]struct {
		head string
		line func(i int) string
		want string
	}{
		"addresses": {gperftools, func(i int) string { return fmt.Sprintf("1: 1 [1: 1] @ 0x%x\n", i) },
			"different addresses"},
		"stacks": {gperftools, func(int) string { return "1: 1 [1: 1] @ 0x1\n" }, "call stacks"},
		"frames": {gperftools, func(int) string { return "1: 1 [1: 1] @" + strings.Repeat(" 0x1", 1<<16) + "\n" },
			"frames"},
		"jemalloc": {"heap_v2/1\n", func(i int) string { return fmt.Sprintf("@ 0x%x\n t*: 1: 1 [1: 1]\n", i) },
			"different addresses"},
		"names": {goHead, func(i int) string { return fmt.Sprintf("1: 1 [1: 1] @ 0x1\n#\t0x%x\ta+0x1\tb:1\n", i) },
			"functions at more than"},
		"one stack": {goHead, func(i int) string { return fmt.Sprintf("#\t0x%x\ta+0x1\tb:1\n", i) },
			"functions of one call stack"},
		"lines of a map": {gperftools + "1: 1 [1: 1] @ 0x1\n--- Memory map: ---\n",
			func(i int) string { return "1-\n" }, "memory map of more than"},
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
				t.Errorf("reading took %d bytes of memory", n)
			}
		})
	}
}

// TestGoFrame reads lines in which Go names a function.
func TestGoFrame(t *testing.T) {
	for text, want := range map[string]string{
		"#\t0x4af\tmain.leak+0x1f\t/src/a b.go:12":   "4af main.leak /src/a b.go 12",
		"# 0x1 \t  f[go.shape.int].g+0x0  C:/x.go:1": "1 f[go.shape.int].g C:/x.go 1",
		"#\t0x1\tf+0x1+0x2\tb:3":                     "1 f+0x1 b 3",
		"# runtime.MemStats":                         "",
		"# Alloc = 12":                               "",
		"#\t0x1\tf\tb:3":                             "",
		"#\t0x1\tf+0x1\tb":                           "",
		"#\t0x1:3":                                   "",
		"#\t0x1\tf+0x1\tb:99999999999":               "",
	} {
		got := ""
		if at, f, ok := goFrame(text); ok {
			got = fmt.Sprint(at, " ", f.Function, " ", f.File, " ", f.Line)
		}
		if got != want {
			t.Errorf("%q: %q, expected %q", text, got, want)
		}
	}
}
