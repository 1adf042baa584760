package query

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/timeref"
)

// Marks returns the marks of the answer's range, by rising time, and what each is called as a moment.
func (a *Answer) Marks(s *Source) (list []event.Mark, names []string) {
	all := s.Reader.Marks()
	for i, name := range timeref.Names(all) {
		if t := all[i].Time; t >= a.Begin && t <= a.Begin+a.Span {
			list, names = append(list, all[i]), append(names, name)
		}
	}
	return list, names
}
