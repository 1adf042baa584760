// Package escape makes text harmless for programs that interpret it: terminals, which obey control characters, and
// spreadsheets, which evaluate cells that look like formulas. Names of files, functions, threads and commands come from
// anyone. Everything that shows them must go through here.
package escape

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Terminal returns text that a terminal only displays: control characters, characters that change the direction of
// writing, and bytes that are not UTF-8 are written as in Go, \x1b or \u202e. A newline is written as \n, too.
func Terminal(s string) string {
	at := strings.IndexFunc(s, hidden)
	if at < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !hidden(r):
			b.WriteString(s[i : i+size])
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
		i += size
	}
	return b.String()
}

// hidden says whether a terminal obeys a character instead of displaying it.
func hidden(r rune) bool {
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x200e && r <= 0x200f || r >= 0x2028 && r <= 0x202e ||
		r >= 0x2066 && r <= 0x2069
}

// Cell returns text for a cell of comma- or tab-separated values. In addition to what Terminal does, it puts a ' in
// front of text that a spreadsheet would take for a formula, as spreadsheets themselves do. Numbers stay as they are.
func Cell(s string) string {
	s = Terminal(s)
	if strings.IndexByte("=+-@", firstByte(s)) < 0 || s == "" {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}

// firstByte returns the first byte that is not a blank: some spreadsheets skip blanks.
func firstByte(s string) byte {
	if s = strings.TrimLeft(s, " \u00a0"); s == "" {
		return 0
	}
	return s[0]
}
