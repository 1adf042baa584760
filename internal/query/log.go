package query

import (
	"context"
	"fmt"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/timeref"
)

// MostLogged is how many events a part of the log has unless more are asked for.
const MostLogged = 1000

// mostLooked is how many events are looked at for one part of the log: they take some 50 ms.
const mostLooked = 1 << 22

// Kinds is a set of kinds of events, as the log tells them apart: the halves of a reallocation are neither allocations
// nor deallocations. The zero value has all kinds.
type Kinds uint16

const (
	kindRealloc = event.KindCount + iota
	kindMark
	kindCount
)

// KindNames returns the names of all kinds, marks included.
func KindNames() []string {
	var list []string
	for k := range event.KindCount {
		list = append(list, k.String())
	}
	return append(list, "realloc", "mark")
}

// ParseKinds returns the set of the kinds of these names; none is all. It returns the first name that is unknown.
func ParseKinds(names []string) (set Kinds, unknown string) {
	known := KindNames()
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return 0, name
		}
		set |= 1 << i
	}
	return set, ""
}

func (k Kinds) has(e *event.Event) bool {
	kind := e.Kind
	if e.Flags&event.Realloc != 0 && kind <= event.Free {
		kind = kindRealloc
	}
	return k == 0 || k>>kind&1 != 0
}

// Marks reports whether marks are in the set.
func (k Kinds) Marks() bool { return k == 0 || k>>kindMark&1 != 0 }

// LogChoice says which part of the log is wanted.
type LogChoice struct {
	At     uint64 // the number of an event: from it on; what is outside of the query's range counts as its nearer end
	Before bool   // the events before that one, instead of those from it on
	Most   int    // at most so many events, and so many marks; 0: MostLogged
	Kinds  Kinds
}

// Log is a part of the events of a recording, in order. Whatever their number, a bounded number of them is looked at.
type Log struct {
	Answer
	First, Next uint64 // the events from First on, before Next, were looked at
	// The events that there are to look at: those of the range, without those that were folded.
	Begin, End uint64
	Events     []LoggedEvent
	Marks      []LoggedMark
}

// LoggedEvent is an event with its number, and the number of the allocation that it makes or ends (event.NoRef:
// neither).
type LoggedEvent struct {
	Number, Ref uint64
	event.Event
}

// LoggedMark is a mark before an event of that number. Its name is the one by which it can be given as a time.
type LoggedMark struct {
	Before uint64
	Name   string
	event.Mark
}

// ReadLog answers with the events of the query's range that count (see Events) and are of these kinds. It looks at no
// more than some millions of events, and so may find fewer than were asked for although there are more: ask on, from
// Next or before First. If the query is about how blocks end or came about, the first part needs one look at all
// events; the source keeps what it finds for the parts that follow.
func ReadLog(ctx context.Context, s *Source, q *Query, c LogChoice) (*Log, error) {
	one := *q
	one.By, one.Metrics, one.Rough = ByStack, []Metric{Bytes}, 0
	a, err := newAsk(ctx, s, &one)
	if err == nil {
		err = s.Reader.NeedEvents()
	}
	if err != nil {
		return nil, err
	}
	a.Plan = FromEvents
	l := &Log{Begin: a.From, End: a.To}
	if detail, _ := s.Reader.DetailFrom(); detail < a.To {
		l.Begin = max(a.From, detail)
	}
	if c.Most <= 0 {
		c.Most = MostLogged
	}
	if one.filtersPairs() {
		if err := a.findPairs(); err != nil {
			return nil, err
		}
	}
	at := min(max(c.At, l.Begin), l.End)
	r := &logReader{ask: a, choice: c, selected: a.counter()}
	if c.Before {
		l.First, l.Next = at, at
		l.Events, l.First, err = r.backwards(l.Begin, at)
	} else {
		l.First = at
		l.Events, l.Next, err = r.forwards(at, l.End, c.Most)
	}
	if err != nil {
		return nil, err
	}
	l.addMarks(s, c)
	l.Answer = a.Answer
	return l, nil
}

// foundPairs says which allocations the log of a query has, as far as other events of their blocks decide on it.
type foundPairs struct {
	of           string // the filters
	marked, made *bitset
	missing      string
}

