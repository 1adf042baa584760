package question

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/query"
)

// Which part of an answer is wanted: of a tree some nodes, of a table some rows.

// Trimming says which nodes of a tree are wanted, as the user wrote it.
type Trimming struct {
	Threshold string // those with at least this share
	Depth     int    // those up to this level; 0: all
	Nodes     int    // the most important ones; 0: all
	Below     []string
}

// Trim reads it.
func (c *Trimming) Trim() (query.Trim, error) {
	percent, err := strconv.ParseFloat(strings.TrimSuffix(c.Threshold, "%"), 64)
	if err != nil || !(percent >= 0 && percent <= 100) {
		return query.Trim{}, wrong("threshold", fmt.Errorf("%q is not a share (for example 0.5%%)", c.Threshold))
	}
	if c.Depth < 0 {
		return query.Trim{}, &Error{errors.New("--depth must not be negative")}
	}
	if c.Nodes < 0 {
		return query.Trim{}, &Error{errors.New("--nodes must not be negative")}
	}
	return query.Trim{Share: percent / 100, Depth: c.Depth, Nodes: c.Nodes, Below: c.Below}, nil
}

// Sorting says which rows of a table are wanted, and in which order, as the user wrote it.
type Sorting struct {
	Sort    string // a metric's name, or "name"; "": the query's first metric
	Self    bool   // by self instead of total
	Reverse bool
	Match   string // what names contain, or /REGEXP/; "": all
}

// Page reads it for a query. Offset and Limit are 0.
func (s *Sorting) Page(q *query.Query) (p query.PageOf, err error) {
	p.Reverse = s.Reverse
	switch s.Sort {
	case "":
		p.Order = query.Order{Query: !s.Self, Metric: q.Metrics[0], Self: s.Self}
	case "name":
		p.Order = query.Order{Name: true}
	default:
		m, ok := query.ParseMetric(s.Sort)
		if !ok || !slices.Contains(q.Metrics, m) {
			return p, wrong("sort", fmt.Errorf("%q is neither a metric of --metric nor \"name\"", s.Sort))
		}
		p.Order = query.Order{Metric: m, Self: s.Self}
	}
	if s.Match == "" {
		return p, nil
	}
	pattern := "(?i)" + regexp.QuoteMeta(s.Match)
	if n := len(s.Match); n > 1 && s.Match[0] == '/' && s.Match[n-1] == '/' {
		pattern = s.Match[1 : n-1]
	}
	if p.Match, err = regexp.Compile(pattern); err != nil {
		return p, wrong("match", err)
	}
	return p, nil
}
