package questions

import (
	"regexp"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/need"
)

// TestRust asks who holds the memory of a Rust program: its own functions, not alloc:: or hashbrown::.
func TestRust(t *testing.T) {
	t.Parallel()
	need.Tool(t, "rustc")
	u := newUser(t, "rust")
	u.types("rustc -g -O orders.rs")
	a := u.types("heaptap run ./orders").summary().fits()
	m := a.says(2, `^  peak +`+quantity+` in ([\d,]+) blocks`)
	a.says(screen, `^  leaked +nothing`)
	a.says(screen, `most live at the peak\n +4\.00 MB +\d\d\.\d %  .*orders::read_order orders\.rs:10`)
	near(t, "peak, by massif", number(t, m[1]), u.massif("./orders"), 0.01)
	judge := u.heaptrack("./orders")
	near(t, "peak, by heaptrack", number(t, m[1]), judge.peak-emergency, 0.01)
	if most := judge.most[:min(len(judge.most), 5000)]; !strings.Contains(most, "read_order") {
		t.Errorf("heaptrack does not say read_order:\n%.3000s", judge.most)
	}
	for _, w := range []*user{u, u.wide()} {
		r := w.types("heaptap report").fits()
		r.says(30, `^MOST LIVE AT PEAK.*\n +4\.00 MB +\d\d\.\d %  orders::read_order .*orders\.rs:10.*\n`+
			` +50\.0 k blocks  orders::group +orders\.rs:16`)
		w.types("heaptap top").fits().says(9, `\n +4\.00 MB +\d\d\.\d %.* orders::read_order orders$`)
	}
}

// TestGo asks the same of a Go program that calls C: C's blocks with the function, Go's heap as what it is.
func TestGo(t *testing.T) {
	t.Parallel()
	need.Tool(t, "go")
	need.Tool(t, "gcc")
	u := newUser(t, "cgo").has("CGO_ENABLED=1").has("GOFLAGS=")
	u.types("go build -o pictures main.go")
	h := u.holds("heaptap run ./pictures")
	kernel := h.kernel("VmHWM")
	a := h.finish()
	heap := number(t, regexp.MustCompile(`heap (\d+)`).FindStringSubmatch(h.printed)[1])
	a = a.summary().fits()
	a.says(1, `^\./pictures · .* exit status 0$`)
	peak := number(t, a.says(screen, `^  peak +`+quantity)[1])
	near(t, "peak, by what the program allocates", peak, 1000*20_000, 0.001)
	// heaptrack misses calls of Go's threads, up to a fifth of them. glibc counts them in malloc_stats.
	glibc := regexp.MustCompile(`(?s)Total.*in use bytes += +(\d+)`).
		FindStringSubmatch(u.types("./pictures x </dev/null").err)
	near(t, "peak, by glibc", peak, number(t, glibc[1]), 0.02)
	near(t, "resident peak, by the kernel", number(t, a.says(screen, `^  resident +`+quantity)[1]), kernel, 0.05)
	near(t, "Go's heap, by Go", number(t, a.says(screen, `^ +`+quantity+` in Go's heap`)[1]), heap, 0.15)
	a.says(screen, `most live at the peak\n +20\.0 MB +\d\d\.?\d* %  picture main\.go:11`)
	for _, w := range []*user{u, u.wide()} {
		w.types("heaptap report").fits().says(60, `^MOST LIVE AT PEAK.*\n +20\.0 MB +\S+ %  picture +main\.go:11`)
		w.types("heaptap memory").fits().says(screen, `^ +`+quantity+` .*Go's heap`)
	}
}
