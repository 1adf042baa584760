package query

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/timeref"
)

// Marks returns the marks in the answer's range, earliest first, and the name by which each can be given as a time.
func (a *Answer) Marks(s *Source) (list []event.Mark, names []string) {
	all := s.Reader.Marks()
	for i, name := range timeref.Names(all) {
		if t := all[i].Time; t >= a.Begin && t <= a.Begin+a.Span {
			list, names = append(list, all[i]), append(names, name)
		}
	}
	return list, names
}
