package watch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/spelling"
)

// measureNames are the names of the measures in a condition.
var measureNames = []string{RSS: "rss", Virtual: "virt", SystemFree: "system-free", Live: "live",
	Allocations: "allocations", StackDepth: "stack"}

// ParseCondition reads the text of a condition: rss>2GiB, allocations>1M, system-free<5%.
func ParseCondition(text string) (Condition, error) {
	c := Condition{Text: strings.ReplaceAll(text, " ", "")}
	i := strings.IndexAny(c.Text, "<>")
	if i < 0 {
		return c, fmt.Errorf("%q is not a condition (for example rss>2GiB, live>1GiB, allocations>1M or "+
			"system-free<5%%)", text)
	}
	name, limit := c.Text[:i], c.Text[i+1:]
	c.Below = c.Text[i] == '<'
	m := slices.Index(measureNames, name)
	if m < 0 {
		return c, fmt.Errorf("%q: known are %s%s", name, strings.Join(measureNames, ", "),
			spelling.DidYouMean(name, measureNames))
	}
	c.Measure = Measure(m)
	var n int64
	var err error
	switch {
	case c.Measure == Allocations:
		n, err = humanize.ParseCount(limit)
	case strings.HasSuffix(limit, "%"):
		if c.Share, err = humanize.ParseShare(limit); err == nil && (c.Share <= 0 || c.Share > 1) {
			err = fmt.Errorf("%q: a share of the machine's memory is above 0%%, up to 100%%", limit)
		}
	default:
		n, err = humanize.ParseSize(limit)
	}
	if err == nil && n == 0 && c.Share == 0 && c.Below {
		err = fmt.Errorf("%q is never true", text)
	}
	c.Limit = uint64(n)
	return c, err
}
