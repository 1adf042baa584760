package view

import (
	"fmt"
	"io"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
)

// Memory writes a table of what the resident set consisted of at one moment; s is nil if that was never read.
func Memory(w io.Writer, p *profile.Profile, s *profile.ResidentSet, o QueryOptions) error {
	m := &memoryText{report: newReport(w, p, o.Options), set: s, page: o.Page, number: 11}
	if o.Exact {
		m.number = 19
	}
	m.printf("%s\n", m.bold(command(p, m.Width)))
	if s == nil {
		m.printf("\n")
		m.wrap("  ", "What the resident set consisted of was never read: the process ran for too short a time, the "+
			"recording is a merged one, or an older heaptap made it. heaptap timeline shows how large it was.", m.faint)
		return m.Flush()
	}
	text := fmt.Sprintf("resident set after %s of %s", m.duration(s.Time), m.duration(p.Duration))
	if p.Live {
		text = fmt.Sprintf("%s · resident set after %s", ran(m.report, p), m.duration(s.Time))
	}
	if peak, ok := p.PeakRSS(); ok && peak.RSS >= 0 {
		text += fmt.Sprintf(" · largest: %s after %s", m.size(uint64(peak.RSS)), m.duration(peak.Time))
	}
	m.wrap("", text, m.faint)
	m.printf("\n")
	m.printf("%s\n", m.faint(padLeft("resident", m.number)+padLeft("", shareWidth)+padLeft("size", m.number)))
	m.row(event.ResidentLive, "live blocks; size: requested")
	slack := "the allocator's: free blocks, slack, its own tables"
	if p.Process.Parent > 0 {
		slack = "the allocator's: free blocks, slack, blocks of the parent process"
	}
	m.row(event.ResidentSlack, slack)
	m.row(event.ResidentMapping, "mapped by the program itself")
	m.mappings()
	m.row(event.ResidentStacks, "stacks of the threads")
	m.row(event.ResidentStatic, "static data of the program and its libraries")
	m.row(event.ResidentFile, "files: code, constants, mapped by the loader")
	m.files()
	m.row(event.ResidentAgent, "heaptap's own: its library, tables, memory shared with the recorder")
	m.row(event.ResidentRest, "rest")
	m.printf("%s%s%s  %s\n", m.bold(padLeft(m.size(s.Bytes), m.number)), padLeft("100 %", shareWidth),
		padLeft("", m.number), "in all")
	for i, x := range m.largeHeaps(s) {
		if i == 0 {
			m.printf("\n")
		}
		m.wrap("  ", fmt.Sprintf("%s: %s.", x.Heap.Name, x.Heap.Hint), m.faint)
	}
	return m.Flush()
}

// shareWidth is the width of a column of shares.
const shareWidth = 8

// memoryText writes a resident set.
type memoryText struct {
	*report
	set    *profile.ResidentSet
	page   answer.Page
	number int // width of a column of numbers
}

// row writes the sum of a kind.
func (m *memoryText) row(kind event.ResidentKind, name string) {
	bytes, size := m.set.Sum(kind)
	left := m.bold(padLeft(m.size(bytes), m.number)) + padLeft(humanize.Percent(bytes, m.set.Bytes), shareWidth) +
		padLeft(m.size(size), m.number)
	for _, line := range fitted(name, m.room()+2) {
		m.printf("%s  %s\n", left, line)
		left = padLeft("", 2*m.number+shareWidth)
	}
}

// part writes a part of a kind.
func (m *memoryText) part(bytes, size uint64, name string) {
	m.printf("%s%s%s    %s\n", padLeft(m.size(bytes), m.number),
		padLeft(humanize.Percent(bytes, m.set.Bytes), shareWidth), padLeft(m.size(size), m.number), name)
}

// room is the width of a part's name.
func (m *memoryText) room() int { return m.Width - 2*m.number - shareWidth - 4 }

func (m *memoryText) mappings() {
	rows, more := answer.Cut(m.page, m.p.Mappings(m.set))
	for _, x := range rows {
		name := ""
		switch {
		case x.Stack > 0:
			name = m.mappingName(&x, m.room()).plain
		case m.p.Process.Parent > 0:
			name = m.faint("by the parent process before the fork, and other call stacks")
		default:
			name = m.faint("other call stacks")
		}
		m.part(x.Bytes, x.Size, name)
	}
	m.others(more)
}

func (m *memoryText) files() {
	rows, more := answer.Cut(m.page, m.set.Largest(event.ResidentFile))
	for _, f := range rows {
		name := funcname.Middle(clean(f.Name), m.room())
		if f.Name == "" {
			name = m.faint("other files")
		}
		m.part(f.Bytes, f.Size, name)
	}
	m.others(more)
}

// others says how many rows were left out.
func (m *memoryText) others(n int) {
	if n > 0 {
		m.printf("%s\n", m.faint(padLeft("", 2*m.number+shareWidth)+fmt.Sprintf("    and %d more", n)))
	}
}
