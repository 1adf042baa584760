package answer

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/heaptap/heaptap/internal/query"
)

// Region is one time that a thread was in a region.
type Region struct {
	Region        string `json:"region"`
	Name          string `json:"name"`
	Thread        Thread `json:"thread"`
	Depth         int    `json:"depth"`
	Begin         int64  `json:"begin_ns"`
	End           int64  `json:"end_ns"`
	Open          bool   `json:"never_left"`
	Allocations   uint64 `json:"allocations"`
	Deallocations uint64 `json:"deallocations"`
	Requested     uint64 `json:"requested"`
	Added         int64  `json:"added"`
	Highest       int64  `json:"highest"`
	Lowest        int64  `json:"lowest"`
	Largest       uint64 `json:"largest"`
}

func newRegion(s *query.Source, r *query.RegionRow) Region {
	return Region{r.Title, r.Name, NewThread(s, r.Thread), r.Depth, r.Begin, r.End, r.Open, r.Allocations,
		r.Deallocations, r.Requested, r.Added(), r.Highest, r.Lowest, r.Largest}
}

// Regions is a row for each time that a thread was in a region.
type Regions struct {
	Head
	More int          `json:"more"`
	Rows Rows[Region] `json:"rows"`
}

// NewRegions makes the answer.
func NewRegions(s *query.Source, t *query.RegionTable, page Page) *Regions {
	list, more := Cut(page, t.Rows)
	return &Regions{newHead(s, &t.Answer), more,
		Rows[Region]{len(list), func(i int) Region { return newRegion(s, &list[i]) }}}
}

func (r *Regions) write(w io.Writer) error {
	empty := *r
	empty.Rows = Rows[Region]{}
	return writeRows(w, &empty, r.Rows)
}

// WriteRegionsTrace writes a trace in Chrome's format, which the viewers of Chrome and Perfetto open: a slice for
// each region.
func WriteRegionsTrace(w io.Writer, s *query.Source, t *query.RegionTable) error {
	type slice struct {
		Name     string  `json:"name"`
		Category string  `json:"cat"`
		Phase    string  `json:"ph"`
		Begin    float64 `json:"ts"` // µs
		Duration float64 `json:"dur"`
		PID      int     `json:"pid"`
		TID      uint32  `json:"tid"`
		Args     Region  `json:"args"`
	}
	pid := s.Reader.Process().PID
	if _, err := io.WriteString(w, `{"displayTimeUnit":"ns","traceEvents":[`); err != nil {
		return err
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		j := newRegion(s, r)
		b, err := json.Marshal(slice{r.Title, "region", "X", float64(r.Begin) / 1e3, float64(r.End-r.Begin) / 1e3, pid,
			j.Thread.TID, j})
		if err != nil {
			return err
		}
		separator := ",\n"
		if i == 0 {
			separator = "\n"
		}
		if _, err := fmt.Fprintf(w, "%s%s", separator, b); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "\n]}\n")
	return err
}
