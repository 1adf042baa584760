// Package valgrind has what the formats of Valgrind's tools share: how they name a frame.
package valgrind

import (
	"math"
	"regexp"
	"strconv"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/merge"
)

// frame is an address, a function or ???, and its line or its file.
var frame = regexp.MustCompile(`^0x([0-9A-Fa-f]+): (.*?)(?: \(in ([^()]+)\)| \(([^()]+):(\d+)\))?$`)

// PC returns the number of a frame, as Valgrind's tools write it. What is not written so is a function's name. False: it says that
// nothing is known.
func PC(t *merge.Told, text string) (int32, bool) {
	m := frame.FindStringSubmatch(text)
	if m == nil {
		return t.PC(merge.NoModule, 0, false, []event.Frame{{Function: text}}), true
	}
	address, err := strconv.ParseUint(m[1], 16, 64)
	if err != nil {
		address = 0
	}
	f := event.Frame{Function: m[2], File: m[4]}
	if n, err := strconv.ParseUint(m[5], 10, 64); err == nil {
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
	if m[3] != "" {
		module = t.Module(m[3], nil, 0)
	}
	if f.Function == "" && f.File == "" {
		return t.PC(module, address, false, nil), true
	}
	return t.PC(module, address, false, []event.Frame{f}), true
}
