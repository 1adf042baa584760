package humanize

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size formats a number of bytes: 0 B, 999 B, 1.50 kB, 72.7 kB, 12.3 MB.
func Size(n uint64) string {
	if n < 1000 {
		return strconv.FormatUint(n, 10) + " B"
	}
	return scaled(n) + "B"
}

// Binary formats a number of bytes that is a power of two, or 0: 64 B, 4 KiB, 1 MiB.
func Binary(n uint64) string {
	const prefixes = "KMGTPE"
	i := -1
	for n >= 1024 && n%1024 == 0 && i < len(prefixes)-1 {
		n /= 1024
		i++
	}
	if i < 0 {
		return strconv.FormatUint(n, 10) + " B"
	}
	return strconv.FormatUint(n, 10) + " " + prefixes[i:i+1] + "iB"
}

// Short formats a count in few characters: 950, 12.3 k, 4.56 M.
func Short(n uint64) string {
	if n < 10_000 {
		return Number(n)
	}
	return scaled(n)
}

// scaled formats a number of at least 1000 with three significant digits and the prefix of its unit.
func scaled(n uint64) string {
	const prefixes = "kMGTPE"
	v := float64(n) / 1000
	i := 0
	for v >= 999.5 && i < len(prefixes)-1 {
		v /= 1000
		i++
	}
	return Digits(v) + " " + prefixes[i:i+1]
}

// Digits formats a number with three significant digits: 1.80, 37.1, 999.
func Digits(v float64) string {
	switch {
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// Ratio formats a quotient: 1.80, 37.1, 12.3 k.
func Ratio(v float64) string {
	if v < 999.5 {
		return Digits(v)
	}
	return Short(uint64(math.Round(v)))
}

// Number formats a count in full: 1,234,567.
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

// Plural formats a count and its noun: 1 block, 2,000 blocks, 3 branches.
func Plural(n uint64, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"), strings.HasSuffix(noun, "s"):
		noun += "e"
	}
	return Number(n) + " " + noun + "s"
}

// Duration formats nanoseconds: 12 ns, 3.50 ms, 2 min 05 s. A negative duration is unknown: "?".
func Duration(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d < 0:
		return "?"
	case d < time.Microsecond:
		return strconv.FormatInt(ns, 10) + " ns"
	case d < time.Millisecond:
		return Digits(float64(ns)/1e3) + " µs"
	case d < time.Second:
		return Digits(float64(ns)/1e6) + " ms"
	case d < time.Minute:
		return Digits(float64(ns)/1e9) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d h %02d min", d/time.Hour, d%time.Hour/time.Minute)
}

// Percent formats a part of a whole: 100 %, 45.2 %, <0.1 %; "-" if the whole is 0.
func Percent(part, whole uint64) string {
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
