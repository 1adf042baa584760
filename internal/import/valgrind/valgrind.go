// Package valgrind has what the formats of Valgrind's tools share: how they write a frame.
package valgrind

import (
	"math"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/merge"
)

// frame is a text of the form "0xADDRESS: FUNCTION (FILE:LINE)" or "0xADDRESS: FUNCTION (in MODULE)". The parentheses
// may be missing.
type frame struct{ address, function, module, file, line string }

func parse(text string) (f frame, ok bool) {
	rest, ok := strings.CutPrefix(text, "0x")
	var colon bool
	f.address, f.function, colon = strings.Cut(rest, ": ")
	if !ok || !colon || f.address == "" || strings.Trim(f.address, "0123456789abcdefABCDEF") != "" ||
		strings.Contains(text, "\n") {
		return f, false
	}
	open := strings.LastIndex(f.function, " (")
	inner, closed := strings.CutSuffix(f.function[max(open, 0):], ")")
	if open < 0 || !closed {
		return f, true
	}
	inner = inner[len(" ("):]
	if strings.ContainsAny(inner, "()") {
		return f, true
	}
	if module, in := strings.CutPrefix(inner, "in "); in && module != "" {
		f.function, f.module = f.function[:open], module
	} else if i := strings.LastIndexByte(inner, ':'); i > 0 && i+1 < len(inner) &&
		strings.Trim(inner[i+1:], "0123456789") == "" {
		f.function, f.file, f.line = f.function[:open], inner[:i], inner[i+1:]
	}
	return f, true
}

// PC returns the number of a frame as Valgrind's tools write it. A text of another form is a function's name. False if
// the frame is unknown.
func PC(t *merge.Imported, text string) (int32, bool) {
	m, ok := parse(text)
	if !ok {
		return t.PC(merge.NoModule, 0, false, []event.Frame{{Function: text}}), true
	}
	address, err := strconv.ParseUint(m.address, 16, 64)
	if err != nil {
		address = 0
	}
	f := event.Frame{Function: m.function, File: m.file}
	if n, err := strconv.ParseUint(m.line, 10, 64); err == nil {
		f.Line = uint32(min(n, math.MaxUint32))
	}
	switch f.Function {
	case "[unknown]":
		if address == 0 {
			return 0, false
		}
	case "???":
		f.Function = ""
	}
	module := merge.NoModule
	if m.module != "" {
		module = t.Module(m.module, nil, 0)
	}
	if f.Function == "" && f.File == "" {
		return t.PC(module, address, false, nil), true
	}
	return t.PC(module, address, false, []event.Frame{f}), true
}
