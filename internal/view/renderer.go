package view

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
)

// style colours text, unless colours are off.
type style bool

func (s style) paint(code, text string) string {
	if !s || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(t string) string  { return s.paint("1", t) }
func (s style) faint(t string) string { return s.paint("2", t) }
func (s style) place(t string) string { return s.paint("36", t) }
func (s style) warn(t string) string  { return s.paint("1;33", t) }
func (s style) title(t string) string { return s.paint("1;34", t) }

// renderer has what all texts share: lines, numbers, call stacks. The bufio.Writer keeps errors of writing until the
// end.
type renderer struct {
	*bufio.Writer
	style
	Options
	p       *profile.Profile
	fold    *profile.Folding
	missing *missing

	uncounted bool // do not count folded frames
}

func newRenderer(w io.Writer, p *profile.Profile, o Options) renderer {
	if o.wraps {
		w = &wrapping{Writer: w, width: o.Width}
	}
	r := renderer{Writer: bufio.NewWriter(w), style: style(o.Color), Options: o, missing: &missing{}}
	r.show(p)
	return r
}

// show has call stacks be those of a recording.
func (r *renderer) show(p *profile.Profile) {
	if r.p != p {
		r.p, r.fold = p, p.NewFolding(r.Code, r.Frames < 0)
	}
}

func (r *renderer) printf(format string, args ...any) { fmt.Fprintf(r.Writer, format, args...) }

// wrap writes text in lines that fit, each after an indent.
func (r *renderer) wrap(indent, text string, paint func(string) string) {
	for _, line := range fitted(text, r.Width-runes(indent)) {
		r.printf("%s%s\n", indent, paint(line))
	}
}

// words divides text at spaces, but not between a number and its unit.
func words(text string) (list []string) {
	for i, w := range strings.Fields(text) {
		if i > 0 && inQuantity(list[len(list)-1]+" "+w, len(list[len(list)-1])) {
			list[len(list)-1] += " " + w
			continue
		}
		list = append(list, w)
	}
	return list
}

// fitted divides text into lines of at most that many characters, unless a word is longer.
func fitted(text string, width int) (lines []string) {
	line := ""
	for _, word := range words(text) {
		if line != "" && runes(line)+1+runes(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

func (r *renderer) wrapWarning(s string) {
	mark := "! "
	first := true
	r.wrap("  ", s, func(line string) string {
		m := "  "
		if first {
			m = mark
		}
		first = false
		return r.warn(m + line)
	})
}

func (r *renderer) line(label, text string) {
	line := fmt.Sprintf("  %s %s", r.faint(padRight(label, 12)), text)
	if r.wraps {
		line = strings.Join(BreakLine(line, r.Width, 15), "\n")
	}
	r.printf("%s\n", line)
}

// size, short and duration format numbers as the options say.
func (r *renderer) size(n uint64) string {
	if r.Exact {
		return humanize.Number(n) + " B"
	}
	return humanize.Size(n)
}

func (r *renderer) short(n uint64) string {
	if r.Exact {
		return humanize.Number(n)
	}
	return humanize.Short(n)
}

func (r *renderer) duration(ns int64) string {
	if r.Exact && ns >= 0 {
		return humanize.Number(uint64(ns)) + " ns"
	}
	return humanize.Duration(ns)
}

// runes returns the width of s on a terminal if its characters are one column wide.
func runes(s string) int { return utf8.RuneCountInString(s) }

func padLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-runes(s))) + s }

func padRight(s string, n int) string { return s + strings.Repeat(" ", max(0, n-runes(s))) }

// cutEnd cuts a text that is too wide.
func cutEnd(s string, width int) string {
	if runes(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

// clean escapes what would disturb a terminal: names come from files that anyone may have made.
func clean(s string) string { return escape.Terminal(s) }
