package insight

import (
	"math"
	"strings"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// Part is a part of a sentence: text, or a value with its unit, which is formatted where it is shown.
type Part struct {
	Text  string
	Value float64
	Unit  Unit
}

// Unit is what a value counts.
type Unit string

// The units of values. A Moment is a time since the start of the run.
const (
	None      Unit = "" // it is text
	Bytes     Unit = "bytes"
	Rate      Unit = "bytes/s"
	Count     Unit = "count"
	Time      Unit = "ns"
	Moment    Unit = "time"
	Share     Unit = "share"
	PerSecond Unit = "count/s"
)

// says makes a sentence of texts and values.
func says(parts ...any) []Part {
	var list []Part
	for _, x := range parts {
		switch x := x.(type) {
		case string:
			list = append(list, Part{Text: x})
		case Part:
			list = append(list, x)
		case []Part:
			list = append(list, x...)
		}
	}
	return list
}

func value(v float64, unit Unit) Part { return Part{Value: v, Unit: unit} }

// moment is a time of the run.
func (f *finder) moment(ns int64) Part {
	switch {
	case ns <= 0:
		return Part{Text: "the start"}
	case ns >= f.p.Duration:
		return Part{Text: "the end"}
	}
	return value(float64(ns), Moment)
}

// blocks is a number of blocks with its noun.
func blocks(n uint64) []Part {
	if n == 1 {
		return says("1 block")
	}
	return says(value(float64(n), Count), " blocks")
}

// Sentence formats parts; exact: with numbers in full.
func Sentence(parts []Part, exact bool) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.format(exact))
	}
	return b.String()
}

func (p *Part) format(exact bool) string {
	whole := uint64(max(0, math.Round(p.Value)))
	switch {
	case !exact:
	case p.Unit == Bytes:
		return humanize.Number(whole) + " B"
	case p.Unit == Count:
		return humanize.Number(whole)
	case p.Unit == Time, p.Unit == Moment:
		return humanize.Number(whole) + " ns"
	}
	switch p.Unit {
	case Bytes:
		return humanize.Size(whole)
	case Rate:
		return perTime(p.Value)
	case Count:
		return humanize.Short(whole)
	case PerSecond:
		return humanize.Short(whole) + " per second"
	case Time, Moment:
		return humanize.Duration(int64(p.Value))
	case Share:
		return humanize.Percent(uint64(math.Round(p.Value*1e6)), 1e6)
	}
	return p.Text
}

// perTime formats bytes per second by the time that makes them at least a kB.
func perTime(v float64) string {
	for _, by := range []struct {
		seconds float64
		name    string
	}{{1, "second"}, {60, "minute"}, {3600, "hour"}} {
		if n := v * by.seconds; n >= 1000 || by.seconds == 3600 {
			return humanize.Size(uint64(math.Round(n))) + " per " + by.name
		}
	}
	return ""
}

// SavesText says what a fix would save: 379 MB, 1.90 s.
func (f *Finding) SavesText(exact bool) string {
	p := value(f.Saves, Bytes)
	if f.Unit == query.Nanoseconds {
		p.Unit = Time
	}
	return p.format(exact)
}
