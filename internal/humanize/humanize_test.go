package humanize

import "testing"

func TestFormats(t *testing.T) {
	t.Parallel()
	for n, want := range map[uint64]string{0: "0 B", 999: "999 B", 1000: "1.00 kB", 9999: "10.0 kB", 72704: "72.7 kB",
		999_499: "999 kB", 999_500: "1.00 MB", 123_456_789: "123 MB", 1 << 40: "1.10 TB", ^uint64(0): "18.4 EB"} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := Number(n); got != want {
			t.Errorf("Number(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[uint64]string{9999: "9,999", 10_000: "10.0 k", 999_600: "1.00 M", 23e9: "23.0 G"} {
		if got := Short(n); got != want {
			t.Errorf("Short(%d) = %q, want %q", n, got, want)
		}
	}
	for noun, want := range map[string]string{"block": "2 blocks", "branch": "2 branches", "process": "2 processes"} {
		if got := Plural(2, noun); got != want || Plural(1, noun) != "1 "+noun {
			t.Errorf("Plural(2, %q) = %q, want %q", noun, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 ns", 999: "999 ns", 1500: "1.50 µs", 2e6: "2.00 ms", 1.5e9: "1.50 s",
		61e9: "1 min 01 s", 3723e9: "1 h 02 min", -1: "?"} {
		if got := Duration(n); got != want {
			t.Errorf("Duration(%d) = %q, want %q", n, got, want)
		}
	}
	for _, c := range []struct {
		part, whole uint64
		want        string
	}{{0, 0, "-"}, {0, 5, "0 %"}, {1, 1_000_000, "<0.1 %"}, {1, 3, "33.3 %"}, {5, 5, "100 %"}, {9999, 10000, "100 %"}} {
		if got := Percent(c.part, c.whole); got != c.want {
			t.Errorf("Percent(%d, %d) = %q, want %q", c.part, c.whole, got, c.want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "17": 17, "4k": 4096, "4K": 4096, "512M": 512 << 20, "2GiB": 2 << 30, "2gb": 2 << 30, "1T": 1 << 40,
		"": -1, "M": -1, "-1": -1, "1.5G": -1, "9999999999T": -1, "5X": -1, "99999999999999999999": -1,
	} {
		got, err := ParseSize(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("ParseSize(%q) = %d, expected %d", text, got, want)
		}
	}
}

func TestParseCount(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "17": 17, "4k": 4000, "4K": 4000, "2M": 2_000_000, "1G": 1_000_000_000, "3T": 3_000_000_000_000,
		"": -1, "k": -1, "-1": -1, "1.5k": -1, "4KiB": -1, "4kk": -1, "9999999999T": -1, "5X": -1,
	} {
		got, err := ParseCount(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("ParseCount(%q) = %d, expected %d", text, got, want)
		}
	}
}

func TestParseShare(t *testing.T) {
	for text, want := range map[string]float64{
		"0%": 0, "2%": .02, "0.5%": .005, "100%": 1, "250%": 2.5,
		"": -1, "%": -1, "2": -1, "-1%": -1, "NaN%": -1, "Inf%": -1, "2 percent": -1,
	} {
		got, err := ParseShare(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("ParseShare(%q) = %v, expected %v", text, got, want)
		}
	}
}
