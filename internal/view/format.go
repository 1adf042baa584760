package view

import (
	"strings"
	"unicode/utf8"

	"github.com/heaptap/heaptap/internal/escape"
)

// runes is the width of s on a terminal, as far as its characters are one column wide.
func runes(s string) int { return utf8.RuneCountInString(s) }

func padLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-runes(s))) + s }

func padRight(s string, n int) string { return s + strings.Repeat(" ", max(0, n-runes(s))) }

// clean escapes what would disturb a terminal: names come from files that anyone may have made.
func clean(s string) string { return escape.Terminal(s) }
