// Package timeref parses how people name a point in time of a recording on the command line: a time since its start
// (1.5s, 200ms), a share of the time from its start to its last event (50%), a word (start, peak, end), or the name of
// a mark.
//
// A Moment becomes a cut of a recording (see package recording): the cut after the last event at or before that time.
// So if two ranges meet at a moment, each event is in one of them: from 1s to 2s are the events later than 1s, up to
// and including 2s.
package timeref

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// Moment is a point in time, independent of a recording. The zero value is the start.
type Moment struct {
	kind  kind
	time  time.Duration
	share float64 // 0 to 1
	text  string
}

type kind uint8

const (
	atStart kind = iota
	atPeak
	atEnd
	atTime
	atShare
	atMark
)

// Start and End are the beginning and the end of a recording.
var (
	Start = Moment{kind: atStart, text: "start"}
	End   = Moment{kind: atEnd, text: "end"}
)

// Help says what Parse accepts, for the help of a command.
const Help = "a time since the start (1.5s, 200ms, 2m), a share of the time to the last event (50%), one of start, " +
	"peak, end, or the name of a mark"

// Parse reads a moment.
func Parse(text string) (Moment, error) {
	fail := func(why string) (Moment, error) {
		return Moment{}, fmt.Errorf("%q is not a moment%s; write %s", text, why, Help)
	}
	text = strings.TrimSpace(text)
	word := strings.ToLower(text)
	m := Moment{text: word}
	if len(text) > len(markPrefix) && strings.HasPrefix(text, markPrefix) {
		return Moment{kind: atMark, text: text}, nil
	}
	if digits, ok := strings.CutSuffix(word, "%"); ok && (digits == "" || digits == "nan" || !isLetter(digits[0])) {
		share, err := strconv.ParseFloat(digits, 64)
		switch {
		case err != nil || math.IsNaN(share):
			return fail("")
		case share < 0 || share > 100:
			return fail(": a share is from 0% to 100%")
		}
		m.kind, m.share = atShare, share/100
		return m, nil
	}
	switch word {
	case "start":
		return Start, nil
	case "end":
		return End, nil
	case "peak":
		m.kind = atPeak
		return m, nil
	}
	d, err := time.ParseDuration(word)
	if _, number := strconv.ParseFloat(word, 64); number == nil && word != "0" {
		return fail(": it has no unit")
	}
	switch {
	case err != nil && (word == "" || !isLetter(word[0])):
		return fail("") // a mark with such a name is written mark:NAME
	case err != nil:
		return Moment{kind: atMark, text: text}, nil
	case d < 0:
		return fail(": it lies before the start")
	}
	m.kind, m.time = atTime, d
	return m, nil
}

// isLetter says whether a word may begin a mark's name without "mark:" before it: such a byte does not begin a number.
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c == '_' || c >= 0x80 }

// String returns the moment as Parse reads it.
func (m Moment) String() string {
	if m.text == "" {
		return Start.text
	}
	return m.text
}

// After reports whether the moment is a time later than end, the duration of a recording.
func (m Moment) After(end time.Duration) bool { return m.kind == atTime && m.time > end }

// Cut finds the moment in a recording. A time after the recording's end is its end. At most one block of events is
// decoded. If there is no such mark, the error is an *UnknownMark.
func (m Moment) Cut(r *recording.Reader) (uint64, error) {
	first, last := r.Cuts()
	switch {
	case m.kind == atEnd || m.kind == atShare && m.share == 1:
		return last, nil
	case m.kind == atPeak:
		_, cut, err := timetravel.PeakBetween(context.Background(), r, first, last)
		return cut, err
	case m.kind == atMark:
		mark, err := findMark(r, m.text)
		if err != nil {
			return 0, err
		}
		return r.MarkCut(mark)
	case m.kind == atTime && m.time > 0:
		return r.CutAt(int64(m.time))
	case m.kind == atShare && m.share > 0:
		end, err := r.TimeAt(last)
		if err != nil {
			return 0, err
		}
		return r.CutAt(int64(m.share * float64(end)))
	}
	return first, nil
}

// Time finds the moment in a recording, in nanoseconds since its start. Other than the time of a Cut, it need not be
// that of an event.
func (m Moment) Time(r *recording.Reader) (int64, error) {
	switch m.kind {
	case atTime:
		return int64(m.time), nil
	case atMark:
		mark, err := findMark(r, m.text)
		if err != nil {
			return 0, err
		}
		return mark.Time, nil
	case atEnd:
		if e, ok := r.Ending(); ok {
			return e.End, nil
		}
	}
	cut, err := m.Cut(r)
	if err != nil {
		return 0, err
	}
	return r.TimeAt(cut)
}
