package symbols

import (
	"path"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
)

// Difference is what two answers about one address differ in first.
type Difference string

// The kinds of differences, in the order in which they are looked for.
const (
	None     Difference = ""
	Padding  Difference = "padding"          // heaptap knows no function there
	Frames   Difference = "number of frames" // one knows more inlined calls than the other
	Line     Difference = "line"
	File     Difference = "file"
	Function Difference = "function"
)

// Compare says what heaptap's answer differs in from a tool's. Paths are compared cleaned, names by Spelling; a tool
// that gives the last part of a name only, as DW_AT_name has it, agrees with the whole name.
func Compare(got, want []event.Frame) Difference {
	if n := len(got); len(want) > 0 && (n == 0 || got[n-1].Function == "") && want[len(want)-1].Function != "" {
		return Padding
	}
	if len(got) != len(want) {
		return Frames
	}
	for i := range got {
		if got[i].Line != want[i].Line {
			return Line
		}
	}
	for i := range got {
		g, w := &got[i], &want[i]
		// Without debug information the tools name the compiled file, without its directory, by the symbol table.
		if path.Clean(g.File) != path.Clean(w.File) && !(g.File == "" && g.Line == 0) {
			return File
		}
	}
	for i := range got {
		if !sameName(Spelling(got[i].Function), Spelling(want[i].Function)) {
			return Function
		}
	}
	return None
}

func sameName(whole, part string) bool {
	return whole == part || part != "" && (strings.HasSuffix(whole, "::"+part) ||
		strings.Contains(whole, "::"+part+"("))
}
