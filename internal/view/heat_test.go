package view

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/query/querytest"
)

// TestHeatAddsUp: the rows of each heat map add up to its last line, no line is too wide, and there is no colour unless
// a terminal asks for it.
func TestHeatAddsUp(t *testing.T) {
	t.Parallel()
	s := querytest.Server(t)
	a := querytest.Ask(t, s, 10)
	number := regexp.MustCompile(`^ +(.*\S) +([\d,]+) +(?:<?[\d.]+) % +([\d,]+)`)
	for _, width := range []int{80, 100, 200} {
		for _, kind := range query.HeatKinds {
			t.Run(fmt.Sprint(kind, width), func(t *testing.T) {
				t.Parallel()
				var out bytes.Buffer
				o := QueryOptions{}
				o.Width, o.Exact = width, true
				if err := Hist(&out, s, a.Hist, []string{HeatPart(kind)}, o); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(out.String(), "\x1b") {
					t.Error("it has colours")
				}
				var count, size uint64
				ended := false
				for line := range strings.Lines(out.String()) {
					line = strings.TrimRight(line, "\n")
					if runes(line) > width {
						t.Errorf("%d wide: %s", runes(line), line)
					}
					m := number.FindStringSubmatch(line)
					if m == nil {
						continue
					}
					n, err := strconv.ParseUint(strings.ReplaceAll(m[2], ",", ""), 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					b, err := strconv.ParseUint(strings.ReplaceAll(m[3], ",", ""), 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					if m[1] == "all of these" {
						ended = true
						if n != count || b != size || n == 0 {
							t.Errorf("%d of %d bytes in all, and %d of %d in the rows", n, b, count, size)
						}
						continue
					}
					count, size = count+n, size+b
				}
				if !ended {
					t.Errorf("no sum:\n%s", out.String())
				}
			})
		}
	}
}
