// Package valgrind names frames as Valgrind's tools do, for their formats.
package valgrind

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/profile"
)

// Frame names a frame by its address in its module, its function, and its line; by its module if the line is not known.
func Frame(f *profile.Frame) string {
	name, where, address := f.Function, "", f.Offset
	if name == "" {
		name = "???"
	}
	if f.Module == "" {
		address = f.Address
	}
	switch {
	case f.File != "":
		where = fmt.Sprintf(" (%s:%d)", f.File, f.Line)
	case f.Module != "":
		where = fmt.Sprintf(" (in %s)", f.Module)
	}
	return Line(fmt.Sprintf("0x%X: %s%s", address, name, where))
}

// Unknown stands for an unknown call stack.
const Unknown = "0x0: " + export.Unknown

// Line makes a text safe for a line of its own: without line breaks and other control characters, and without blanks at
// its ends.
func Line(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}
