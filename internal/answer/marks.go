package answer

import "github.com/heaptap/heaptap/internal/event"

// Mark is a moment that has a name.
type Mark struct {
	Mark   string  `json:"mark"` // as --at takes it
	Name   string  `json:"name"`
	TimeNS int64   `json:"time_ns"`
	Source string  `json:"source"`
	Thread *uint32 `json:"thread"`
	Events *uint64 `json:"events_before"`
}

func newMarks(list []event.Mark, names []string) []Mark {
	out := []Mark{}
	for i := range list {
		m := &list[i]
		j := Mark{Mark: names[i], Name: m.Name, TimeNS: m.Time, Source: m.Source.String()}
		if m.Source == event.FromProgram {
			j.Thread = &m.Thread
		}
		if m.Cut != event.NoCut {
			j.Events = &m.Cut
		}
		out = append(out, j)
	}
	return out
}
