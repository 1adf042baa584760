package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/heaptap/heaptap/internal/escape"
)

// Size writes a number of bytes as people read it: 0 B, 999 B, 1.50 kB, 72.7 kB, 12.3 MB.
func Size(n uint64) string {
	if n < 1000 {
		return strconv.FormatUint(n, 10) + " B"
	}
	units := []string{"kB", "MB", "GB", "TB", "PB", "EB"}
	v := float64(n) / 1000
	i := 0
	for v >= 999.5 && i < len(units)-1 {
		v /= 1000
		i++
	}
	return digits3(v) + " " + units[i]
}

// digits3 writes a number with three digits that count.
func digits3(v float64) string {
	switch {
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// Number writes a count with separated thousands.
func Number(n uint64) string {
	s := strconv.FormatUint(n, 10)
	var b strings.Builder
	for i, c := range []byte(s) {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// Short writes a count in few characters: 950, 12.3 k, 4.56 M.
func Short(n uint64) string {
	if n < 10_000 {
		return Number(n)
	}
	units := []string{"k", "M", "G", "T", "P", "E"}
	v := float64(n) / 1000
	i := 0
	for v >= 999.5 && i < len(units)-1 {
		v /= 1000
		i++
	}
	return digits3(v) + " " + units[i]
}

// Duration writes nanoseconds as people read them.
func Duration(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d < 0:
		return "?"
	case d < time.Microsecond:
		return strconv.FormatInt(ns, 10) + " ns"
	case d < time.Millisecond:
		return digits3(float64(ns)/1e3) + " µs"
	case d < time.Second:
		return digits3(float64(ns)/1e6) + " ms"
	case d < time.Minute:
		return digits3(float64(ns)/1e9) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d h %02d min", d/time.Hour, d%time.Hour/time.Minute)
}

// percent writes a share: 100 %, 45.2 %, 0.3 %, <0.1 %.
func percent(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	p := 100 * float64(part) / float64(whole)
	switch {
	case part == 0:
		return "0 %"
	case p < .1:
		return "<0.1 %"
	case p >= 99.95:
		return "100 %"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + " %"
}

// plural writes a count and its noun.
func plural(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Number(n) + " " + noun + "s"
}

// runes is the width of s on a terminal, as far as its characters are one column wide.
func runes(s string) int { return utf8.RuneCountInString(s) }

func padLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-runes(s))) + s }

func padRight(s string, n int) string { return s + strings.Repeat(" ", max(0, n-runes(s))) }

// clean escapes what would disturb a terminal: names come from files that anyone may have made.
func clean(s string) string { return escape.Terminal(s) }
