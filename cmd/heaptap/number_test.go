package main

import "testing"

func TestParseCount(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "17": 17, "4k": 4000, "4K": 4000, "2M": 2_000_000, "1G": 1_000_000_000, "3T": 3_000_000_000_000,
		"": -1, "k": -1, "-1": -1, "1.5k": -1, "4KiB": -1, "4kk": -1, "9999999999T": -1, "5X": -1,
	} {
		got, err := parseCount(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("parseCount(%q) = %d, expected %d", text, got, want)
		}
	}
}

func TestParseShare(t *testing.T) {
	for text, want := range map[string]float64{
		"0%": 0, "2%": .02, "0.5%": .005, "100%": 1, "250%": 2.5,
		"": -1, "%": -1, "2": -1, "-1%": -1, "NaN%": -1, "Inf%": -1, "2 percent": -1,
	} {
		got, err := parseShare(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("parseShare(%q) = %v, expected %v", text, got, want)
		}
	}
}
