package check

import (
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// ParseLimit reads the limit of a metric: a size, or a number.
func ParseLimit(m query.Metric, text string) (Limit, error) {
	parse := humanize.ParseCount
	if m.Unit() == query.ByteCount {
		parse = humanize.ParseSize
	}
	n, err := parse(text)
	return Limit{m, uint64(n)}, err
}
