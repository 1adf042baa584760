package humanize

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseSize reads a number of bytes with an optional suffix K, M, G or T (powers of 1024; MB and MiB are M).
func ParseSize(text string) (int64, error) {
	digits := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I")
	n, err := multiply(digits, 1024)
	if err != nil || n > 1<<62 {
		return 0, fmt.Errorf("%q is not a size (for example 512M or 2G)", text)
	}
	return n, nil
}

// ParseCount reads a number with an optional suffix k, M, G or T (powers of 1000).
func ParseCount(text string) (int64, error) {
	n, err := multiply(strings.ToUpper(text), 1000)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number (for example 1000, 50k or 2M)", text)
	}
	return n, nil
}

// multiply reads a number and multiplies it by unit: once for a suffix K, twice for M, three times for G, four times
// for T.
func multiply(digits string, unit int64) (int64, error) {
	factor := int64(1)
	if i := len(digits) - 1; i > 0 {
		if power := strings.IndexByte("KMGT", digits[i]) + 1; power > 0 {
			digits = digits[:i]
			for range power {
				factor *= unit
			}
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err == nil && (n < 0 || n > math.MaxInt64/factor) {
		err = strconv.ErrRange
	}
	return n * factor, err
}

// ParseShare reads a percentage: 2% is 0.02.
func ParseShare(text string) (float64, error) {
	digits, ok := strings.CutSuffix(text, "%")
	p, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || math.IsNaN(p) || p < 0 || p > 1e6 {
		return 0, fmt.Errorf("%q is not a share (for example 2%% or 0.5%%)", text)
	}
	return p / 100, nil
}

// ParseDuration reads a duration that is not negative, in nanoseconds.
func ParseDuration(text string) (uint64, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration (for example 10us, 1.5ms or 2s)", text)
	}
	return uint64(d), nil
}
