package answer

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/query"
)

// CallCount is how often a thread called a function, and how long that took.
type CallCount struct {
	TID         uint32      `json:"tid"`
	Name        string      `json:"name"`
	Function    string      `json:"function"`
	Frees       bool        `json:"frees"`
	Calls       uint64      `json:"calls"`
	Failed      uint64      `json:"failed"`
	Bytes       uint64      `json:"bytes"`
	UsableBytes uint64      `json:"usable_bytes"`
	TimeNS      uint64      `json:"time_ns"`
	Timed       uint64      `json:"timed"`
	Sizes       []CallClass `json:"sizes"`
	Times       []CallClass `json:"times_ns"`
}

// CallClass is how many calls were between two bounds, both included.
type CallClass struct {
	Min   uint64 `json:"min"`
	Max   uint64 `json:"max"`
	Calls uint64 `json:"calls"`
}

// newCounts has a row for each thread and function; nil if nothing was counted.
func newCounts(c *event.Counts) []CallCount {
	if c == nil {
		return nil
	}
	rows := []CallCount{}
	for i := range c.Rows {
		n := &c.Rows[i]
		j := CallCount{n.TID, n.Name, n.Func.String(), n.Frees, n.Calls, n.Failed, n.Bytes, n.Usable, n.Time, n.Timed,
			[]CallClass{}, []CallClass{}}
		for _, s := range n.Sizes {
			lo, hi := query.SizeClass(s.Class)
			j.Sizes = append(j.Sizes, CallClass{lo, hi, s.Calls})
		}
		for _, s := range n.Times {
			lo, hi := c.TimeClass(int(s.Class))
			j.Times = append(j.Times, CallClass{lo, hi, s.Calls})
		}
		rows = append(rows, j)
	}
	return rows
}
