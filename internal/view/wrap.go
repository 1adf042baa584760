package view

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// wrapping writes lines that are too long for a terminal as several, broken at spaces. A terminal would break them in
// the middle of words.
type wrapping struct {
	io.Writer
	width int
	begun []byte // a line that has not ended
}

func (w *wrapping) Write(b []byte) (int, error) {
	var out []byte
	for rest := b; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		w.begun = append(w.begun, line...)
		if rest = after; !ended {
			break
		}
		indent := len(w.begun) - len(bytes.TrimLeft(w.begun, " ")) + 2
		for _, l := range BreakLine(string(w.begun), w.width, min(indent, w.width/2)) {
			out = append(append(out, l...), '\n')
		}
		w.begun = w.begun[:0]
	}
	if _, err := w.Writer.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// inQuantity reports whether a space is between a number and its unit.
func inQuantity(line string, at int) bool {
	return at > 0 && at+1 < len(line) && line[at-1] >= '0' && line[at-1] <= '9' && (line[at+1]|0x20 >= 'a' &&
		line[at+1]|0x20 <= 'z' || line[at+1] == '%' || line[at+1] >= 0x80)
}

// BreakLine breaks a line at spaces, so that no part is wider than width, if there are spaces; all but the first part
// are indented. Sequences that colour text take no width.
func BreakLine(line string, width, indent int) []string {
	if utf8.RuneCountInString(line) <= width {
		return []string{line}
	}
	var parts []string
	column, space := 0, -1
	first := len(line) - len(strings.TrimLeft(line, " "))
	for i := 0; i < len(line); {
		if strings.HasPrefix(line[i:], "\x1b[") {
			if end := strings.IndexByte(line[i:], 'm'); end > 0 {
				i += end + 1
				continue
			}
		}
		_, size := utf8.DecodeRuneInString(line[i:])
		if line[i] == ' ' && i >= first && !inQuantity(line, i) {
			space = i
		}
		if column++; column > width && space > first {
			parts = append(parts, strings.TrimRight(line[:space], " "))
			line = strings.Repeat(" ", indent) + strings.TrimLeft(line[space:], " ")
			i, column, space, first = 0, 0, -1, indent
			continue
		}
		i += size
	}
	return append(parts, line)
}