// findPairs marks the blocks that end, and came about, as the query says, by all events that there are.
func (a *ask) findPairs() error {
	of := fmt.Sprint(a.q.Lifetimes, a.q.FreedBy == nil, a.q.FreedBy, a.q.OldSizes)
	if found := a.pairs.Load(); found != nil && found.of == of {
		a.blocks.marked, a.blocks.made, a.Missing = found.marked.shared(), found.made.shared(), found.missing
		return nil
	}
	from, _ := a.Reader.DetailFrom()
	if err := a.prepare(max(a.first, from), a.last); err != nil {
		return err
	}
	a.pairs.Store(&foundPairs{of, a.blocks.marked.shared(), a.blocks.made.shared(), a.Missing})
	return nil
}

type logReader struct {
	*ask
	choice   LogChoice
	selected selection
	counts   []bool
}

// counted sets which events of a batch count.
func (r *logReader) counted(b *recording.Batch) []bool {
	r.counts = r.selected(b, r.counts)
	for i := range r.counts {
		e := &b.Events[i]
		if e.Kind > event.Free {
			r.counts[i] = r.blocks == nil && r.stacks.keep(e.Stack)
		}
		r.counts[i] = r.counts[i] && r.choice.Kinds.has(e)
	}
	return r.counts
}

// forwards returns the first events that count from a cut on, at most so many, and the cut up to which it has looked.
func (r *logReader) forwards(from, to uint64, most int) (list []LoggedEvent, next uint64, err error) {
	if r.choice.Kinds == 1<<kindMark {
		return nil, to, nil
	}
	to = min(to, from+mostLooked)
	next = to
	err = r.Reader.WalkBatches(r.ctx, from, to, func(b *recording.Batch) bool {
		counts := r.counted(b)
		for i := range b.Events {
			if !counts[i] {
				continue
			}
			n := b.First + uint64(i)
			if len(list) == most {
				next = n
				return false
			}
			ref := b.Refs[i]
			if b.Events[i].Kind > event.Free {
				ref = event.NoRef
			}
			list = append(list, LoggedEvent{n, ref, b.Events[i]})
		}
		return true
	})
	if err != nil && r.ctx.Err() == nil && !folded(err) { // what is damaged is left out
		r.Missing, err = err.Error(), nil
	}
	return list, next, err
}

// backwards returns the last events that count before a cut, and the cut from which on it has looked. It looks at
// pieces that end earlier and earlier, each longer than the one before.
func (r *logReader) backwards(from, to uint64) (list []LoggedEvent, first uint64, err error) {
	first = to
	for step := uint64(2 * MostLogged); first > from && len(list) < r.choice.Most && to-first < mostLooked; step *= 4 {
		begin := max(from, first-min(first, min(step, mostLooked/4)))
		part, _, err := r.forwards(begin, first, int(first-begin))
		if err != nil {
			return list, first, err
		}
		if extra := len(part) + len(list) - r.choice.Most; extra > 0 {
			part = part[extra:]
			begin = part[0].Number
		}
		list = append(part, list...)
		first = begin
	}
	return list, first, nil
}

// addMarks adds the marks within the part; those at its end are in the next one, unless nothing comes after it.
func (l *Log) addMarks(s *Source, c LogChoice) {
	if !c.Kinds.Marks() {
		return
	}
	marks := s.Reader.Marks()
	names := timeref.Names(marks)
	for i := range marks {
		cut, err := s.Reader.MarkCut(&marks[i])
		if err != nil || cut < l.First || cut > l.Next || cut == l.Next && l.Next < l.End {
			continue
		}
		l.Marks = append(l.Marks, LoggedMark{cut, names[i], marks[i]})
	}
	extra := len(l.Marks) - c.Most
	if extra <= 0 {
		return
	}
	// The part becomes shorter, but never so short that there is nothing in it.
	first, next := l.First, l.Next
	if c.Before {
		first = min(l.Marks[extra].Before, next-min(next, 1))
	} else {
		next = max(l.Marks[c.Most].Before, first+1)
	}
	l.First, l.Next = max(first, l.First), min(next, l.Next)
	l.Marks = slices.DeleteFunc(l.Marks, func(m LoggedMark) bool {
		return m.Before < l.First || m.Before > l.Next || m.Before == l.Next && l.Next < l.End
	})
	l.Events = slices.DeleteFunc(l.Events, func(e LoggedEvent) bool {
		return e.Number < l.First || e.Number >= l.Next
	})
}
