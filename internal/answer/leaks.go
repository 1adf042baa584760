package answer

import (
	"io"

	"github.com/heaptap/heaptap/internal/query"
)

// Suppressed is what a rule leaves out.
type Suppressed struct {
	Pattern string `json:"pattern"`
	Count
	Stacks int `json:"call_stacks"`
}

// Suspect is a group whose live bytes rose steadily.
type Suspect struct {
	Group      Group   `json:"group"`
	Begin      uint64  `json:"begin_bytes"`
	End        uint64  `json:"end_bytes"`
	Slope      float64 `json:"bytes_per_second"`
	Confidence float64 `json:"confidence"`
}

// Leaks is what was never freed, and what kept growing.
type Leaks struct {
	Head
	Rows       Rows[Row]    `json:"rows"`
	More       int          `json:"more"`
	Suppressed []Suppressed `json:"suppressed"`
	Suspects   []Suspect    `json:"suspects"`
}

// NewLeaks makes the answer.
func NewLeaks(s *query.Source, l *query.LeakTables, page Page) *Leaks {
	rows, more := Cut(page, l.Rows)
	j := &Leaks{Head: newHead(s, &l.Answer), More: more,
		Suppressed: newSuppressed(l.Rules), Suspects: []Suspect{}}
	stacks := stacksOf(nil, len(rows), func(i int) *query.Group { return &rows[i].Group })
	stacks = stacksOf(stacks, len(l.Suspects), func(i int) *query.Group { return &l.Suspects[i].Group })
	t := newFrameTable(l.Shown(s), stacks)
	j.Frames = t.rows()
	for i := range l.Suspects {
		x := &l.Suspects[i]
		j.Suspects = append(j.Suspects, Suspect{newGroup(s, &x.Group, t), x.Begin, x.End, x.Slope, x.Confidence})
	}
	j.Rows = Rows[Row]{len(rows), func(i int) Row {
		v := newValues(&l.Answer, &rows[i].Total)
		return Row{newGroup(s, &rows[i].Group, t), v, v}
	}}
	return j
}

func (l *Leaks) write(w io.Writer) error {
	empty := *l
	empty.Rows = Rows[Row]{}
	return writeRows(w, &empty, l.Rows)
}

func newSuppressed(rules []query.Suppression) []Suppressed {
	list := []Suppressed{}
	for _, r := range rules {
		list = append(list, Suppressed{r.Pattern, Count{r.Blocks, r.Bytes}, r.Stacks})
	}
	return list
}
