package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
)

// residentWords name the kinds of parts of a resident set.
var residentWords = [event.ResidentKinds]string{
	event.ResidentLive:    "live blocks",
	event.ResidentSlack:   "free or slack in the allocator",
	event.ResidentMapping: "mapped by mmap",
	event.ResidentStacks:  "threads' stacks",
	event.ResidentStatic:  "static data",
	event.ResidentFile:    "files",
	event.ResidentAgent:   "heaptap's own",
	event.ResidentRest:    "rest",
}

const (
	smallPart = 20 // a part of the resident set is named if it is at least one such part of it
	tellsPeak = 2  // a reading tells about the peak if it has at least one such part of it
	mostHeap  = 10 // a heap of a language is named if it has at least one such part of the resident set
)

// pageReadings says how often it was read which pages are in memory, and what that cost.
func (r *report) pageReadings() {
	s := &r.p.PageReadings
	if s.Readings == 0 || r.Selection != nil {
		return
	}
	took := r.duration(s.Took/int64(s.Readings)) + " of a processor"
	if s.Readings == 1 {
		r.line("pages read", r.bold("once")+", with "+took)
		return
	}
	r.line("pages read", fmt.Sprintf("%s times, every %s, each with %s", r.bold(r.short(s.Readings)),
		r.duration((s.Last-s.First)/int64(s.Readings-1)), took))
}

// resident writes the largest resident set, what it consisted of, and how to look into the heap that has most of it.
func (r *report) resident() {
	if r.Selection != nil {
		return
	}
	peak, ok := r.p.PeakRSS()
	if !ok || peak.RSS < 0 {
		return
	}
	r.line("resident", fmt.Sprintf("%s at most, after %s", r.bold(r.size(uint64(peak.RSS))), r.duration(peak.Time)))
	s := r.telling()
	if s == nil {
		return
	}
	when := ""
	if s.Bytes < uint64(peak.RSS)/100*99 {
		when = " after " + r.duration(s.Time)
	}
	r.lines("", fmt.Sprintf("of %s resident%s:", r.size(s.Bytes), when), r.parts(s), ",")
	if o := r.p.MostSlack(); o.Time != s.Time {
		if slack, _ := o.Sum(event.ResidentSlack); slack > o.Bytes/2 {
			r.lines("", fmt.Sprintf("of %s resident after %s:", r.size(o.Bytes), r.duration(o.Time)), r.parts(o), ",")
		}
	}
	for _, m := range r.largeHeaps(s) {
		r.lines("", "", []string{fmt.Sprintf("%s in %s:", r.size(m.Bytes), m.Heap.Name), m.Heap.Hint}, "")
	}
}

// largeHeaps returns the heaps of languages that had much of a resident set.
func (r *report) largeHeaps(s *profile.ResidentSet) []profile.Mapping {
	return slices.DeleteFunc(r.p.Mappings(s), func(m profile.Mapping) bool {
		return m.Heap == nil || m.Bytes < s.Bytes/mostHeap
	})
}

// mappingName names a mapping by its call stack, and by the heap that it belongs to.
func (r *report) mappingName(m *profile.Mapping, width int) label {
	if m.Heap == nil {
		return r.chain(m.Stack, width)
	}
	heap := m.Heap.Name + ": "
	of := r.chain(m.Stack, width-runes(heap))
	return label{heap + of.plain, heap + of.styled}
}

// telling returns the largest resident set whose parts were read, if that was near enough to the largest one of all to
// tell about it; else nil.
func (r *report) telling() *profile.ResidentSet {
	s := r.p.LargestResident()
	peak, ok := r.p.PeakRSS()
	if s == nil || r.Selection != nil || ok && s.Bytes < uint64(max(0, peak.RSS))/tellsPeak {
		return nil
	}
	return s
}

// parts returns what a resident set consists of; small parts are in the rest.
func (r *report) parts(s *profile.ResidentSet) (list []string) {
	rest := uint64(0)
	for kind := range event.ResidentKinds {
		switch bytes, _ := s.Sum(kind); {
		case kind == event.ResidentLive, kind != event.ResidentRest && bytes > 0 && bytes >= s.Bytes/smallPart:
			list = append(list, fmt.Sprintf("%s %s", r.size(bytes), residentWords[kind]))
		default:
			rest += bytes
		}
	}
	return append(list, fmt.Sprintf("%s %s", r.size(rest), residentWords[event.ResidentRest]))
}

// lines writes a label and text, in as many lines as are needed: begin, and then items, with a separator between them.
// An item is broken only if it does not fit into a line of its own.
func (r *report) lines(label, begin string, items []string, separator string) {
	const indent = 15
	line := begin
	for i, item := range items {
		if i < len(items)-1 {
			item += separator
		}
		for _, word := range r.breakable(item, r.Width-indent) {
			if line != "" && indent+runes(line)+1+runes(word) > r.Width {
				r.line(label, line)
				label, line = "", ""
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
	}
	r.line(label, line)
}

// breakable returns text as one piece if it fits, and else as words.
func (r *report) breakable(text string, room int) []string {
	if runes(text) <= room {
		return []string{text}
	}
	return words(text)
}

// mostMapped lists the mappings that had most of the resident set.
func (r *report) mostMapped(s *profile.ResidentSet) {
	r.printf("  %s\n", r.faint("most mapped of what was resident"))
	list := slices.DeleteFunc(r.p.Mappings(s), func(m profile.Mapping) bool { return m.Bytes == 0 || m.Stack == 0 })
	for _, m := range list[:min(r.Top, len(list))] {
		r.numberedLine(m.Bytes, s.Bytes, r.mappingName(&m, r.chainWidth()).styled)
	}
}

// muchMapped says whether mappings had much of the largest resident set, and whether they had more than live blocks.
func (r *report) muchMapped() (s *profile.ResidentSet, most bool) {
	if s = r.telling(); s == nil || r.Top <= 0 {
		return nil, false
	}
	mapped, _ := s.Sum(event.ResidentMapping)
	live, _ := s.Sum(event.ResidentLive)
	if mapped < s.Bytes/mostHeap {
		return nil, false
	}
	return s, mapped > live
}
