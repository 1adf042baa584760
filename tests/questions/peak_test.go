package questions

import (
	"strings"
	"testing"
)

// TestPeak asks what a C++ program has at its peak: a function of its own, with its line, not a frame of the library.
func TestPeak(t *testing.T) {
	t.Parallel()
	u := newUser(t, "peak")
	u.types("g++ -g -O1 -DCOPIES=4 -o peak peak.cc")
	a := u.types("heaptap run ./peak").summary().fits()
	a.says(1, `^\./peak · .* · exit status 0$`)
	m := a.says(2, `^  peak +`+quantity+` in ([\d,]+) blocks`)
	peak := number(t, m[1])
	a.says(screen, `most live at the peak\n +`+quantity+` +\d\d\.\d %  .*middle peak\.cc:33`)

	near(t, "peak, by massif", peak, u.massif("./peak"), 0.01)
	judge := u.heaptrack("./peak")
	near(t, "peak, by heaptrack", peak, judge.peak, 0.01)
	if _, first, found := strings.Cut(judge.most, "consumed over"); !found || !strings.Contains(
		first[:min(len(first), 3000)], "middle") {
		t.Errorf("heaptrack does not say middle:\n%.3000s", judge.most)
	}

	for _, w := range []*user{u, u.wide()} {
		r := w.types("heaptap report").fits()
		r.where(`the last run made here`)
		if n := number(t, r.says(screen, `^  peak +`+quantity+` in [\d,]+ blocks`)[1]); n != peak {
			t.Errorf("the report's peak is %.0f, the summary's %.0f", n, peak)
		}
		r.says(25, `MOST LIVE AT PEAK.*\n(?:.*\n){0,2}.* middle .*peak\.cc:33`)
		top := w.types("heaptap top").fits()
		top.says(7, `^ +peak +self .*function\n.* main peak\n +`+quantity+` +\d\d\.\d %.* middle peak\n`)
		w.types("heaptap tree").fits().says(8, ` all\n.* main peak\n.*├ middle peak`)
		line := w.types("heaptap top --by line").fits().says(7, quantity+` +\d\d\.\d %.* middle peak\.cc:33$`)
		near(t, "live at the peak of the line that makes most", number(t, line[1]),
			number(t, top.says(7, `\n +`+quantity+` .* middle peak`)[1]), 0.01)
	}
	u.types("heaptap report --exact").says(6, `^  peak +[\d,]+ B in `+m[2]+` blocks`)
}
