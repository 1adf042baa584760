package questions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/need"
)

// TestMake asks which compilation of a parallel build takes most memory.
func TestMake(t *testing.T) {
	t.Parallel()
	need.File(t, "/usr/bin/time")
	u := newUser(t, "make")
	a := u.types("heaptap run make -s -j2").summary().fits()
	a.says(1, `^cc1plus .*table\.cc.* · exit status 0$`)
	resident := number(t, a.says(3, `^  resident +`+quantity+` at most`)[1])
	a.says(screen, `^ +`+quantity+` in GCC's collector: g\+\+ -fmem-report`)
	a.says(screen, `^of +.*\(process \d+\),\s+the\s+largest\s+resident\s+set\s+of\s+\d+\s+programs\s+that\s+`+
		`make\s+started`)

	// time says it of each command of make.
	u.types("make -s clean; make -s -j2 CXX='/usr/bin/time -a -o times -f \"%M %C\" g++'")
	times, err := os.ReadFile(filepath.Join(u.dir, "times"))
	if err != nil {
		t.Fatal(err)
	}
	largest, command := 0.0, ""
	for line := range strings.Lines(string(times)) {
		kB, c, _ := strings.Cut(line, " ")
		if n := number(t, kB) * 1024; n > largest {
			largest, command = n, c
		}
	}
	if !strings.Contains(command, "table.cc") {
		t.Errorf("time says that %s takes most:\n%s", command, times)
	}
	near(t, "resident peak", resident, largest, 0.2) // heaptap's own part, and when it was looked at

	for _, w := range []*user{u, u.wide()} {
		r := w.types("heaptap report").fits()
		r.where(`cc1plus table\.cc \(process \d+\)`)
		ps := w.types("heaptap ps").fits()
		ps.says(2, `^make -s -j2\nmake\.\d+\.htap · .* programs$`)
		most := ps.says(8, `^ +`+quantity+` .* g\+\+ table\.cc\n +`+quantity+` +`+quantity+` .* cc1plus table\.cc\n`)
		near(t, "resident peak in ps", number(t, most[2]), resident, 0.001)
	}
	if list, _ := filepath.Glob(filepath.Join(u.dir, "*.htap")); len(list) != 1 {
		t.Errorf("the run left %q", list)
	}
	u.types("heaptap report --process 'cc1plus*words*'").says(4, `cc1plus`)
}
