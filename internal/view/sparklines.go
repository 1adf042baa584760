package view

import (
	"math"
	"strings"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/humanize"
)

// sparklines draws the timelines of a run's programs on one axis of time.
type sparklines struct {
	columns    int
	begin, end int64 // ns since 1970
}

// The widths of sparklines, in columns: a third of the line within these bounds.
const (
	fewestColumns = 16
	mostColumns   = 80
)

// over sets the axis: it is as long as the run.
func (s *sparklines) over(r *answer.Run, width int) {
	s.begin = math.MaxInt64
	for i := range r.Programs {
		p := &r.Programs[i]
		if p.Levels == nil || len(p.Levels.TimesNS) == 0 {
			continue
		}
		s.columns = min(max(width/3, fewestColumns), mostColumns)
		s.begin = min(s.begin, p.StartedNS)
		s.end = max(s.end, p.StartedNS+p.Levels.TimesNS[len(p.Levels.TimesNS)-1])
	}
}

// axis is the heading of the sparklines; "" if there are none.
func (s *sparklines) axis() string {
	if s.columns == 0 {
		return ""
	}
	right := humanize.Duration(s.end - s.begin)
	return "0" + strings.Repeat(" ", max(s.columns-1-runes(right), 1)) + right + "  "
}

// of draws the live bytes of a program.
func (s *sparklines) of(p *answer.RunProgram) string {
	if s.columns == 0 {
		return ""
	}
	most, high := make([]int64, s.columns), int64(0)
	for i := range most {
		most[i] = -1 // it did not run
	}
	if p.Levels != nil {
		before := int64(0)
		for i, t := range p.Levels.TimesNS {
			live := p.Levels.Live[i]
			high = max(high, live)
			for c := s.column(p.StartedNS + before); c <= s.column(p.StartedNS+t); c++ {
				most[c] = max(most[c], live)
			}
			before = t
		}
	}
	var b strings.Builder
	for _, v := range most {
		switch {
		case v < 0:
			b.WriteRune(' ')
		case v == 0 || high == 0:
			b.WriteRune('.')
		default:
			b.WriteRune(eighths[max(1, int(math.Ceil(float64(v)/float64(high)*8)))])
		}
	}
	return b.String() + strings.Repeat(" ", runes(s.axis())-s.columns)
}

// column returns the column of a time.
func (s *sparklines) column(t int64) int {
	if s.end <= s.begin {
		return 0
	}
	share := float64(t-s.begin) / float64(s.end-s.begin)
	return min(max(int(share*float64(s.columns)), 0), s.columns-1)
}
