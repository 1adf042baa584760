package export

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable makes a text safe for tools that print it to a terminal: valid UTF-8, with control characters, and those
// that change the direction of writing, escaped as in Go (\n, \x1b, \u202e). Names and arguments come from programs
// that are not trusted.
func Printable(text string) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, isControl) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if !isControl(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// isControl reports whether a terminal interprets a character instead of showing it.
func isControl(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
