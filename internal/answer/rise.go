package answer

import "github.com/heaptap/heaptap/internal/query"

// Rise explains how live bytes changed over a range: begin, the changes of the rows, and what the others grew and
// shrank, add up to the end.
type Rise struct {
	Head
	Begin  uint64     `json:"begin_bytes"`
	End    uint64     `json:"end_bytes"`
	Rows   []RiseRow  `json:"rows"` // those that grew, the largest first, then those that shrank, the largest last
	Others RiseOthers `json:"others"`
}

// RiseRow is by how much a group changed.
type RiseRow struct {
	Group  Group  `json:"group"`
	Bytes  int64  `json:"bytes"`
	Blocks int64  `json:"blocks"`
	Begin  uint64 `json:"begin_bytes"`
	End    uint64 `json:"end_bytes"`
	// Of a call stack, the function that the user can change.
	Function string `json:"function"`
	File     string `json:"file"`
	Line     uint32 `json:"line"`
	Module   string `json:"module"`
}

// RiseOthers are the groups that changed and have no row.
type RiseOthers struct {
	Groups int    `json:"groups"`
	Grown  uint64 `json:"grown_bytes"`
	Shrunk uint64 `json:"shrunk_bytes"`
}

// NewRise makes the answer.
func NewRise(s *query.Source, r *query.Rise) *Rise {
	j := &Rise{Head: newHead(s, &r.Answer), Begin: r.Begin, End: r.End, Rows: []RiseRow{},
		Others: RiseOthers{r.Others.Groups, r.Others.Grown, r.Others.Shrunk}}
	t := newFrameTable(r.Shown(s), stacksOf(nil, len(r.Rows), func(i int) *query.Group { return &r.Rows[i].Group }))
	j.Frames = t.rows()
	for i := range r.Rows {
		x := &r.Rows[i]
		row := RiseRow{Group: newGroup(s, &x.Group, t), Bytes: x.Bytes, Blocks: x.Blocks, Begin: x.Begin, End: x.End}
		if x.By == query.ByStack {
			row.Function, row.File, row.Line, row.Module = changeable(s, x.Stack)
		}
		j.Rows = append(j.Rows, row)
	}
	return j
}

// changeable returns the place of a call stack that the user can change; nothing if there is none.
func changeable(s *query.Source, stack uint32) (function, file string, line uint32, module string) {
	l, ok := s.Profile.Changeable(stack)
	if !ok {
		return "", "", 0, ""
	}
	if function = l.Function; function == "" {
		function = l.AddressName()
	}
	return function, l.File, l.Line, l.Module
}
