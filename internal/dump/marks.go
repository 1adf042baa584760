package dump

import (
	"strconv"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/timeref"
)

// Marks writes the marks. Their names are those by which they are asked for: a second one of a name is NAME#2.
func (d *Dumper) Marks() error {
	if !d.json {
		d.printf("%14s %-9s  %s\n", "time", "by", "name")
	}
	marks := d.r.Marks()
	names := timeref.Names(marks)
	for i := range marks {
		if m := &marks[i]; d.json {
			d.mark(m, names[i])
		} else {
			d.printf("%14s %-9s  %s\n", Seconds(nil, m.Time, 0), m.Source, printable(names[i]))
		}
	}
	return d.err
}

// mark writes a mark as JSON.
func (d *Dumper) mark(m *event.Mark, name string) {
	v := struct {
		Mark   string  `json:"mark"`
		Time   int64   `json:"time_ns"`
		Name   string  `json:"name"` // without a number
		Source string  `json:"source"`
		Thread *uint32 `json:"thread,omitempty"`
		Events *uint64 `json:"events_before,omitempty"`
	}{Mark: name, Time: m.Time, Name: m.Name, Source: m.Source.String()}
	if m.Source == event.FromProgram {
		v.Thread = &m.Thread
	}
	if m.Cut != event.NoCut {
		v.Events = &m.Cut
	}
	d.object(v)
}

// markLine writes a mark as a line among the events.
func (d *Dumper) markLine(m *event.Mark, name string) {
	if d.json {
		d.mark(m, name)
		return
	}
	b := append(Seconds(d.line[:0], m.Time, 12), ' ')
	if m.Source == event.FromProgram {
		b = strconv.AppendUint(b, uint64(d.tid(m.Thread)), 10)
	} else {
		b = append(b, '-')
	}
	b = append(append(b, " mark "...), printable(name)...)
	d.line = append(b, '\n')
	d.write(d.line)
}

// marksAmong are the marks that are still to come among the events.
type marksAmong struct {
	d     *Dumper
	marks []event.Mark
	names []string
}

// newMarksAmong begins with the first mark that does not lie before a cut.
func newMarksAmong(d *Dumper, from uint64) *marksAmong {
	a := &marksAmong{d: d, marks: d.r.Marks()}
	a.names = timeref.Names(a.marks)
	for from > 0 && len(a.marks) > 0 && a.cut() < from {
		a.next()
	}
	return a
}

// cut is that of the next mark.
func (a *marksAmong) cut() uint64 {
	cut, _ := a.d.r.MarkCut(&a.marks[0])
	return cut
}

func (a *marksAmong) next() { a.marks, a.names = a.marks[1:], a.names[1:] }

// before writes the marks before an event with this number and time.
func (a *marksAmong) before(n uint64, t int64) {
	for len(a.marks) > 0 && (a.marks[0].Cut <= n || a.marks[0].Cut == event.NoCut && a.marks[0].Time < t) {
		a.d.markLine(&a.marks[0], a.names[0])
		a.next()
	}
}

// upTo writes the marks that are left up to a cut, which itself belongs to what comes after it; all of them if nothing
// does.
func (a *marksAmong) upTo(cut uint64) {
	_, last := a.d.r.Cuts()
	for len(a.marks) > 0 && (cut >= last && !a.d.goesOn || a.cut() < cut) {
		a.d.markLine(&a.marks[0], a.names[0])
		a.next()
	}
}
