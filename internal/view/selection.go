package view

import "strings"

// selection writes what the report is about, if that is not the whole recording.
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

// ranged reports whether the selection covers only a part of the time.
func (r *report) ranged() bool {
	a := r.Selection.Answer
	return a.Begin > 0 || a.Span != r.p.Duration
}

// span returns the length of the reported time, in ns.
func (r *report) span() int64 {
	if r.Selection != nil {
		return r.Selection.Answer.Span
	}
	return r.p.Duration
}

// atPeak returns the words before the time of the peak. A selection shows the process's peak within the range.
func (r *report) atPeak() string {
	if r.Selection != nil {
		return "at the process's peak after"
	}
	return "after"
}

// threadsKnown reports whether it is known what threads did and which functions they called. It is not known for a
// selection of folded events, and for other tools' files.
func (r *report) threadsKnown() bool {
	return (r.Selection == nil || len(r.p.Threads) > 0) && r.p.Merged.Imported() == ""
}
