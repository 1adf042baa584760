package view

import "strings"

// selection says what the report is of.
func (r *report) selection() {
	s := r.Selection
	if s == nil {
		return
	}
	text := "only " + strings.Join(s.Asked, " ")
	if r.ranged() {
		text += ": " + r.duration(s.Answer.Span) + " from " + r.duration(s.Answer.Begin) + " on"
	}
	r.wrap("", clean(text)+"; calls that failed, deallocations that ended no block and mappings are left out", r.title)
	if missing := s.Answer.Missing; missing != "" {
		r.wrapWarning("not everything could be read: " + clean(missing))
	}
	r.printf("\n")
}

// ranged reports whether the selection is of a part of the time.
func (r *report) ranged() bool {
	a := r.Selection.Answer
	return a.Begin > 0 || a.Span != r.p.Duration
}

// span is the length of what is reported on, in ns.
func (r *report) span() int64 {
	if r.Selection != nil {
		return r.Selection.Answer.Span
	}
	return r.p.Duration
}

// atPeak leads to the peak's time. A selection has no peak of its own: it is the process's within the range.
func (r *report) atPeak() string {
	if r.Selection != nil {
		return "at the process's peak after"
	}
	return "after"
}

// threadsKnown reports whether it is known what threads did and which functions they called. It is not for a selection
// whose events were folded, and for other tools' files.
func (r *report) threadsKnown() bool {
	return (r.Selection == nil || len(r.p.Threads) > 0) && r.p.Merged.Imported() == ""
}
