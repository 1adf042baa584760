package diff

import (
	"fmt"
	"testing"
)

// TestPairSites: call sites by line, with the mean size of what is allocated there.
func TestPairSites(t *testing.T) {
	t.Parallel()
	type site struct{ line, size int }
	for name, c := range map[string]struct {
		before, after []site
		moved         int // known shift of nearby calls; 0: unknown
		want          string
	}{
		"the same":              {[]site{{10, 1}, {20, 2}}, []site{{10, 1}, {20, 2}}, 0, "10-10 20-20 "},
		"moved":                 {[]site{{10, 1}, {20, 2}}, []site{{110, 1}, {111, 2}}, 0, "10-110 20-111 "},
		"moved and grown":       {[]site{{10, 1}, {20, 2}}, []site{{30, 5}, {40, 6}}, 0, "10-30 20-40 "},
		"one more at the end":   {[]site{{10, 1}}, []site{{12, 1}, {15, 7}}, 0, "10-12 "},
		"one more at the front": {[]site{{10, 1}}, []site{{12, 7}, {15, 1}}, 0, "10-15 "},
		"one more between": {[]site{{10, 1}, {20, 2}, {30, 3}}, []site{{12, 1}, {22, 2}, {27, 9}, {32, 3}},
			0, "10-12 20-22 30-32 "},
		"one less": {[]site{{12, 1}, {22, 2}, {27, 9}, {32, 3}}, []site{{10, 1}, {20, 2}, {30, 3}},
			0, "12-10 22-20 32-30 "},
		"equal sizes, by lines": {[]site{{10, 1}, {20, 1}, {30, 1}}, []site{{15, 1}, {25, 1}, {33, 1}, {35, 1}},
			0, "10-15 20-25 30-35 "},
		"equal sizes, known shift":   {[]site{{10, 1}}, []site{{11, 1}, {15, 1}}, 5, "10-15 "},
		"equal sizes, nothing known": {[]site{{10, 1}}, []site{{11, 1}, {15, 1}}, 0, "10-11 "},
		"none":                       {nil, []site{{1, 1}}, 0, ""},
	} {
		side := func(list []site) (places []place, weights map[place]weight) {
			weights = make(map[place]weight)
			for _, s := range list {
				p := place{line: uint32(s.line)}
				places = append(places, p)
				weights[p] = weight{3, uint64(3 * s.size)}
			}
			return places, weights
		}
		a, wa := side(c.before)
		b, wb := side(c.after)
		got := ""
		for _, k := range pairSites(a, b, wa, wb, func(uint32) (int64, bool) { return int64(c.moved), c.moved != 0 }) {
			got += fmt.Sprintf("%d-%d ", a[k[0]].line, b[k[1]].line)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"f": "f", "f.constprop.0": "f", "f.isra.0.cold": "f",
		"f.part.3.lto_priv.0": "f", "f(int) [clone .cold]": "f(int)", "a.b": "a.b", ".cold": ".cold"} {
		if got := withoutClone(name); got != want {
			t.Errorf("withoutClone(%q) = %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"f": "f", "f(int)": "f", "A<f(int)>::g(B (*)(int)) const": "A<f(int)>::g",
		"operator()(int)": "operator()", "operator()": "operator()",
		"f() const &": "f", "(anonymous namespace)::f(int)": "(anonymous namespace)::f",
		"main::{lambda(int)#1}": "main::{lambda(int)#1}"} {
		if got := withoutParameters(name); got != want {
			t.Errorf("withoutParameters(%q) = %q, want %q", name, got, want)
		}
	}
}
