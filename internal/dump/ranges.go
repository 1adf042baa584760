package dump

import (
	"encoding/json"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/heaptap/heaptap/internal/event"
)

// Ranges writes the names that the program has given to its memory.
func (d *Dumper) Ranges() error {
	if !d.json {
		d.printf("%14s %8s %16s %16s %14s  %s\n", "time", "tid", "start", "end", "bytes", "name")
	}
	for _, n := range d.r.Ranges() {
		if d.json {
			d.namedRange(&n)
			continue
		}
		d.printf("%14s %8d %16s %16s %14d  %s\n", Seconds(nil, n.Time, 0), d.tid(n.Thread), hexText(n.Start),
			hexText(n.Start+n.Size), n.Size, printable(n.Name))
	}
	return d.err
}

func (d *Dumper) namedRange(n *event.NamedRange) {
	d.object(struct {
		Range  string `json:"range"` // its name
		Time   int64  `json:"time_ns"`
		Thread uint32 `json:"thread"`
		Events uint64 `json:"events_before"`
		Start  string `json:"start"`
		Size   uint64 `json:"size"`
	}{n.Name, n.Time, n.Thread, n.Event, hexText(n.Start), n.Size})
}

// rangesAmong are the names that are still to come among the events, and those that memory has by now.
type rangesAmong struct {
	d     *Dumper
	list  []event.NamedRange
	spans []namedSpan // by address; none overlaps another
}

// namedSpan is memory from start up to end.
type namedSpan struct {
	start, end uint64
	name       string
}

// newRangesAmong begins with the first name that does not lie before a cut.
func newRangesAmong(d *Dumper, from uint64) *rangesAmong {
	a := &rangesAmong{d: d, list: d.r.Ranges()}
	for len(a.list) > 0 && a.list[0].Event < from {
		a.take()
	}
	return a
}

// take has the next name hold, and returns it.
func (a *rangesAmong) take() *event.NamedRange {
	n := &a.list[0]
	a.list = a.list[1:]
	s := namedSpan{n.Start, n.Start + n.Size, n.Name}
	if s.end < s.start {
		s.end = math.MaxUint64
	}
	if s.end == s.start {
		return n
	}
	i := sort.Search(len(a.spans), func(i int) bool { return a.spans[i].end > s.start })
	j := sort.Search(len(a.spans), func(j int) bool { return a.spans[j].start >= s.end })
	parts := []namedSpan{s}
	if i < j {
		if first := a.spans[i]; first.start < s.start {
			parts = append([]namedSpan{{first.start, s.start, first.name}}, parts...)
		}
		if last := a.spans[j-1]; last.end > s.end {
			parts = append(parts, namedSpan{s.end, last.end, last.name})
		}
	}
	a.spans = slices.Replace(a.spans, i, j, parts...)
	return n
}

// of is the name that an address has by now.
func (a *rangesAmong) of(addr uint64) (string, bool) {
	i := sort.Search(len(a.spans), func(i int) bool { return a.spans[i].end > addr })
	if addr == 0 || i == len(a.spans) || a.spans[i].start > addr {
		return "", false
	}
	return a.spans[i].name, true
}

// before writes the names before event n.
func (a *rangesAmong) before(n uint64) {
	for len(a.list) > 0 && a.list[0].Event <= n {
		a.line(a.take())
	}
}

// upTo writes those that are left up to a cut, which itself belongs to what comes after it; all of them if nothing
// does.
func (a *rangesAmong) upTo(cut uint64) {
	_, last := a.d.r.Cuts()
	for len(a.list) > 0 && (cut >= last && !a.d.goesOn || a.list[0].Event < cut) {
		a.line(a.take())
	}
}

// line writes a name as a line among the events.
func (a *rangesAmong) line(n *event.NamedRange) {
	d := a.d
	if d.json {
		d.namedRange(n)
		return
	}
	b := append(Seconds(d.line[:0], n.Time, 12), ' ')
	b = strconv.AppendUint(b, uint64(d.tid(n.Thread)), 10)
	b = append(tail(append(appendHex(append(b, " range "...), n.Start), '+'), "", n.Size), ' ')
	d.line = append(append(b, printable(n.Name)...), '\n')
	d.write(d.line)
}

// text adds to an event the name of its address, if it has one.
func (a *rangesAmong) text(b []byte, e *event.Event) []byte {
	name, ok := a.of(e.Addr)
	switch {
	case !ok:
		return b
	case a.d.json:
		text, _ := json.Marshal(name) // a string always can be
		return append(append(append(b[:len(b)-1], `,"range":`...), text...), '}')
	}
	return append(append(b, " in "...), printable(name)...)
}
