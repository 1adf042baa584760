package watch_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/heaptap/heaptap/internal/record/watch"
)

// FuzzCondition: what is accepted as a condition of --mark-when means the same when it is written again, and has a
// limit that can be met.
func FuzzCondition(f *testing.F) {
	for _, s := range []string{"rss>2GiB", "live > 1G", "virt<1", "allocations>1M", "stack>4MiB", "system-free<5%",
		"system-free<1e-400%", "rss>9999999T", "live<0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := watch.ParseCondition(text)
		if err != nil {
			if !utf8.ValidString(err.Error()) || strings.ContainsAny(err.Error(), "\n\r\x1b") {
				t.Errorf("%q", err)
			}
			return
		}
		again, err := watch.ParseCondition(c.Text)
		if err != nil || again != c {
			t.Errorf("%q: %+v, again %+v, %v", text, c, again, err)
		}
		if c.Measure > watch.StackDepth || c.Share < 0 || c.Share > 1 || c.Limit > 1<<63 || c.Below && c.Limit == 0 &&
			c.Share == 0 {
			t.Errorf("%q: %+v", text, c)
		}
	})
}
