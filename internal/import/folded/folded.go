// Package folded reads folded stacks: a line for each call stack, with its frames, root first, separated by semicolons,
// and a number; or, as MallocProfiler writes them, several numbers, each after a $.
//
// A single number may be anything. By default it is taken for live bytes, and so also for bytes that were allocated,
// and live at the peak.
package folded

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/heaptap/heaptap/internal/import/lines"
	"github.com/heaptap/heaptap/internal/merge"
)

// root is the first frame of each of MallocProfiler's call stacks.
const root = "_mpTrace_"

// unknown is how heaptap writes an unknown call stack.
const unknown = "[unknown]"

// Is reports whether a file with this beginning has folded stacks. Any text whose lines end in numbers may be one:
// check for other formats first.
func Is(head []byte) bool {
	text, err := io.ReadAll(toUTF8(bytes.NewReader(head)))
	if err != nil {
		return false
	}
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); ignored(string(line)) {
			continue
		}
		if !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 {
			return false
		}
		_, _, _, err := parse(string(line))
		return err == nil
	}
	return false
}

// ignored reports whether a line has no call stack: it is empty, or a comment. A call stack that begins with // has a
// semicolon.
func ignored(line string) bool {
	return line == "" || line[0] == '#' || strings.HasPrefix(line, "//") &&
		(line == "//" || line[2] == ' ' || !strings.Contains(line, ";"))
}

// meanings are what a single number may mean, by the names of the metrics.
var meanings = map[string]func(n uint64) merge.Numbers{
	"live":        func(n uint64) merge.Numbers { return merge.Numbers{Live: n} },
	"leaked":      func(n uint64) merge.Numbers { return merge.Numbers{Live: n} },
	"bytes":       func(n uint64) merge.Numbers { return merge.Numbers{Bytes: n} },
	"allocations": func(n uint64) merge.Numbers { return merge.Numbers{Allocations: n} },
	"peak":        func(n uint64) merge.Numbers { return merge.Numbers{Peak: n, PeakKnown: true} },
	"temporary":   func(n uint64) merge.Numbers { return merge.Numbers{Allocations: n, Temporary: n} },
}

// Meanings returns the metrics that a single number may mean, sorted.
func Meanings() []string { return slices.Sorted(maps.Keys(meanings)) }

// Read reads folded stacks. meaning says what a single number means, one of Meanings; "" if unknown.
func Read(in io.Reader, meaning string) (*merge.Imported, error) {
	t := merge.NewImported("folded")
	one := meanings[cmp.Or(meaning, "live")]
	stacks, columns, fractions := 0, 0, false
	number, err := lines.Each(toUTF8(in), func(text string) error {
		if text = strings.TrimSpace(text); ignored(text) {
			return nil
		}
		path, n, fraction, err := parse(text)
		fractions = fractions || fraction
		switch {
		case err != nil:
			return err
		case columns == 0:
			columns = len(n)
		case columns != len(n):
			return fmt.Errorf("%d numbers, but %d on earlier lines", len(n), columns)
		}
		stacks++
		at := int32(0)
		if len(n) > 1 {
			path = strings.TrimPrefix(strings.TrimPrefix(path, root), ";")
		}
		if path != unknown && path != "" {
			for name := range strings.SplitSeq(path, ";") {
				at = t.Call(at, name)
			}
		}
		if len(n) == 1 {
			return t.Add(at, one(n[0]).Stack())
		}
		return t.Add(at, mallocProfiler(n).Stack())
	})
	if fractions {
		t.Note("Some numbers are not integers; each is rounded.")
	}
	switch {
	case err != nil:
		return nil, err
	case stacks == 0:
		return nil, fmt.Errorf("line %d: the file ends without a call stack", number)
	case columns > 1 && meaning != "":
		return nil, errors.New("the numbers are MallocProfiler's, whose meaning is known; leave out --metric")
	case columns == 1 && meaning != "":
		t.Note(fmt.Sprintf("The file has one number for each call stack: %s, as --metric says. All other numbers are "+
			"the least that this implies.", meaning))
	case columns == 1:
		t.Note("The file has one number for each call stack and does not say what it means: it is taken for live " +
			"bytes. Numbers of blocks are unknown.")
	default:
		t.Note("The peak is unknown: live bytes at the end are shown instead.")
	}
	return t, nil
}

// mallocProfiler returns MallocProfiler's four numbers: calls, bytes, live bytes, and most live bytes of this stack.
func mallocProfiler(n []uint64) merge.Numbers {
	return merge.Numbers{Allocations: n[0], Bytes: n[1], Live: n[2], LiveBlocks: liveBlocks(n), OwnPeak: n[3]}
}

// liveBlocks returns how many of the blocks are live, as far as that is known: all, if all bytes are.
func liveBlocks(n []uint64) uint64 {
	if n[1] == n[2] && n[1] > 0 {
		return n[0]
	}
	return 0
}

// parse splits a line into its call stack and its numbers, and reports whether one was rounded.
func parse(text string) (path string, n []uint64, rounded bool, err error) {
	i := strings.LastIndexByte(text, ' ')
	if i <= 0 {
		return "", nil, false, fmt.Errorf("%.80q: expected a call stack, a blank and a number", text)
	}
	path, end := strings.TrimSpace(text[:i]), text[i+1:]
	rest, several := strings.CutPrefix(end, "$")
	if !several {
		v, whole, err := count(end)
		return path, []uint64{v}, !whole, err
	}
	if strings.Count(rest, "$") != 3 {
		return "", nil, false, errors.New("expected four numbers after the call stack, each after a $")
	}
	for f := range strings.SplitSeq(rest, "$") {
		v, whole, err := count(f)
		if err != nil {
			return "", nil, false, err
		}
		n, rounded = append(n, v), rounded || !whole
	}
	return path, n, rounded, nil
}

// count reads a number, and rounds it if it is not an integer.
func count(text string) (n uint64, whole bool, err error) {
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n, true, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	// ParseFloat also accepts other forms.
	if err != nil || text[0] < '0' || text[0] > '9' || strings.Trim(text, "0123456789.eE+-") != "" {
		return 0, false, fmt.Errorf("%.40q is not a number", text)
	}
	r := math.Round(v)
	if r >= 1<<63 {
		return 0, false, fmt.Errorf("%.40q exceeds 63 bits", text)
	}
	return uint64(r), r == v, nil
}
