package questions

import (
	"regexp"
	"testing"

	"github.com/heaptap/heaptap/tests/need"
)

// TestViewers asks for the answer in the tools that people have: pprof, and a browser that shows a flame graph.
func TestViewers(t *testing.T) {
	t.Parallel()
	need.Tool(t, "go")
	chromium := need.Tool(t, "chromium")
	u := newUser(t, "peak")
	u.types("g++ -g -O1 -DCOPIES=4 -o peak peak.cc && heaptap run -q ./peak")
	want := number(t, u.types("heaptap top --metric peak").says(7, quantity+` +\S+ % .* middle peak\n`)[1])

	u.types("heaptap export -f pprof -o peak.pb.gz").where(`the last run made here`)
	pprof := u.types("go tool pprof -top -cum -sample_index=peak_space -unit=B peak.pb.gz")
	pprof.says(20, `^Type: peak_space$`)
	row := pprof.says(40, `^ +\d+B? +\S+% +\S+% +(\d+)B? +\d\d\.\d+%  middle \(inline\)$|`+
		`^ +\d+B? +\S+% +\S+% +(\d+)B? +\d\d\.\d+%  middle`)
	near(t, "middle in pprof", want, number(t, row[1]+row[2]), 0.005)
	// It shows the source with the line.
	pprof = u.types("go tool pprof -list '^middle' -sample_index=peak_space peak.pb.gz")
	pprof.says(20, ` +2\.\d+MB +33:\s.*index\[row\.name\]\.push_back`)

	u.types("heaptap export -f svg -o peak.svg").where(`the last run made here`)
	page := u.types(
		chromium + " --headless --no-sandbox --disable-gpu --dump-dom file://" + u.dir + "/peak.svg 2>/dev/null",
	)
	title := regexp.MustCompile(`<title>middle\s[^<]*?` + quantity + ` \(([\d,]+) bytes\), \d\d\.\d+ %`).
		FindStringSubmatch(page.out)
	if title == nil {
		t.Fatalf("the flame graph has no middle:\n%.3000s", page.out)
	}
	near(t, "middle in the flame graph", want, number(t, title[2]), 0.005)
}
