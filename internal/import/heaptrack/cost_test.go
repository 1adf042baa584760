package heaptrack

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

const costHead = "v 10400 3\nX ./a\nI 1000 100\ns 4 /bin\ns 4 main\ni 1000 1 2 0 0\nt 1 0\na 10 1\n"

// repeated is a file of so many lines.
func repeated(n int, line func(i int) string) string {
	var b strings.Builder
	b.WriteString(costHead)
	for i := range n {
		b.WriteString(line(i))
	}
	return b.String()
}

// TestCost reads files that are small for what they describe. All allocated bytes are counted per byte of the file,
// even if they are not in use at the same time: tables that grow by being copied count five times.
func TestCost(t *testing.T) {
	const lines = 1 << 18
	for name, c := range map[string]struct {
		line func(i int) string
		most uint64
	}{
		"live blocks":           {func(int) string { return "+ 0\n" }, 5},
		"live blocks over time": {func(i int) string { return fmt.Sprintf("c %x\n+ 0\n", i) }, 5},
		"sizes":                 {func(i int) string { return fmt.Sprintf("a %x 1\n+ %x\n", i, i) }, 10},
		"growing modules":       {func(i int) string { return fmt.Sprintf("i %x 1 2\nt %x 0\n", 0x2000+i, i+2) }, 20},
		"inlined functions":     {func(i int) string { return inlined[i%256] }, 25},
	} {
		t.Run(name, func(t *testing.T) {
			text := repeated(lines, c.line)
			path := filepath.Join(t.TempDir(), "a.htap")
			in := strings.NewReader(text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := Import(in, path, "test"); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			const writer = 32 << 20
			n := after.TotalAlloc - before.TotalAlloc
			if n > writer+c.most*uint64(len(text)) {
				t.Errorf("reading %d bytes took %d bytes of memory", len(text), n)
			}
		})
	}
}

// inlined are lines, one in 256 of which is long.
var inlined = [256]string{"i 10 1" + strings.Repeat(" 2 2 1", 400) + "\n"}

// TestYoungestBlock: a freed block has the time of the youngest allocation that it may be.
func TestYoungestBlock(t *testing.T) {
	const text = costHead + "a 20 1\n+ 0\nc 1\n+ 0\n+ 1\nc 3\n- 0\nc 4\n- 1\n+ 0\nc 6\n- 0\n- 0\n"
	path := filepath.Join(t.TempDir(), "a.htap")
	if err := Import(strings.NewReader(text), path, "test"); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []string
	err = r.Events(func(e *event.Event) bool {
		if e.Kind == event.Free {
			got = append(got, fmt.Sprintf("%d: %d born at %d, temporary: %t", e.Time/1e6, e.Ref, e.Born/1e6,
				e.Flags&event.Temporary != 0))
		}
		return true
	})
	want := "3: 1 born at 1, temporary: false; 4: 2 born at 1, temporary: true; 6: 3 born at 4, temporary: true; 6: " +
		"0 born at 0, temporary: false"
	if list := strings.Join(got, "; "); err != nil || list != want {
		t.Errorf("%s: %v", list, err)
	}
}

// TestManySamples: samples are kept up to the last one, and the maximum of omitted samples is kept.
func TestManySamples(t *testing.T) {
	const lines = allSamples + 1000
	text := repeated(lines, func(i int) string {
		if i == lines-100 {
			return "R 1000000\n"
		}
		return fmt.Sprintf("c %x\nR %x\n", i, uint32(i)*2654435761>>12)
	})
	path := filepath.Join(t.TempDir(), "a.htap")
	if err := Import(strings.NewReader(text), path, "test"); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	list := r.Samples()
	if n := len(list); n <= allSamples || n >= lines {
		t.Errorf("%d samples were kept", n)
	}
	most := int64(0)
	for _, s := range list {
		most = max(most, s.RSS)
	}
	if most != 0x1000000*0x1000 {
		t.Errorf("the maximum is %d", most)
	}
}
